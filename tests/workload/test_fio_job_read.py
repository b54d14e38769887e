"""What a fio job file means, what is refused, and that nothing but InputError ever comes out."""

from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload.foreign import refused_at_its_place
from workload.strategies import damaged

from loadline.errors import InputError
from loadline.system.asked import points_of
from loadline.workload.dialects import fio_job
from loadline.workload.dialects.fio_job.option import KNOWN
from loadline.workload.plan import Options, Point, make_plan
from loadline.workload.profile import BlockShare, Closed, Distribution, Open, Profile, Workload
from loadline.workload.suite import load_suite

ZONED = Distribution("zoned", None, ((0.6, 0.1), (0.4, 0.9)))
HEAD = "[global]\nioengine=libaio\ndirect=1\ntime_based\nruntime=300\n"

# As the field report has it: fio's own default depth, and no `stonewall`.
TYPICAL_12 = HEAD + "rw=randrw\n"
for _entry in load_suite("typical-12")[0].entries:
    _profile = _entry.loads[0][0].profile
    if not _entry.variant:
        TYPICAL_12 += (
            f"[{_entry.name}]\nbs={_profile.block_text()}\nrwmixread={round(_profile.read_fraction * 100)}\n"
            f"percentage_random={round(_profile.random_fraction * 100)}\n"
        )


def points(text: str, *, each_section: bool = False) -> tuple[Point, ...]:
    return make_plan(fio_job.read(text, "x", "x.fio", each_section=each_section)[0], Options())


def stream(options: str) -> Workload:
    (point,) = points(HEAD + "[j]\n" + options)
    return point.streams[0]


def profile(options: str) -> Profile:
    return stream(options).profile


def warnings(options: str) -> str:
    return "\n".join(fio_job.read(HEAD + "[j]\n" + options, "x", "x.fio")[1])


def test_the_sources_own_file_means_its_sections_as_points_and_each_section_says_so() -> None:
    read = points(TYPICAL_12, each_section=True)
    own = make_plan(load_suite("typical-12")[0], Options(as_published=True))
    shape = [(p.name, p.streams[0].profile.block, p.access_class, p.runtime_ns, p.streams[0].arrival) for p in read]
    assert shape == [
        (p.name, p.streams[0].profile.block, p.access_class, p.runtime_ns, p.streams[0].arrival) for p in own
    ]


def test_sections_without_stonewall_are_one_point_of_concurrent_streams_and_it_is_said() -> None:
    suite, said = fio_job.read(TYPICAL_12, "x", "x.fio")
    (point,) = make_plan(suite, Options())
    assert len(point.streams) == 12
    assert "no `stonewall`" in said[0] and "--each-section" in said[0]


def test_stonewall_begins_a_point() -> None:
    text = HEAD + "[a]\n[b]\n[c]\nstonewall\n[d]\nwait_for_previous=1\n[e]\nstonewall=0\n"
    assert [len(point.streams) for point in points(text)] == [2, 1, 2]


def test_streams_named_after_a_point_are_its_streams() -> None:
    (point,) = points(HEAD + "[db.data]\n[db.log]\n")
    assert (point.name, point.profile_name) == ("db", "data+log")


def test_a_later_global_section_changes_the_defaults_of_those_after_it() -> None:
    text = HEAD + "bs=8k\n[a]\nstonewall\n[global]\nbs=16k\n[b]\nstonewall\n[global too]\nrw=write\n[c]\nstonewall\n"
    assert [p.streams[0].profile.block_text() for p in points(text)] == ["8k", "16k", "16k"]
    assert [p.writes for p in points(text)] == [False, False, True]


