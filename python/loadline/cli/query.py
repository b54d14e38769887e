"""`loadline query SQL`."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from glob import escape
from typing import Any

import click

from loadline.cli import output
from loadline.errors import InputError
from loadline.reporting.export import envelope
from loadline.reporting.question import Answer, ask, cut_off
from loadline.reporting.table import UNKNOWN, Group, Table
from loadline.result.store import Store


@click.command("query")
@click.argument("sql", metavar="SQL")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@output.store_option
@output.common
def command(sql: str, as_csv: bool, store: str | None, as_json: bool) -> None:
    """Answer SQL from all runs of the store; DuckDB reads the folders as they lie there.

    \b
    Views: results (a row a point), series (a row an interval of a point), runs (a row a run).
    Example: loadline query "select profile, iops from results where tags['raid'] = '10'"
    """
    if as_csv and as_json:
        raise InputError("--csv and --json exclude each other", "Give one of them.")
    place = Store.locate(store, os.environ)
    answer = ask(place.root, sql)
    lost = place.damaged()
    for fault in [*lost, *(fault for run in place.runs() for fault in run.damaged())]:
        output.complain(fault)
    if lost:
        output.warn("Points of such runs are among results and series where they can be read themselves.")
    if "series" in sql.lower():
        for fault in cut_off([f"{escape(str(place.root))}/*"]):
            output.complain(fault)
    if as_json:
        columns = [{"name": name, "type": kind} for name, kind in zip(answer.columns, answer.types, strict=True)]
        output.document(envelope(columns=columns, rows=[[_plain(value) for value in row] for row in answer.rows]))
    elif as_csv:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([answer.columns, *([_cell(value, "") for value in row] for row in answer.rows)])
        output.say(out.getvalue().rstrip("\n"))
    else:
        output.show(_table(answer))


def _table(answer: Answer) -> Table:
    numbers = ("BIGINT", "INTEGER", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL", "UBIGINT")
    text = frozenset(n for n, kind in enumerate(answer.types) if not kind.startswith(numbers))
    rows = tuple(tuple(_cell(value, UNKNOWN) for value in row) for row in answer.rows)
    notes = () if rows else ("no rows",)
    return Table(answer.columns, (Group("", rows),), text, notes)


def _cell(value: Any, unknown: str) -> str:
    if value is None:
        return unknown
    if isinstance(value, float):
        return f"{value:.10g}"
    plain = _plain(value)
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, dict | list) else str(plain)


def _plain(value: Any) -> Any:
    """The value as JSON can say it."""
    match value:
        case float() if not math.isfinite(value):
            return None  # JSON has no word for it
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): _plain(part) for key, part in value.items()}
        case Sequence() if not isinstance(value, bytes):
            return [_plain(part) for part in value]
        case _:
            return str(value)
