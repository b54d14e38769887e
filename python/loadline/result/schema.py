"""The Result: one row per point, whatever its origin. Its columns, types and meanings are here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

Origin: TypeAlias = Literal["measured", "imported", "simulated", "solved", "rule"]

#: Of the JSON that every verb prints and of the run folders. Added columns don't change it.
FORMAT = 1


def _is(meaning: str, **default: Any) -> Any:
    return field(metadata={"meaning": meaning}, **(default or {"default": None}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What came out in one direction, or in both together."""

    iops: float | None = _is("I/Os completed a second")
    bytes_per_s: float | None = _is("bytes transferred a second")
    latency_mean_ns: float | None = _is("mean response time, from submission to completion")
    latency_stddev_ns: float | None = _is("standard deviation of the response time")
    latency_p50_ns: int | None = _is("median response time")
    latency_p90_ns: int | None = _is("response time that 90 % of the I/Os don't exceed")
    latency_p95_ns: int | None = _is("the same for 95 %")
    latency_p99_ns: int | None = _is("the same for 99 %")
    latency_p999_ns: int | None = _is("the same for 99.9 %")
    latency_p9999_ns: int | None = _is("the same for 99.99 %")
    latency_max_ns: int | None = _is("longest response time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One point: what was asked, what came out, how it was obtained. Unknown is None, never 0.

    Times are in ns, amounts in bytes, rates a second, shares from 0 to 1.
    """

    run: str = _is("the run's id", default="")
    point: str = _is("the point's name within the run", default="")
    repeat: int = _is("number of the repetition, from 1", default=1)
    target: str = _is("what was loaded; `*` for several together", default="")
    role: Literal["point", "probe"] = _is("`point`, or `probe` of a search for a load line", default="point")
    started_at: str | None = _is("when measuring began, ISO 8601 in UTC")
    origin: Origin = _is("measured, imported, simulated, solved or rule", default="measured")
    system: str | None = _is("name of the system, where it is known")
    tags: Mapping[str, str] = _is("what the user said of the run", default_factory=dict)
    suite: str | None = _is("name of the suite")
    profile: str | None = _is("name of the profile; of several streams joined by `+`")
    access_class: str | None = _is("random, sequential, or combined")
    workload: Any = _is("all parameters of the streams asked for, as JSON")
    hosts: int | None = _is("machines that made the load")
    jobs: int | None = _is("jobs that were asked for over all hosts; of an open load fio may get more of them")
    queue_depth: int | None = _is("outstanding I/Os asked of each job; NULL where streams differ")
    outstanding_asked: int | None = _is("outstanding I/Os asked of all jobs together")
    outstanding_achieved: float | None = _is(
        "mean number outstanding when I/Os were sent, by the load generator's count, in its coarse levels"
    )
    offered_per_s: float | None = _is("offered rate of an open load; NULL for a closed one")
    total: Flow = field(default_factory=Flow)
    read: Flow = field(default_factory=Flow)
    write: Flow = field(default_factory=Flow)
    iops_ci95: float | None = _is("half-width of the 95 % confidence interval of iops")
    latency_mean_ci95_ns: float | None = _is("half-width of the 95 % confidence interval of latency_mean_ns")
    cpu_fraction: float | None = _is("the load-making hosts' CPU use, 1 is all cores")
    busy_fraction: float | None = _is(
        "share of time in which the device had an I/O outstanding (%util); not a utilisation on arrays or SSDs"
    )
    components: Mapping[str, float] = _is(
        "utilisation by component, the mean over all of its kind, of modelled systems", default_factory=dict
    )
    bottleneck: str | None = _is("the component that limits, of modelled systems; of emulated ones the busiest")
    runtime_ns: int | None = _is("time that was measured, warm-up left out")
    warmup_ns: int | None = _is("warm-up before it, with what was found to be a beginning of another kind")
    steady: bool | None = _is(
        "whether what was counted was steady, of measured points by SNIA's rule; NULL: not judged"
    )
    ended_by: str | None = _is(
        "the rule that ended it: `precision`, `runtime`, `error`; of rounds `steady`, `written` or `rounds`"
    )
    quick: bool = _is("made under --quick: an impression, not a measurement", default=False)
    saturation_iops: float | None = _is(
        "what no load exceeds, where a model knows it; else the highest rate that a search found"
    )
    saturation_outstanding: int | None = _is(
        "outstanding I/Os asked for where saturation_iops was found; NULL where nothing tried reached it"
    )
    saturation_95_outstanding: int | None = _is("the fewest outstanding I/Os tried that gave 95 % of saturation_iops")
    limit: str | None = _is("of a load line: the condition on response, e.g. `mean<=30ms`")
    error: str | None = _is("why the point failed; such a row has no figures, or those up to the failure")
    findings: tuple[Mapping[str, Any], ...] = _is("what is doubtful about the row", default=())
    provenance: Mapping[str, Any] = _is(
        "facts of this point's making; those of the run are in run.json. Of a simulated one `histograms`, as in"
        " histograms.json, but for CSV",
        default_factory=dict,
    )

    @property
    def over_limit(self) -> bool:
        """Whether it's the row of a ramp of which not even the lowest load keeps the limit: nothing is left to ask."""
        return self.error is not None and (self.provenance.get("load_line") or {}).get("kept") is False

    def row(self) -> dict[str, Any]:
        """The flat row: every column of `COLUMNS`, in that order, as JSON types."""
        return {column.name: column.of(self) for column in COLUMNS}

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> Result:
        """The result that `row` wrote. Missing columns are unknown, others (of newer versions) are ignored.

        Raises:
            TypeError: a value that can't stand in its column.
        """
        if not isinstance(row, Mapping):
            raise TypeError("the result is no object")
        flows: dict[str, dict[str, Any]] = {"total": {}, "read": {}, "write": {}}
        plain: dict[str, Any] = {}
        for column in COLUMNS:
            if column.name in row:
                column.check(row[column.name])
                (flows[column.flow] if column.flow else plain)[column.attribute] = row[column.name]
        findings = plain.get("findings") or []
        if not isinstance(findings, list | tuple) or not all(isinstance(one, Mapping) for one in findings):
            raise TypeError(f"findings is {str(findings)[:40]!r}, no list of objects")
        plain["findings"] = tuple(findings)
        total, read, write = (Flow(**flows[name]) for name in ("total", "read", "write"))
        return Result(**plain, total=total, read=read, write=write)


_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "VARCHAR": (str,),
    "BIGINT": (int,),
    "DOUBLE": (float, int),
    "BOOLEAN": (bool,),
    "MAP(VARCHAR, VARCHAR)": (dict,),
    "MAP(VARCHAR, DOUBLE)": (dict,),
    "JSON": (dict, list),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the flat row: `type` as DuckDB names it."""

    name: str
    type: str
    meaning: str
    attribute: str
    flow: str | None = None

    def check(self, value: Any) -> None:
        """Whether a value read from JSON can stand in the column.

        Raises:
            TypeError: it can't.
        """
        right = isinstance(value, _JSON_TYPES[self.type]) and (isinstance(value, bool) == (self.type == "BOOLEAN"))
        if not right and (value is not None or self.name in _NEVER_NULL):
            raise TypeError(f"{self.name} is {str(value)[:40]!r}, no {self.type}")

    def of(self, result: Result) -> Any:
        """The column's value in `result`."""
        holder = result if self.flow is None else getattr(result, self.flow)
        value = getattr(holder, self.attribute)
        if isinstance(value, tuple):
            return list(value)
        return dict(value) if isinstance(value, Mapping) else value


_TYPES = {
    "str": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "Mapping[str, str]": "MAP(VARCHAR, VARCHAR)",
    "Mapping[str, float]": "MAP(VARCHAR, DOUBLE)",
}

_NEVER_NULL = {"run", "point", "repeat", "target", "role", "origin", "quick", "tags", "components", "provenance"}

_FLOWS = (("total", "", ""), ("read", "read_", ", of reads"), ("write", "write_", ", of writes"))


def _columns() -> Iterator[Column]:
    def type_of(annotation: str) -> str:
        plain = annotation.removesuffix(" | None")
        return "VARCHAR" if plain.startswith(("Literal", "Origin")) else _TYPES.get(plain, "JSON")

    for item in fields(Result):
        if item.name == "total":
            for flow, prefix, of in _FLOWS:
                for part in fields(Flow):
                    name, meaning = prefix + part.name, part.metadata["meaning"] + of
                    yield Column(name, type_of(str(part.type)), meaning, part.name, flow)
        elif item.name not in {"read", "write"}:
            yield Column(item.name, type_of(str(item.type)), item.metadata["meaning"], item.name)


#: Every column of the table of results, in order.
COLUMNS: tuple[Column, ...] = tuple(_columns())
