"""Points as numbers, to compare what was written in a dialect with what is read back, and files that were damaged."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import strategies as st
from workload.strategies import blocks, percents, sizes

from loadline.errors import InputError
from loadline.workload.dialects import fio_job
from loadline.workload.model import to_model
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import Closed, Open, Profile, Workload, access_class
from loadline.workload.suite import Suite

GOLDEN = Path(__file__).parent.parent / "golden"
SIZE = 1 << 40


def said(point: Point, size_bytes: int = SIZE) -> tuple[object, ...]:
    """What a point of one stream asks for on a target of that size, without its name."""
    (stream,) = point.streams
    profile, load = stream.profile, stream.arrival
    shares = sorted((share.size_bytes, round(share.share_fraction, 6)) for share in profile.block)
    mix = (round(profile.read_fraction, 6), round(profile.random_fraction, 6))
    where = (profile.start_of(size_bytes) // 512, profile.working_set_of(size_bytes) // 512)
    data = (profile.dsync, round(profile.compressible_fraction, 2), round(profile.duplicate_fraction, 2))
    rate = round(load.rate_per_s, 6) if isinstance(load, Open) else None
    times = (point.runtime_ns, point.warmup_ns)
    return (*shares, *mix, *where, *data, profile.think_time_ns, load.queue_depth, load.jobs, rate, *times)


def place(content: str, at: str) -> str:
    """`line:column` of the first `at`, counted from 1."""
    before = content[: content.index(at)]
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def planned(suite: Suite) -> tuple[Point, ...]:
    return make_plan(suite, Options())


@st.composite
def plain_streams(draw: st.DrawFn, *, jobs: Sequence[int] = (1,), opens: bool = False, mixes: bool = True) -> Workload:
    """A stream of what most tools can say: sizes, shares, a part of the target, a load."""
    random = draw(percents)
    start, working = draw(st.sampled_from([(None, None), (None, 1 << 33), (1 << 30, 1 << 33)]))
    many = draw(st.sampled_from(jobs))
    block = draw(blocks()) if mixes else ()
    profile = Profile(
        name=draw(st.sampled_from(["a", "b-2", "c.d"])),
        block=block,
        read_fraction=draw(percents),
        random_fraction=random,
        access_class=access_class(random),
        start_bytes=start,
        working_set_bytes=working,
    )
    depth = draw(st.integers(1, 1000))
    if opens and draw(st.booleans()):
        return Workload(profile, Open(float(draw(st.integers(1, 10**6))), depth, many))
    return Workload(profile, Closed(depth, many))


def refused_at_its_place(error: InputError) -> None:
    """One line, not too long, that begins with file, line and column."""
    assert re.fullmatch(r"(x|x\.\w+|name):[1-9]\d*:[1-9]\d*: \S.*", error.message), error.message
    assert len(error.message) < 400


def survives(read: Callable[[str], tuple[Suite, list[str]]], text: str) -> None:
    """Whatever the text, it is a suite or one error with its place; and so is what is made of the suite."""
    try:
        suite, notes = read(text)
    except InputError as error:
        refused_at_its_place(error)
        return
    assert all("\n" not in note for note in notes)
    try:
        points = make_plan(suite, Options())[:20]
    except InputError as error:
        assert error.message and "\n" not in error.message
        return
    for point in points:
        for use in (lambda: fio_job.write([point], size_bytes=SIZE), lambda: to_model(point.streams[0], SIZE)):  # noqa: B023
            try:
                use()
            except InputError as error:
                assert error.message


__all__ = ["GOLDEN", "SIZE", "place", "plain_streams", "planned", "refused_at_its_place", "said", "sizes", "survives"]
