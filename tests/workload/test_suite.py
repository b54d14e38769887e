"""Suites: the catalog's, and the user's own files, good and bad."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload.foreign import GOLDEN
from workload.strategies import damaged

from loadline.errors import InputError
from loadline.workload.dialects import fio_job
from loadline.workload.limit import Limit, Ramp
from loadline.workload.model import to_model
from loadline.workload.plan import Options, make_plan
from loadline.workload.profile import BlockShare, Bursts, Closed, Distribution, Open
from loadline.workload.suite import CATALOG, Published, load_suite, parse_suite, suite_names

HEAD = 'title = "T"\nruntime = "5s"\n'
PROFILE = '[[profile]]\nname = "a"\nblock = "4k"\nread = "50%"\nrandom = "100%"\n'
ROUNDS = '[[rounds]]\nname = "r"\nmost = 9\ntrack = ["a"]\n'
LIMIT = 'limit = "mean<=30ms"\n'
HALF_ZONED = 'distribution = { zoned = [{ access = "100%", space = "50%" }] }'

# Source: the table of the field report on DL360 servers; block, read %, random %, class.
TYPICAL_12 = {
    "web-file-server4k": (4, 95, 75, "combined"),
    "web-file-server8k": (8, 95, 75, "combined"),
    "web-file-server64k": (64, 95, 75, "combined"),
    "decision-support-system-db": (1024, 100, 100, "random"),
    "media-streaming": (64, 98, 0, "sequential"),
    "sql-server-log": (64, 0, 0, "sequential"),
    "os-paging": (64, 90, 0, "sequential"),
    "web-server-log": (8, 0, 0, "sequential"),
    "oltp-db": (8, 70, 100, "random"),
    "exchange-server": (8, 67, 100, "random"),
    "workstation": (8, 80, 80, "combined"),
    "video-on-demand": (512, 80, 100, "random"),
}
VARIANTS = {"exchange-server-4k": (4, 67, 100, "random"), "video-on-demand-read": (512, 100, 100, "random")}

FULL = """
title = "Everything"
source = "here"
analysis = "why"
runtime = "60s"
warmup = "5s"
queue_depth = [1, 32]
jobs = 2
published = { queue_depth = 1, jobs = 1, runtime = "300s", warmup = "0s", working_set = "1TB" }

[[profile]]
name = "mix"
class = "combined"
block = { 512 = "10%", 4k = "60%", 64KiB = "30%" }
read = "80%"
random = "50%"
distribution = { zoned = [{ access = "60%", space = "10%" }, { access = "40%", space = "90%" }] }
working_set = "25%"
compressible = "50%"
duplicate = "20%"
analysis = "a mix"
rate = ["1k/s", 2000]
bursts = { times = 4, length = "10ms", every = "40ms" }

[[profile]]
name = "log"
block = "8k"
read = "0%"
random = "0%"
distribution = { zipf = 1.2 }
working_set = "10GiB"
flush_every = 8
dsync = true
think_time = "500us"
burst = 16
queue_depth = 1
jobs = [1, 4]
runtime = "10s"
warmup = "0s"

[[variant]]
name = "other"
block = [4096, "8k"]
read = "100%"
random = "100%"
start = ["50%", "1G"]
distribution = { normal = "20%" }

