"""fio's own example job files, of Debian's package fio-examples: none is copied here, `make test` fetches them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from loadline.errors import InputError
from loadline.workload.dialects import fio_job
from loadline.workload.plan import Options, make_plan

PLACES = (Path(sys.prefix) / "fio-examples", Path("/usr/share/doc/fio/examples"))
EXAMPLES = next((found for place in PLACES if (found := sorted(place.glob("*.fio")))), [])

pytestmark = pytest.mark.skipif(not EXAMPLES, reason="no examples of fio: `make test` fetches them where apt does")

TIMES = re.compile(r"\s*(runtime|timeout|ramp_time)\s*=")


def written(text: str, name: str, *, each_section: bool = False) -> str:
    """The job file as loadline writes it.

    Raises:
        InputError: as the reader and the writer do.
    """
    suite, _ = fio_job.read(text, name, name, each_section=each_section)
    points = make_plan(suite, Options(), seed=1)
    return fio_job.write(points, engine="libaio", size_bytes=1 << 40)


def refused(text: str, folder: Path) -> str:
    """What fio says against a job file; nothing if it takes it."""
    path = folder / "job.fio"
    path.write_text(text)
    answer = subprocess.run(
        ["fio", "--parse-only", f"--filename={folder}/target", str(path)], capture_output=True, text=True, check=False
    )
    return f"{answer.returncode}: {answer.stderr}" if answer.returncode or answer.stderr else ""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("each_section", [False, True])
def test_an_example_of_fio_is_a_suite_or_a_sentence_that_names_the_option_and_its_place(
    path: Path, each_section: bool, tmp_path: Path
) -> None:
    text = path.read_text()
    try:
        assert refused(written(text, path.name, each_section=each_section), tmp_path) == ""
    except InputError as error:
        place = re.match(rf"{re.escape(path.name)}:([0-9]+):([0-9]+): (section )?'?([^:' =]+)", error.message)
        assert place is not None, error.message
        line = text.splitlines()[int(place[1]) - 1]
        assert int(place[2]) <= len(line) and place[4] in line, error.message


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_without_what_is_refused_an_example_of_fio_is_a_suite_that_fio_takes(path: Path, tmp_path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not TIMES.match(line)]
    lines = [part for line in lines for part in ([line, "runtime=300"] if line.lstrip().startswith("[") else [line])]
    for _ in range(len(lines)):
        try:
            assert refused(written("\n".join(lines) + "\n", path.name), tmp_path) == ""
            return
        except InputError as error:
            place = re.match(rf"{re.escape(path.name)}:([0-9]+):", error.message)
            assert place is not None, error.message
            said = lines[int(place[1]) - 1]
            assert said.strip() and not said.lstrip().startswith("["), error.message
            lines[int(place[1]) - 1] = ""
    raise AssertionError("more faults than lines")