def test_comments_and_blank_lines_say_nothing() -> None:
    assert profile("; a\n# b\n\n  bs = 8k  # c\n").block_text() == "8k"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {"read_fraction": 1.0, "random_fraction": 0.0, "block": (BlockShare(4096, 1.0),)}),
        ("rw=randrw\nrwmixread=70\npercentage_random=75", {"read_fraction": 0.7, "random_fraction": 0.75}),
        ("readwrite=randwrite", {"read_fraction": 0.0, "random_fraction": 1.0}),
        ("rw=randrw\nrwmixread=70\nrwmixwrite=40", {"read_fraction": 0.6}),
        ("rw=rw", {"read_fraction": 0.5, "random_fraction": 0.0}),
        ("rw=randread\npercentage_random=30,90", {"random_fraction": 0.3}),
        ("rw=randwrite\npercentage_random=30,90", {"random_fraction": 0.9}),
        ("bs=1m", {"block": (BlockShare(1 << 20, 1.0),)}),
        ("bs=64KB", {"block": (BlockShare(65536, 1.0),)}),
        ("rw=write\nbs=4k,16k", {"block": (BlockShare(16384, 1.0),)}),
        ("rw=write\nbs=4k,", {"block": (BlockShare(4096, 1.0),)}),
        ("rw=read\nbs=,16k", {"block": (BlockShare(4096, 1.0),)}),
        ("bssplit=4k/60:64k/40", {"block": (BlockShare(4096, 0.6), BlockShare(65536, 0.4))}),
        ("bssplit=4k/60:8k/:64k", {"block": (BlockShare(4096, 0.6), BlockShare(8192, 0.2), BlockShare(65536, 0.2))}),
        ("bssplit=4k/100:8k/0", {"block": (BlockShare(4096, 1.0),)}),
        ("rw=write\nbssplit=4k/100,8k/50:16k/50", {"block": (BlockShare(8192, 0.5), BlockShare(16384, 0.5))}),
        ("size=25%", {"working_set_fraction": 0.25, "working_set_bytes": None}),
        ("size=100%", {"working_set_fraction": None, "working_set_bytes": None}),
        ("size=10g", {"working_set_fraction": None, "working_set_bytes": 10 << 30}),
        ("size=1g\nnumjobs=4\noffset_increment=1g", {"working_set_bytes": 4 << 30}),
        ("size=25%\nnumjobs=4\noffset_increment=25%", {"working_set_fraction": None}),
        ("random_distribution=zipf:1.2", {"distribution": Distribution("zipf", 1.2)}),
        ("random_distribution=zoned:60/10:40/90", {"distribution": ZONED}),
        ("random_distribution=zoned:60/10:40/", {"distribution": ZONED}),
        ("random_distribution=zoned:60/10:40", {"distribution": ZONED}),
        ("fileoffset=25%", {"start_fraction": 0.25}),
        ("offset=0", {"start_fraction": 0.0, "start_bytes": None}),
        ("offset=0k\nsize=1g", {"start_fraction": 0.0, "start_bytes": None, "working_set_bytes": 1 << 30}),
        ("rw=write\nfdatasync=8", {"flush_every": 8, "dsync": False}),
        ("rw=write\nfsync=8\nsync=1", {"flush_every": 8, "dsync": True}),
        ("thinktime=500\nthinktime_blocks=16", {"think_time_ns": 500_000, "burst": 16}),
        ("thinktime=2ms", {"think_time_ns": 2_000_000}),
        ("buffer_compress_percentage=50", {"compressible_fraction": 0.5, "duplicate_fraction": 0.0}),
        ("dedupe_percentage=20", {"compressible_fraction": 0.0, "duplicate_fraction": 0.2}),
    ],
)  # fmt: skip
def test_an_option_means_what_it_means_to_fio(options: str, expected: dict[str, object]) -> None:
    read = profile(options)
    assert {name: getattr(read, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("options", "arrival"),
    [
        ("iodepth=8\nnumjobs=2", Closed(8, 2)),
        ("ioengine=psync\niodepth=8", Closed(1, 1)),
        ("rate_iops=100\nnumjobs=2\niodepth=4", Open(200, 4, 2)),
        ("rate_iops=100,200", Open(100, 1)),
        ("rw=write\nrate_iops=100,200", Open(200, 1)),
        ("rw=rw\nrate_iops=100", Open(200, 1)),
        ("rw=rw\nrwmixread=70\nrate_iops=700,300", Open(1000, 1)),
    ],
)
def test_depth_and_rate_are_those_of_every_job(options: str, arrival: object) -> None:
    assert stream(options).arrival == arrival


def test_rates_of_reads_and_writes_decide_the_mix() -> None:
    assert profile("rw=rw\nrwmixread=70\nrate_iops=100").read_fraction == 0.5


@pytest.mark.parametrize(("text", "seconds"), [("300", 300), ("5m", 300), ("1H", 3600), ("1500ms", 1.5)])
def test_times_have_fio_s_units(text: str, seconds: float) -> None:
    (point,) = points(f"[j]\ndirect=1\ntime_based\ntimeout={text}\nramp_time={text}\n")
    assert (point.runtime_ns, point.warmup_ns) == (seconds * 10**9, seconds * 10**9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("ioengine=psync\niodepth=8", "depth 1, not 8"),
        ("percentage_random=50", "percentage_random has no effect with rw=read"),
        ("rate_iops=100", "Poisson"),
        ("time_based=0", "no time_based"),
        ("numjobs=4", "a part of its own"),
        ("rw=randread\nsize=1g\nnumjobs=4\noffset_increment=1g", "share the range"),
        ("nrfiles=4", "nrfiles is left out"),
        ("rw=write\nfsync=1", "fdatasync"),
        ("rw=write\nsync=sync", "dsync"),
    ],
)
def test_what_differs_from_fio_is_said(options: str, said: str) -> None:
    assert said in warnings(options)