[[variant]]
name = "carried"
block = 4096
read = "100%"
random = "0%"
jobs = 2
limit = "p99<5ms of reads"
ramp = { axis = "rate", from = "100/s", to = "50k/s" }
"""


def figures(*, variants: bool) -> dict[str, tuple[int, int, int, str]]:
    points = make_plan(load_suite("typical-12")[0], Options(variants=variants))
    found = {}
    for point in points:
        profile = point.streams[0].profile
        (block,) = profile.block
        shares = round(profile.read_fraction * 100), round(profile.random_fraction * 100)
        found[point.name] = (block.size_bytes // 1024, *shares, profile.access_class)
    return found


def test_typical_12_is_the_sources_table_in_its_order() -> None:
    assert list(figures(variants=False).items()) == list(TYPICAL_12.items())


def test_what_the_sources_text_says_otherwise_are_variants() -> None:
    assert figures(variants=True) == TYPICAL_12 | VARIANTS


def test_typical_12_runs_at_depth_32_and_as_published_at_1_for_300_s() -> None:
    suite, _ = load_suite("typical-12")
    assert {point.streams[0].arrival for point in make_plan(suite, Options())} == {Closed(32, 1)}
    published = make_plan(suite, Options(as_published=True))
    assert {(p.streams[0].arrival, p.runtime_ns, p.warmup_ns) for p in published} == {(Closed(1, 1), 300 * 10**9, 0)}


# Source: the field report on the RS2BL080: IOPS, MiB/s and mean response in ms of each profile in RAID 5.
IOMETER = {"file-server": (7938.72, 85.82, 4.03, 80), "web-server": (15791.47, 242.30, 2.03, 100)}


@pytest.mark.parametrize("name", IOMETER)
def test_the_mixes_of_iometer_fit_the_figures_that_the_source_measured_with_them(name: str) -> None:
    (point,) = make_plan(load_suite("iometer-profiles")[0], Options(only=(name,)))
    (stream,) = point.streams
    iops, mib_per_s, response_ms, read_percent = IOMETER[name]
    mean_bytes = sum(share.size_bytes * share.share_fraction for share in stream.profile.block)
    assert mean_bytes == pytest.approx(mib_per_s * 2**20 / iops, rel=0.005)
    assert stream.outstanding == pytest.approx(iops * response_ms / 1000, rel=0.005)
    assert (stream.profile.read_fraction * 100, stream.profile.random_fraction) == (read_percent, 1)


@pytest.mark.parametrize(("name", "read"), [("database-ramp", 0.67), ("web-ramp", 1.0)])
def test_the_ramps_are_the_sources_loads_up_to_30_ms_on_the_whole_target(name: str, read: float) -> None:
    suite, _ = load_suite(name)
    (point,) = make_plan(suite, Options())
    profile = point.streams[0].profile
    assert (profile.block, profile.read_fraction, profile.random_fraction) == ((BlockShare(8192, 1.0),), read, 1)
    assert (profile.working_set_fraction, profile.working_set_bytes) == (None, None)
    assert point.ramp == Ramp(Limit("mean", 30 * 10**6), "outstanding", 1, 65536)


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_of_the_catalog_names_its_source_and_explains_itself_and_its_profiles(name: str) -> None:
    suite, warnings = load_suite(name)
    assert suite.title and suite.source and suite.analysis and not warnings
    assert all(entry.analysis for entry in suite.entries)


@pytest.mark.parametrize("name", suite_names())
def test_a_suite_that_was_read_is_shared_for_nothing_in_it_can_change(name: str) -> None:
    suite, _ = load_suite(name)
    assert load_suite(name)[0] is suite
    hash(suite)


def test_every_key_means_what_the_reference_says() -> None:
    suite = parse_suite(FULL, "full", "full.toml")
    assert (suite.title, suite.source, suite.analysis) == ("Everything", "here", "why")
    assert suite.published == Published(1, 1, 300 * 10**9, 0, None, 10**12)
    mix, log, other, carried = suite.entries
    profile = mix.loads[0][0].profile
    assert profile.block == (BlockShare(512, 0.1), BlockShare(4096, 0.6), BlockShare(65536, 0.3))
    assert profile.distribution == Distribution("zoned", None, ((0.6, 0.1), (0.4, 0.9)))
    assert (profile.working_set_fraction, profile.working_set_bytes) == (0.25, None)
    assert (profile.compressible_fraction, profile.duplicate_fraction) == (0.5, 0.2)
    swing = Bursts(4, 10**7, 4 * 10**7)
    assert [load[0].arrival for load in mix.loads] == [
        Open(1000, 1, 2, swing), Open(2000, 1, 2, swing), Open(1000, 32, 2, swing), Open(2000, 32, 2, swing),
    ]  # fmt: skip
    assert (mix.runtime_ns, mix.warmup_ns) == (60 * 10**9, 5 * 10**9)
    profile = log.loads[0][0].profile
    assert (profile.access_class, profile.distribution) == ("sequential", Distribution("zipf", 1.2))
    assert (profile.working_set_fraction, profile.working_set_bytes) == (None, 10 << 30)
    assert (profile.flush_every, profile.dsync, profile.think_time_ns, profile.burst) == (8, True, 500_000, 16)
    assert [load[0].arrival for load in log.loads] == [Closed(1, 1), Closed(1, 4)]
    assert (log.runtime_ns, log.warmup_ns) == (10 * 10**9, 0)
    assert other.variant and other.loads[0][0].profile.distribution == Distribution("normal", 20)
    swept = [load[0].profile for load in other.loads[::2]]
    assert [profile.block[0].size_bytes for profile in swept] == [4096, 4096, 8192, 8192]
    assert [(profile.start_fraction, profile.start_bytes) for profile in swept] == [(0.5, None), (0.0, 1 << 30)] * 2
    assert carried.ramp == Ramp(Limit("p99", 5 * 10**6, "reads", strict=True), "rate", 100, 50_000)
    assert [load[0].arrival for load in carried.loads] == [Open(100, 32, 2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "title: missing"),
        ("a = [", "not TOML"),
        ("a = " + "9" * 5000, "not TOML"),
        ('a = """[\n"""\nb = ' + "[" * 5000, "line 3: lists or tables are nested deeper than can be read"),
        ("a = 1\n\nb = " + "{c = " * 5000, "line 3: lists or tables are nested deeper than can be read"),
        (".".join("a" * 101) + " = 1", "a key has more than 100 parts"),
        ("[" + ' . "="'.join(["a"] * 101) + "]", "a key has more than 100 parts"),
        ("a = {b" + ".'c'" * 100 + " = 1}", "a key has more than 100 parts"),
        (HEAD, "profile: missing"),
        (HEAD + "profile = []", "profile: "),
        (HEAD + "profile = 3", r"profile: should be a list of tables, each headed \[\[profile\]\] \(is 3\)"),
        (HEAD + "profile = [[[3]]]", "profile number 1: should be a table"),
        ("X1 = 3\n" + HEAD + PROFILE, "X1: unknown key"),
        (HEAD + PROFILE + "blok = 3", "profile a: blok: unknown key"),
        (HEAD + PROFILE.replace("random", "ramdom"), "profile a: ramdom: unknown key"),
        (HEAD + "[published]\nqueue_deph = 1\n" + PROFILE, "published: queue_deph: unknown key"),
        (HEAD + PROFILE + PROFILE, "two profiles are named 'a'"),
        (HEAD + PROFILE.replace("4k", "-4k"), "profile a: block: '-4k' is negative"),
        (HEAD + PROFILE.replace('"4k"', "0"), "profile a: block: 0 is not a block size"),
        (HEAD + PROFILE.replace("4k", "2G"), "profile a: block: '2G' is not a block size"),
        (HEAD + PROFILE.replace('"4k"', "[[4]]"), "profile a: block number 1: a list is not a size"),
        (HEAD + PROFILE.replace('"4k"', '{ 4k = "50%", 8k = "40%" }'), "profile a: .*add up to 90%, not 100%"),
        (HEAD + PROFILE.replace('"4k"', '{ 4k = "50%", 4096 = "50%" }'), "profile a: .*a size twice"),
        (HEAD + PROFILE.replace('"4k"', '{ 4k = "100%", 8k = "0%" }'), "profile a: .*share of 0%"),
        (HEAD + PROFILE.replace("50%", "50"), "profile a: read: '50' has no percent sign"),
        (HEAD + PROFILE.replace("50%", "150%"), "profile a: read: '150%' is outside"),
        (HEAD + PROFILE.replace('"a"', '"a b"'), "profile a b: name: should be 1 to 64 letters, digits"),
        (HEAD + PROFILE.replace('"a"', '"global-a"'), "profile global-a: name: .*fio keeps names"),
        (HEAD + PROFILE + 'class = "mixed"', "profile a: class: "),
        (HEAD + PROFILE + 'distribution = "zipf"', "profile a: distribution: 'zipf' is not a distribution"),
        (HEAD + PROFILE + "distribution = { zipf = 1 }", "profile a: distribution: zipf = 1 is not defined"),
        (HEAD + PROFILE + "distribution = { zipf = 1.2, pareto = 0.5 }", "distribution: give exactly one of"),
        (HEAD + PROFILE + "distribution = { zapf = 1.2 }", "distribution: zapf: unknown key"),
        (HEAD + PROFILE + "distribution = { pareto = nan }", "distribution: pareto: .*from 0.001 to 0.999 .is nan."),
        (HEAD + PROFILE + HALF_ZONED, "the space shares .* add up to 50%"),
        (HEAD + PROFILE + 'working_set = "0%"', "profile a: working_set: '0%' is nothing"),
        (HEAD + PROFILE + 'start = "101%"', "profile a: start: '101%' is outside"),
        (HEAD + PROFILE + 'start = "100%"', "profile a: `start` and `working_set`: what begins at 100% ends behind"),
        (HEAD + PROFILE + 'start = ["0%", "60%"]\nworking_set = "50%"', "profile a: .*what begins at 60% ends behind"),
        (HEAD + PROFILE + 'start = ["1G", "1GiB"]', "profile a: start: lists a value twice"),
        (HEAD + PROFILE.replace('"4k"', '["4k", 4096]'), "profile a: block: lists a value twice"),
        (HEAD + PROFILE + "working_set = {}", "profile a: working_set: a table is not a size"),
        (HEAD + PROFILE + "flush_every = -1", "profile a: flush_every: "),
        (HEAD + PROFILE + "dsync = 1", "profile a: dsync: should be true or false .is 1."),
        (HEAD + PROFILE + "burst = 0", "profile a: burst: "),
        (HEAD + PROFILE + 'think_time = "5"\nqueue_depth = 0', "profile a: queue_depth"),
        (HEAD + "queue_depth = 1_000_000_000\n" + PROFILE, "queue_depth: .* from 1 to 65,536 .is 1000000000."),
        (HEAD + "queue_depth = 1e9\n" + PROFILE, "queue_depth: should be a whole number .*is 1000000000.0"),
        (HEAD + "queue_depth = [8, 8]\n" + PROFILE, "queue_depth: lists a value twice"),
        (HEAD + "queue_depth = []\n" + PROFILE, "queue_depth: should have an entry"),
        (HEAD + "jobs = 5000\n" + PROFILE, "jobs: .*4,096"),
        (HEAD + 'rate = "0/s"\n' + PROFILE, "rate: '0/s' is not above 0"),
        (HEAD + "rate = 1e10\n" + PROFILE, "rate: should be at most 1,000,000,000 "),
        (HEAD.replace("5s", "0s") + PROFILE, "runtime: '0s' is not between 1 ms and 366 days"),
        (HEAD.replace("5s", "9999d") + PROFILE, "runtime: "),
        (HEAD.replace("5s", "5 parsecs") + PROFILE, "runtime: '5 parsecs' has no unit of time"),
        (HEAD.replace('"T"', "3") + PROFILE, "title: should be text in quotes .is 3."),
        (HEAD + "[published]\nworking_set = 0\n" + PROFILE, "published: working_set: 0 is nothing"),
        (HEAD + PROFILE + 'limit = "fast"', "profile a: limit: 'fast' is not a limit"),
        (HEAD + PROFILE + "limit = 30", "profile a: limit: '30' is not a limit"),
        (HEAD + PROFILE + "ramp = { from = 1 }", "profile a: `ramp` needs a `limit`"),
        (HEAD + PROFILE + LIMIT + "queue_depth = 4", "profile a: `limit` makes it a ramp, .* leave both out"),
        (HEAD + PROFILE + LIMIT + 'best = "rate"', "profile a: `best` compares queue depths; leave out limit"),
        (HEAD + ROUNDS + PROFILE + 'rounds = "b"', "profile a: there are no rounds named 'b'"),
        (HEAD + ROUNDS + PROFILE + 'rounds = "r"\nbest = "rate"', "profile a: `rounds` are of plain points"),
        (HEAD + ROUNDS.replace("most = 9", "most = 4") + PROFILE, "rounds r: `most` is 4 rounds, fewer than the 5"),
        (HEAD + ROUNDS + ROUNDS + PROFILE, "2 rounds are named 'r'"),
        (HEAD + ROUNDS + "wndow = 3\n" + PROFILE, "rounds r: wndow: unknown key"),
        (HEAD + ROUNDS.replace("[[", "[").replace("]]", "]") + PROFILE, "rounds: .*list of tables, .*is a table"),
        (HEAD + PROFILE + 'best = "iops"', "profile a: best: should be 'rate' or 'latency'"),
        (HEAD + PROFILE + LIMIT + "jobs = 2", "profile a: jobs: a ramp has one number of jobs"),
        (HEAD + PROFILE + LIMIT + "ramp = { frm = 1 }", "profile a: ramp: frm: unknown key"),
        (HEAD + PROFILE + LIMIT + "ramp = { from = 8, to = 8 }", "profile a: ramp: goes from 8 to 8"),
        (HEAD + PROFILE + LIMIT + "ramp = { from = 1.5 }", "profile a: ramp: '1.5' outstanding"),
        (HEAD + PROFILE + LIMIT + "ramp = { to = 70_000 }", "profile a: ramp: '70000' outstanding"),
        (HEAD + PROFILE + LIMIT + 'ramp = { axis = "rate" }', "profile a: ramp: needs `from` and `to`"),
        (HEAD + PROFILE + LIMIT + 'ramp = { axis = "rate", from = 0, to = 1 }', "profile a: ramp: '0' is not above"),
        (HEAD + PROFILE + LIMIT + 'ramp = { axis = "rate", from = 1, to = "2g/s" }', "profile a: ramp: 2e.09/s is"),
        (HEAD + PROFILE + 'bursts = { times = 4, length = "1s", every = "9s" }', "profile a: bursts: they are those"),
        (HEAD + PROFILE + "rate = 9\nbursts = { times = 4, length = 1, every = 3 }", "profile a: bursts: 4 times"),
        (HEAD + PROFILE + "rate = 9\nbursts = { times = 4, length = 0, every = 3 }", ".*bursts: length: .*above 0"),
        (HEAD + PROFILE + "rate = 9\nbursts = { times = 1, length = 1, every = 3 }", ".*bursts: times: .*above 1"),
        (
            HEAD
            + f"queue_depth = {list(range(1, 200))}\njobs = {list(range(1, 200))}\n"
            + PROFILE,
            "its sweeps make 39601 points",
        ),
    ],
)  # fmt: skip
def test_a_fault_is_said_with_its_file_key_and_value(text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"^my.toml: (.*: )?{said}") as error:
        parse_suite(text, "my", "my.toml")
    assert error.value.remedy
    assert len(error.value.message) < 300


def test_dots_in_texts_are_no_parts_of_keys() -> None:
    dots = "." * 101
    text = f'# {dots}\nanalysis = """it\'s\n{dots}"""\nsource = "\\"{dots}" # {dots}\n'
    assert parse_suite(text + HEAD + PROFILE, "my", "my.toml").source == f'"{dots}'


def test_the_nearest_key_is_suggested() -> None:
    with pytest.raises(InputError) as error:
        parse_suite(HEAD + PROFILE + "blok = 3", "my", "my.toml")
    assert error.value.remedy.startswith("Did you mean 'block'?")


@pytest.mark.parametrize("key", ["axis = 'rate'", "from = '1k/s'", "to = '9k/s'"])
def test_a_key_of_a_ramp_beside_it_is_told_where_it_belongs(key: str) -> None:
    with pytest.raises(InputError, match=f"^my.toml: profile a: {key[: key.index(' ')]}: unknown key") as error:
        parse_suite(HEAD + PROFILE + LIMIT + key, "my", "my.toml")
    assert 'ramp: ramp = { axis = "rate", from = "100/s", to = "50k/s" }.' in error.value.remedy
    with pytest.raises(InputError) as error:
        parse_suite(HEAD + key + "\n" + PROFILE, "my", "my.toml")
    assert "ramp" not in error.value.remedy


def test_the_nearest_suite_is_suggested() -> None:
    with pytest.raises(InputError, match="no suite is named 'typical12'") as error:
        load_suite("typical12")
    assert "'typical-12'" in error.value.remedy


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("absent.toml", None, "there is no file"),
        ("latin.toml", b"title = '\xe4'", "latin.toml:1:10: not text in UTF-8"),
        ("latin.fio", b"\xef\xbb\xbf[j]\r\n; gr\xc3\xb6\xc3\x9fe \xe4\r\n", "latin.fio:2:9: not text in UTF-8"),
        ("huge.fio", b"#" * (1024**2 + 1), "larger than 1 MiB"),
        ("nul\0.toml", None, "can't be read"),
    ],
)
def test_a_file_that_can_t_be_read_is_an_input_error(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        load_suite(str(tmp_path / name))


def test_a_directory_or_a_pipe_is_no_suite(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(InputError, match="a device or a pipe"):
        load_suite(str(tmp_path / "pipe.toml"))
    with pytest.raises(InputError, match="is a directory"):
        load_suite(str(tmp_path) + "/")


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        (".toml", HEAD + PROFILE),
        (".fio", "[a]\nrw=read\nbs=4k\nruntime=9\ntime_based\n"),
        (".hcibench", "vdb-1vmdk-10ws-4k-70rdpct-30randompct-2threads\n"),
        (".vdbench", "sd=s,lun=/dev/x\nwd=w,sd=s\nrd=r,wd=w,elapsed=9\n"),
        (".icf", (GOLDEN / "icf" / "iometer-1.1.0.icf").read_text()),
    ],
)
def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path, ending: str, content: str) -> None:
    path = tmp_path / f"x{ending}"
    path.write_text(content)
    plain = load_suite(str(path))
    path.write_text("\ufeff" + content)
    assert load_suite(str(path)) == plain


