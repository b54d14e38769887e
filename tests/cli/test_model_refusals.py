"""What forecasts and simulations refuse, and what of it is answered nevertheless."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.program import Loadline

MD_RAID5 = str(Path(__file__).parents[2] / "python/loadline/catalog/systems/md-raid5-8x2tb.toml")
DRIVES = Path(__file__).parents[2] / "python/loadline/catalog/drives"
SUITE = DRIVES.parent / "suites/typical-12.toml"
QUICK = ["--profile", "oltp-db", "--ios", "500"]


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_simulated(loadline: Loadline) -> None:
    said = loadline("simulate", "hdd-7k2", "typical-12", "-o", "rows.xlsx", "--ios", "1000000000")
    assert said.code == 2 and ".csv" in said.err
    said = loadline("simulate", "hdd-7k2", "typical-12", "-o", f"{'x' * 300}.csv", "--ios", "1000000000")
    assert said.code == 2 and "another name" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulate", "hdd-7k3", "typical-12"], "Did you mean 'hdd-7k2'?"),
        (["simulate", "hdd-7k2", "typical-21"], "Did you mean 'typical-12'?"),
        (["simulate", "hdd-7k2", "typical-12", "--set", "pool.drvies=2"], "Did you mean 'drives'?"),
        (["simulate", "hdd-7k2", "typical-12", "--set", "volume.layout=raid5"], "at least 3"),
        (["systems", "eva-v2-10k", "--set", "drives=84"], "Did you mean pool.drives?"),
        (["systems", "hdd-7k2", "--set", "pool.drives=2\npool.tags=4"], "a whole number"),
        *(
            (["simulate", "hdd-7k2", "typical-12", f"--until-precision={share}"], "--until-precision: ")
            for share in ("-1%", "1", "nan", "0.5", "100%")
        ),
        (
            [
                "simulate",
                "hdd-7k2",
                "typical-12",
                *QUICK[:2],
                "--ios",
                "1000000000",
                "--chart",
                "over-time",
                "-o",
                "z.png",
            ],
            "chart over-time: only a simulation of a given length has a series",
        ),
        (
            ["simulate", "hdd-7k2", "typical-12", "--ios", "1000000000", "--point", "oltp-bd", "-o", "z.png"],
            "there is no point 'oltp-bd'\nDid you mean 'oltp-db'? Points: ",
        ),
        (["forecast", "hdd-7k2", "typical-12", "--chart", "nope", "-o", "z.png"], "Charts: position, "),
        (
            ["forecast", "hdd-7k2", "typical-12", "--chart", "load", "--point", "oltp-db", "-o", "z.png"],
            "Leave it out, or take a chart of one point: over-time, distribution.",
        ),
        (
            ["simulate", "hdd-7k2", "typical-12", *QUICK[:2], "--jobs", "4096", "--queue-depth", "65536"],
            "268,435,456 outstanding, more than the 16,777,216 that models take\nLower --jobs or --queue-depth.",
        ),
        (["simulate", "hdd-7k2", "typical-12", "--queue-depth", "0"], "--queue-depth: 0 can't be\nGive a whole number"),
        (["simulate", "hdd-7k2", "typical-12", "--runtime", "0s"], "--runtime: 0 ns can't be\nGive "),
        (
            ["systems", "hdd-7k2", "--set", "pool.drive=hdd-7k3"],
            "hdd-7k2 with pool.drive=hdd-7k3: pool.drive: no drive is named 'hdd-7k3'",
        ),
        (
            ["systems", "eva-v2-10k", "--set", "cache.mode=[1]"],
            "cache.mode: is none of its choices\nWrite one of write-back, write-through, off.",
        ),
        (["simulate", "hdd-7k2", "typical-12", "--until-precision", "1%", "--ios", "5"], "Leave out one"),
        (
            ["simulate", "hdd-7k2", "database-ramp", "--as-published", "--set", "volume.size=1GB"],
            "suite database-ramp, profile database: working_set: 1 TB is larger than the volume, which holds 1 GB"
            "\nLower it, or give it in percent; or take more pool.drives",
        ),
        (["forecast", "hdd-7k2", "typical-12", "--queue-depth", "1,2,1"], "--queue-depth: takes 1 twice"),
        (
            ["forecast", "dl360-g6-p410i", "typical-12", "--set", "cache.high_water=1e-300"],
            "cache.low_water: 0.8 isn't below cache.high_water, 1e-300\n",
        ),
        (["simulate", "./missing.toml", "typical-12"], "missing.toml"),
        (["forecast", str(SUITE), "typical-12"], "isn't known there\nIt's of a suite, before which the system comes"),
        (["simulate", "/dev/zero", "typical-12"], "/dev/zero"),
        (
            ["simulate", "eva-v2-10k", "web-ramp", "--set", "cache.read=900TiB"],
            "is free\nLower cache.read and cache.write (or raise cache.page), pool.drives, pool.tags or",
        ),
        (["forecast", "eva-v2-10k", "web-ramp", "--limit", "soon"], "mean<=30ms"),
        (["forecast", "eva-v2-10k", "web-ramp", "--limit", "p99<=30ms"], "--method simulate"),
        (["forecast", "eva-v2-10k", "web-ramp", "--ios", "5"], "--method simulate"),
        (["forecast", "eva-v2-10k", "web-ramp", "--method", "simulate", "--explain"], "--method solve"),
        (["forecast", "station-mm1", "web-ramp", "--method", "rule"], "disks"),
        (["forecast", "eva-v2-10k", "web-ramp", "--method", "rule", "--limit", "10ms"], "--method solve"),
        (["forecast", "eva-v2-10k", "web-ramp", "--method", "rule", "--queue-depth", "8"], "Leave it out"),
        (["forecast", "eva-v2-10k", "web-ramp", "--replications", "3"], "--method simulate"),
        (["forecast", "eva-v2-10k", "web-ramp", "--dark"], "-o FILE.png"),
        (["simulate", "hdd-7k2", "typical-12", "--chart", "load"], "-o FILE.png"),
        (["forecast", "typical-12", "hdd-7k2"], "The system comes first: hdd-7k2 typical-12."),
        (["simulate", "typical-12", "mine.toml"], "The system comes first: mine.toml typical-12."),
        (["forecast", "./mine.toml", "hdd-7k2"], "hdd-7k2 is a system, not a suite"),
        (["forecast", "hdd-7k2", MD_RAID5], "is a system, not a suite"),
        (["run", "hdd-7k2", "scratch"], "loadline run SUITE emulated:hdd-7k2"),
        (["run", "hdd-7k2", "typical-12"], "loadline run SUITE emulated:hdd-7k2"),
        (["run", ".", "typical-12"], "The suite comes before the targets: typical-12 ."),
        (["run", "/dev/null", "x", "mine.toml"], "The suite comes before the targets: mine.toml /dev/null."),
        (["run", "typical-12", "mine.toml", "--set", "pool.drives=2"], "emulated as emulated:mine.toml"),
        (["run", "typical-12", "hdd-7k2"], "emulated as emulated:hdd-7k2"),
        (["systems", "typical-12"], "typical-12 is a suite, not a system"),
        (
            ["forecast", "dl360-g6-p410i", "web-ramp", "--set", "pool.failed=1", "--set", "pool.rebuild_rate=50MB/s"],
            "web-server: pool.rebuild_rate: the solver has no rebuilding beside hosts' I/Os\nLeave it out",
        ),
        (["systems", "nothing"], "loadline systems"),
        (["systems", "--set", "pool.drives=2"], "Name one"),
        *(
            (
                ["systems", "hdd-7k2", "--set", f"pool.drives={number}"],
                f"pool.drives: {number} can't stand there\nIt takes {takes}.",
            )
            for number, takes in ((-1, "a whole number that isn't negative"), (10**12, "a smaller whole number"))
        ),
        (["systems", "hdd-7k2", "--set", "pool.drives=4,4"], "takes 4 twice"),
        (["systems", "hdd-7k2", "--set", "pool.drives=8:4:1"], "lead away from its end"),
        (["systems", "hdd-7k2", "--set", "pool.drives.x=1"], "Set pool.drives itself"),
        (["systems", "hdd-7k2", "--set", "volume.size=0B"], "Write 512B to"),
        (
            ["systems", "hdd-7k2", "--set", "volume.size=2TiB"],
            "jbod on 1 disk of 931GiB holds 931GiB\nWrite at most 931GiB.",
        ),
        (["systems", "eva-v2-10k", "--set", "volume.size=200TB"], "Write at most 19731GB."),
        (
            ["forecast", "dl360-g6-p410i", "web-ramp", "--set", "pool.drives=65536"],
            "Take smaller chunks or fewer drives",
        ),
        (["systems", "hdd-7k2", "--set", "volume.size=3XB"], "KiB to PiB"),
        (["systems", "hdd-7k2", "--set", "title=3"], "in quotes"),
        (["systems", "sas-10k-jbod", "--set", "cache.mode=off"], "has no [cache], of which cache.mode could be set"),
        (["systems", "hdd-7k2", "--set", "hosts.link.latency=1us"], "hosts.link.rate is missing"),
        (["systems", "hdd-7k2", "--set", "hosts.overhead=300d"], "Write 1s or less."),
        (["systems", "eva-v2-10k", "--set", "rule.disk_rate_per_s=nan"], "Write 0.001 to 1000000000, or leave it out."),
        (["systems", "md-raid5-8x2tb", "--set", "volume.group=0"], "not 0\nLeave it out, for raid5 has no groups to"),
        (["systems", "eva-v2-10k", "--set", "volume.group=0"], "spans at least 3 disks, not 0\nWrite 3 or more."),
        (["systems", "eva-v2-10k", "--set", "cache.read_ahead=0"], "KiB to PiB (1024): write 0B."),
        (["systems", "eva-v2-10k", "--set", "volume.chunk=0"], "KiB to PiB (1024).\n"),
        (["forecast", "hdd-7k2", "web-ramp", "-o", ""], "'': a report can't be written as a file without ending"),
        (
            ["systems", "station-mg1", "--set", "station.0.service.general.scv=1e300"],
            "scv: 1e300 can't be\nWrite 0, or 0.001 to 10000.",
        ),
        (["systems", "eva-v2-10k", "--set", "controller.command_read=1h"], "controller.command_read: 3600s can't be"),
        (["systems", "eva-v2-10k", "--set", "controller.command_hit=2h"], "controller.command_hit: 7200s can't be"),
        (["systems", "station-mm1", "--set", "station.0.servers=200000000"], "station[0].servers: 200000000 can't be"),
        (
            ["systems", "station-mm1", "--set", 'station.0.service={erlang={mean="1ms",stages=0}}'],
            "station[0].service.erlang.stages: 0 can't be\nWrite 1 to 1000.",
        ),
        (
            ["systems", "station-mm1", "--set", 'station.0.service={general={mean="1ms",scv=-1}}'],
            "station[0].service.general.scv: -1 can't be\nWrite 0, or 0.001 to 10000.",
        ),
        (
            ["systems", "station-mm1", "--set", "pool.drives=8"],
            "pool.drives: the system has no pool, for it is of queueing stations\nSet theirs, such as station.0.",
        ),
        (["systems", "sas-10k-jbod", "--set", "pool.tags=4000000000"], "4000000000 can't be\nWrite 1 to 4096, the"),
        (["systems", "hdd-7k2", "--set", "pool.drives=4000000000"], "4000000000 disks can't be\nWrite 1 to 65536."),
        (
            ["systems", "eva-v2-10k", "--set", "cache.mirror_link=1B/s"],
            "cache.mirror_link: 0.000001MB/s is too slow for any I/O\nWrite 0.001MB/s or more, or leave it out",
        ),
        (
            ["systems", "md-raid5-8x2tb", "--set", "pool.failed=9"],
            "pool.failed: without the first 9 of 8 drives raid5 loses data\nWrite at most 1.",
        ),
        (["systems", "hdd-7k2", "-o", "x"], "--help"),
        (["validate", "-o", "nowhere"], "Make it first"),
        (["drives", "nothing"], "loadline drives"),
    ],
)
def test_a_refusal_names_what_is_wrong_and_what_to_do(loadline: Loadline, words: list[str], said: str) -> None:
    answer = loadline(*words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert loadline(*words, "--json").json["error"]["kind"] == "input"


def test_some_impossible_combinations_leave_the_others_answered(loadline: Loadline) -> None:
    said = loadline(
        "simulate",
        "hdd-7k2",
        "typical-12",
        *QUICK,
        "--set",
        "volume.layout=raid10",
        "--set",
        "pool.drives=3,4",
        "--json",
    )
    assert said.code == 2
    bad, good = said.json["results"]
    assert bad["error"].endswith(".") and not said.json["error"]["remedy"]
    assert good["iops"] > 0 and said.json["error"]["message"].startswith("1 point of 2 can't be answered: oltp-db")


def test_where_no_combination_can_be_the_reasons_of_all_are_told(loadline: Loadline) -> None:
    words = ("forecast", "dl360-g6-p410i", "typical-12", "--set", "pool.failed=2")
    said = loadline(*words, "--set", "volume.layout=raid5,raid10")
    assert said.code == 2
    assert all(f"without the first 2 of 4 drives {layout} loses data" in said.err for layout in ("raid5", "raid10"))


_BARE = """
title = "nothing before the drives takes time"
cache = { read = "64MiB", write = "64MiB" }
pool = { drives = 4, drive = "savvio-10k4-600" }
volume = { layout = "raid0" }
"""

_READS = """
title = "reads"
runtime = "1s"
[[profile]]
name = "reads"
class = "random"
block = "8KiB"
read = "100%"
random = "100%"
queue_depth = 4
working_set = "8MiB"
"""


@pytest.mark.parametrize(
    "words", [["forecast"], ["simulate"], ["simulate", "--ios", "100"], ["simulate", "--until-precision", "1%"]]
)
def test_a_load_of_which_no_request_takes_time_is_refused_whichever_way(loadline: Loadline, words: list[str]) -> None:
    (loadline.folder / "bare.toml").write_text(_BARE)
    (loadline.folder / "reads.toml").write_text(_READS)
    verb, *options = words
    said = loadline(verb, "./bare.toml", "./reads.toml", *options)
    assert (said.code, said.out) == (2, "")
    assert "no I/O takes any time here" in said.err and "hosts.overhead" in said.err


def test_a_point_and_its_load_line_are_one_point_that_is_not_answered(loadline: Loadline) -> None:
    words = ("forecast", "hdd-7k2", "typical-12", "--profile", "oltp-db", "--set", "volume.layout=raid10")
    said = loadline(*words, "--set", "pool.drives=3,4")
    assert (said.code, said.err) == (2, "loadline: 1 point of 2 can't be answered\n")
    assert said.out.count("raid10 pairs its disks and 3 is odd") == 1
    said = loadline(*words, "--set", "pool.drives=4", "--limit", "1us")
    assert said.code == 2 and said.err.startswith("loadline: 1 point of 1 has no load line\n")
    assert said.out.count("oltp-db has no load line: not even the lowest") == 1


_JOBS = """
title = "more outstanding than models take"
runtime = "10s"
[[profile]]
name = "p"
block = "4k"
read = "100%"
random = "100%"
"""


def test_a_point_that_failed_is_called_so_whatever_its_load_line_and_named_once(loadline: Loadline) -> None:
    (loadline.folder / "jobs.toml").write_text(_JOBS)
    said = loadline("forecast", "hdd-7k2", "jobs.toml", "--jobs", "4096", "--queue-depth", "65536")
    assert "p (failed) " in said.out and "\np: 4096 jobs of queue depth 65536 are" in said.out


def test_bursts_that_cannot_be_are_named_with_what_to_change(loadline: Loadline) -> None:
    bursts = 'rate = "100/s"\nbursts = { times = 1000000, length = "1ns", every = "1000000h" }\n'
    (loadline.folder / "bursts.toml").write_text(_JOBS + bursts)
    said = loadline("forecast", "hdd-7k2", "bursts.toml")
    assert said.code == 2 and "p: arrival.bursts: rates must lie" in said.err
    assert said.err.endswith("Change times, length, every or the rate.\n")


def test_a_pause_that_is_too_long_is_named_as_suites_name_it(loadline: Loadline) -> None:
    (loadline.folder / "pause.toml").write_text(_JOBS + 'think_time = "1000h"\n')
    said = loadline("forecast", "hdd-7k2", "pause.toml")
    assert said.code == 2 and "profile p: think_time: 3,600,000 s are more than the 1,000,000 s" in said.err


def test_a_value_that_cannot_be_is_not_said_to_change_nothing(loadline: Loadline) -> None:
    said = loadline("forecast", "dl360-g6-p410i", "typical-12", "--set", "hosts.count=0")
    assert said.code == 2 and "0 can't be" in said.err and "changes nothing" not in said.err


def test_a_point_beyond_a_limit_that_nobody_asked_for_is_answered(loadline: Loadline) -> None:
    words = ("forecast", "dl360-g6-p410i", "snia-pts", "--profile", "iops")
    said = loadline(*words)
    assert said.code == 0 and "not even the lowest load, 4, keeps mean<=30ms" in said.out
    said = loadline(*words, "--limit", "mean<=30ms")
    assert said.code == 2 and "have no load line\n" in said.err


def test_a_wrong_value_is_told_once_whatever_it_is_combined_with(loadline: Loadline) -> None:
    words = ("forecast", "eva-v2-10k", "typical-12", "--profile", "oltp-db", "--set", "pool.drives=84,168")
    said = loadline(*words, "--set", "volume.layout=vraid1,vriad5")
    assert said.code == 2
    told = [line for line in said.out.splitlines() if "Did you mean 'vraid5'?" in line]
    assert len(told) == 1
    assert told[0].startswith("oltp-db pool.drives=84 volume.layout=vriad5 and 1 more: volume.layout: 'vriad5'")