def test_one_warning_names_all_the_sections_that_it_concerns() -> None:
    _, said = fio_job.read("[global]\nruntime=1\ntime_based\n[a]\nstonewall\n[b]\nstonewall\n", "x", "x.fio")
    assert said == ["x.fio: every section: no direct=1: loadline measures with direct I/O all the same"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("bs", "bs: no value"),
        ("bs=", "bs: no value"),
        ("bs=0", "bs: is 0"),
        ("bs=4KiB", "bs: .*KiB for 1,000"),
        ("bs=1.5k", "bs: '1.5k' is not a size"),
        ("bs=-4k", "bs: '-4k' is not a size"),
        ("bs=2g", "bs: .*not a block size"),
        ("bs=${BS}", "bs: variables"),
        ("size=0%", "size: is 0"),
        ("numjobs=5000", "numjobs: '5000' is not a whole number from 1 to 4096"),
        ("iodepth=1000000000", "iodepth: "),
        ("iodepth=0", "iodepth: "),
        ("iodepth=²", "iodepth: "),
        ("rw=trim", "rw: 'trim' is not one of"),
        ("rw=randrw:8", "rw: 'randrw:8' is not one of"),
        ("rwmixread=70", None),
        ("percentage_random=101", None),
        ("direct=0", "direct: buffered I/O"),
        ("buffered=1", "buffered: buffered I/O"),
        ("direct=yes", "direct: 'yes' is not one of 0, 1"),
        ("sync=often", "sync: 'often' is not one of"),
        ("size=1m\nbs=1m\nnumjobs=16\nrw=read", "size: 16 jobs side by side don't fit"),
        ("bssplit=4k/50:8k/40", "bssplit: .*not 100%"),
        ("bssplit=4k/33.3:8k/66.7", "bssplit: '33.3' is not a whole number"),
        ("bssplit=4k/50:8k:16k:64k", "bssplit: .*can't be parted evenly"),
        ("random_distribution=zipf:1", "random_distribution: 'zipf:1' can't be read"),
        ("random_distribution=pareto:1.2", "random_distribution: "),
        ("random_distribution=normal:100", "random_distribution: "),
        ("random_distribution=zoned:60/10:40/80", "random_distribution: .*not 100%"),
        ("random_distribution=zoned:60/0:40/100", "random_distribution: "),
        ("random_distribution=zoned:50/5:30/:20/", "random_distribution: .*can't be parted evenly"),
        ("rate_iops=10k", "rate_iops: "),
        ("rate_iops=0", "rate_iops: "),
        ("ramp_time=5min", "ramp_time: '5min' is not a time"),
        ("ramp_time=1.5", "ramp_time: '1.5' is not a time"),
        ("thinktime=5sec", "thinktime: "),
        ("runtime=1us", "runtime: a point runs from 1 ms"),
        ("iodpeth=4", "iodpeth: not an option"),
        ("rw=read=write", "rw: "),
        ("[j", ".*not a section head"),
        ("[]", ".*not a section head"),
    ],
)
def test_a_fault_is_said_with_its_line_and_column(line: str, said: str | None) -> None:
    if said is None:  # without effect here, so that a value is only looked at where it counts
        assert profile(line)
        return
    whole = any(part in said for part in ("no value", "variables", "not an option", "not a section head"))
    column = 3 if whole else line.index("=") + 4
    with pytest.raises(InputError, match=f"^x.fio:7:{column}: {said}"):
        profile(f"  {line}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("rw=rw\nbs=4k,8k", "bs: '4k,8k' differs for reads and writes"),
        ("rw=rw\nbssplit=4k/50:8k/50,4k/100", "bssplit: .*differs"),
        ("rw=rw\nrate_iops=100,", None),
        ("rw=rw\nrate_iops=,100", "rate_iops: "),
        ("rw=rw\nrate_iops=200,100", "rate_iops: .*no mix of whole percents"),
        ("rw=write\nfsync=1\nfdatasync=1", "fsync: beside fdatasync"),
        ("numjobs=4\noffset_increment=1g", "offset_increment: is not the same as size"),
        ("offset=100%", "offset: nothing of the target is left behind 100%"),
        ("fileoffset=100%\nsize=1g", "fileoffset: nothing of the target is left behind 100%"),
        ("offset=101%", "offset: '101' is not a whole number from 0 to 100"),
        ("numjobs=4\nsize=50%\noffset_increment=50%", "size: 4 jobs of 50% are more than the target"),
    ],
)
def test_options_that_contradict_each_other_or_loadline_are_errors(options: str, said: str | None) -> None:
    if said is None:
        assert stream(options)
        return
    with pytest.raises(InputError, match=f"^x.fio:[0-9]+:[0-9]+: {said}"):
        profile(options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "x.fio:1:1: no job section"),
        ("[global]\nbs=4k\n", "no job section"),
        ("bs=4k\n", "x.fio:1:1: .*before any section"),
        ("[j]\n", "x.fio:1:1: section 'j' has no runtime"),
        (
            "[j]\nrw=randread\nbs=4k\nrwmixread=abc\n",
            "x.fio:4:11: rwmixread: 'abc' is not a whole number from 0 to 100",
        ),
        ("[j]\n[k]\nstonewall\nbs=4q\n", "x.fio:4:4: bs: '4q' is not a size"),
        (HEAD + "[a]\n[b]\nruntime=1\n", "different runtime or ramp_time"),
    ],
)
def test_a_file_that_is_no_suite_is_an_error(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        points(text)


def test_a_file_without_a_runtime_takes_that_of_the_options_and_models_need_none() -> None:
    suite, _ = fio_job.read("[j]\nrw=randread\n", "x", "x.fio")
    (point,) = make_plan(suite, Options(runtime_ns=10**9))
    assert point.runtime_ns == 10**9
    assert [one.runtime_ns for one in points_of(suite)[1]] == [0]


@pytest.mark.parametrize(
    "line",
    [
        "filename=/dev/sda", "directory=/", "opendir=/", "filename_format=x", "exec_prerun=rm", "exec_postrun=rm",
        "include other.fio", "include=other.fio", "write_bw_log=x", "write_lat_log=x", "write_iops_log=x",
        "write_hist_log=x", "log_avg_msec=1", "write_iolog=x", "read_iolog=x", "replay_redirect=/dev/sda",
        "merge_blktrace_file=x", "verify_state_save=1", "verify_dump=1", "ioscheduler=none", "cgroup=x", "uid=0",
        "allow_mounted_write=1", "unlink=1", "create_only=1", "pre_read=1", "mem=mmaphuge:/x", "iomem=malloc",
        "file_append=1", "fill_device=1", "fill_fs=1", "hostname=x", "port=1", "uri=nbd://x", "pool=x", "profile=act",
        "ioengine=exec", "ioengine=net", "ioengine=nbd", "ioengine=rbd", "ioengine=sg", "ioengine=external:/x.so",
        "ioengine=io_uring_cmd", "ioengine=filedelete", "ioengine=mmap", "program=/bin/sh", "arguments=x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("head", [HEAD + "[j]\n", HEAD])
def test_what_could_reach_past_the_target_is_refused(head: str, line: str) -> None:
    with pytest.raises(InputError, match=r"x\.fio:\d+:\d+: .*could reach past the target"):
        points(head + line + "\n[k]\n")


def options_of_fio() -> set[str]:
    help_ = [["--cmdhelp=all"]]
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=True).stdout.split()
    help_ += [[f"--enghelp={engine}"] for engine in engines[4:]]
    found: set[str] = set()
    for words in help_:
        text = subprocess.run(["fio", *words], capture_output=True, text=True).stdout
        found |= set(re.findall(r"^ *([a-z][\w-]*) *: ", text, re.MULTILINE))
    return found


def test_every_option_of_the_installed_fio_is_known_or_refused() -> None:
    options = options_of_fio()
    assert len(options) > 200 and {"exec_prerun", "filename", "rbdname", "hostname", "program"} <= options
    for option in options - KNOWN:
        with pytest.raises(InputError, match=r"refused|not an option"):
            profile(f"{option}=1")


WORDS = [
    "[",
    "]",
    "[global]",
    "=",
    "100",
    "%",
    ":",
    "/",
    ",",
    "stonewall\n",
    "bs=",
    "rw=randrw\n",
    "1g",
    "²",
    "\0",
    "\r\n",
]
FULL = (
    TYPICAL_12
    + "[z]\nstonewall\nrw=randrw\nbssplit=4k/60:8k/40\nrandom_distribution=zoned:60/10:40/90\nrate_iops=70,30\n"
    + "rwmixread=70\nsize=1g\nnumjobs=4\noffset_increment=1g\nfdatasync=1\nthinktime=5ms\nramp_time=5s\nsync=dsync\n"
)


def nothing_but_input_errors(text: str, *, each_section: bool) -> None:
    try:
        suite, _ = fio_job.read(text, "x", "x.fio", each_section=each_section)
    except InputError as error:
        refused_at_its_place(error)
        return
    try:
        fio_job.write(make_plan(suite, Options()), size_bytes=1 << 40)
    except InputError as error:
        assert len(error.message) < 500


@given(st.text(), st.booleans())
def test_any_text_as_a_job_file_is_a_suite_or_an_input_error(text: str, each_section: bool) -> None:
    nothing_but_input_errors(text, each_section=each_section)


@given(st.data(), st.booleans())
def test_a_damaged_job_file_is_a_suite_or_an_input_error(data: st.DataObject, each_section: bool) -> None:
    nothing_but_input_errors(data.draw(damaged(FULL, WORDS)), each_section=each_section)


@given(st.sampled_from(sorted(KNOWN)), st.text(max_size=20))
def test_any_value_of_a_known_option_is_read_or_an_input_error(option: str, value: str) -> None:
    nothing_but_input_errors(HEAD + f"[j]\nrw=randrw\n{option}={value}\n", each_section=False)
