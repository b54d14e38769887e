"""Descriptions, settings and parameter files that nobody meant: refused with a message, in bounded time and memory."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loadline
from loadline import _core
from loadline.errors import InputError
from loadline.system.description import load_system, settable, system_names, unroll
from loadline.system.drive import convert_drive, drive_names, drive_text
from loadline.system.forecast import forecast
from loadline.system.refusal import refusal
from loadline.system.simulate import simulate
from loadline.workload.plan import Options

KEYS = settable()
VALUES = st.one_of(
    st.sampled_from(
        [
            *("0", "1", "2", "-1", "3", "7", "65536", "4294967295", "18446744073709551616", "1e300", "nan", "inf", ""),
            *("true", "x", "raid5", "raid6", "vraid1", "vraid5", "spread", "off", "write-through", "failed", "sptf"),
            *(
                "0B",
                "511B",
                "4k",
                "1MiB",
                "900TiB",
                "16000000TiB",
                "0ns",
                "1us",
                "99999d",
                "0MB/s",
                "1MB/s",
                "9999TB/s",
            ),
            *(
                "fc-2g",
                "sata-3g",
                "savvio-10k1-73",
                "cheetah-15k3-73",
                "/dev/zero",
                "[]",
                "{}",
                "[1]",
                "'",
                '"',
                "=",
                "\0",
            ),
        ]
    ),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=20),
)


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """What asks for some GB of addresses more fails here rather than on the machine of a user.

    What other tests have loaded (V8 reserves tens of GB) counts for nothing: without room no thread could start.
    """
    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (8 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@given(
    st.sampled_from(system_names()),
    st.lists(st.tuples(st.one_of(st.sampled_from(KEYS), st.text(max_size=20)), VALUES), max_size=3),
)
@settings(max_examples=150)
def test_any_setting_is_taken_or_refused(name: str, pairs: list[tuple[str, str]]) -> None:
    words = [f"{key}={value}" for key, value in pairs]
    try:
        systems = unroll(load_system(name), words)
        if len(systems) <= 4:
            options = Options(only=("oltp-db",))
            simulate(name, "typical-12", options=options, settings=words, ios=50)
            for row in forecast(name, "typical-12", options=options, settings=words):
                assert row.error or (row.total.iops is not None and 0 <= row.total.iops < 1e12)
    except InputError as error:
        assert error.message


@given(st.sampled_from(system_names()), st.data())
@settings(max_examples=150)
def test_a_damaged_description_is_read_or_refused(name: str, data: st.DataObject) -> None:
    text = load_system(name).text
    at = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(at, min(len(text), at + 40)))
    damaged = text[:at] + data.draw(st.text(max_size=20)) + text[until:]
    try:
        drive = _core.Description(damaged).drive
    except ValueError as error:
        key, why = error.args
        assert isinstance(key, str) and why
    else:
        assert drive is None or isinstance(drive, str)


@given(st.sampled_from(drive_names()), st.data())
@settings(max_examples=50)
def test_a_damaged_drive_is_read_or_refused(name: str, data: st.DataObject) -> None:
    text = drive_text(name)[1]
    at = data.draw(st.integers(0, len(text)))
    damaged = text[:at] + data.draw(st.text("0123456789eE.-_\"'[]={}kMGTBmsrp \n", max_size=12)) + text[at + 3 :]
    try:
        assert _core.Drive(damaged).capacity_bytes > 0
    except ValueError as error:
        assert len(error.args) == 2


PARAMETERS = [
    "dm_disk",
    "disksim_disk",
    "dm_layout_g1",
    "dm_mech_g1",
    "source",
    "Model",
    "Block count",
    "x",
    "=",
    ",",
    "{",
]
PARAMETERS += ["}", "[", "]", "10", "-1", "1e9", ":", "\n", "#", "Rotation speed (in rpms)", "self.model"]


@given(st.lists(st.sampled_from(PARAMETERS), max_size=40).map(" ".join))
def test_any_parameter_file_is_converted_or_refused(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "self.model"
        path.write_text(text)
        try:
            assert convert_drive(path)[0]
        except InputError as error:
            assert error.message


@pytest.mark.parametrize(
    ("key", "value", "known"), [("volume.layout", "raid7", "vraid6"), ("pool." + "x" * 100_000, "3", "rebuild_rate")]
)
def test_a_name_that_is_not_known_is_answered_with_all_that_are(key: str, value: str, known: str) -> None:
    text = (Path(loadline.__file__).parent / "catalog/systems/hdd-7k2.toml").read_text()
    with pytest.raises(ValueError) as wrong:
        _core.Description(text, [(key, value)])
    refused = refusal("a file", ValueError("", wrong.value.args[1]))
    assert known in refused.remedy
    assert len(refused.message) < 200