@pytest.mark.parametrize("wrong", [None, 5, b"typical-12", ["typical-12"]])
def test_what_can_be_neither_name_nor_path_is_no_suite(wrong: object) -> None:
    with pytest.raises(InputError, match="is no suite") as error:
        load_suite(wrong)  # type: ignore[arg-type]
    assert "path of a file" in error.value.remedy


def test_a_path_to_toml_works_in_place_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(HEAD + PROFILE)
    suite, warnings = load_suite(str(tmp_path / "mine.toml"))
    assert (suite.name, [entry.name for entry in suite.entries], warnings) == ("mine", ["a"], [])


WORDS = ['"4k"', "= 1e9", "[[profile]]", "[", "{", '"100%"', "zoned = [", "inf", "true", "-1", '""', "\n", "1979-05-27"]


def nothing_but_input_errors(text: str) -> None:
    try:
        plan = make_plan(parse_suite(text, "f", "f.toml"), Options(variants=True))
    except InputError as error:
        assert error.message.startswith(("f.toml", "profile", "suite f"))
        return
    for point in plan:
        for use in (lambda: fio_job.write([point], size_bytes=1 << 40), lambda: to_model(point.streams[0], 1 << 40)):  # noqa: B023
            try:
                use()
            except InputError as error:
                assert ":" in error.message


@given(st.text())
def test_any_text_as_toml_is_a_suite_or_an_input_error(text: str) -> None:
    nothing_but_input_errors(text)


@given(st.data())
def test_a_damaged_suite_is_a_suite_or_an_input_error(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([FULL, *(path.read_text() for path in CATALOG.glob("*.toml"))]))
    nothing_but_input_errors(data.draw(damaged(whole, WORDS)))
