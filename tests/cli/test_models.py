"""The verbs about described systems, as people and scripts meet them."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest
from cli.program import PROGRAM, Loadline

MD_RAID5 = str(Path(__file__).parents[2] / "python/loadline/catalog/systems/md-raid5-8x2tb.toml")
DRIVES = Path(__file__).parents[2] / "python/loadline/catalog/drives"
SUITE = DRIVES.parent / "suites/typical-12.toml"
QUICK = ["--profile", "oltp-db", "--ios", "500"]


def test_the_catalog_is_listed_with_what_it_is(loadline: Loadline) -> None:
    said = loadline("systems")
    assert (said.code, said.err) == (0, "")
    [line] = [line for line in said.out.splitlines() if line.startswith("eva-v2-10k ")]
    assert "168 FC disks" in line and line.endswith(" 1 TB")
    assert max(map(len, said.out.splitlines())) <= 80
    listed = loadline("systems", "--json").json["systems"]
    assert [one["name"] for one in listed] == sorted(one["name"] for one in listed)
    assert next(one for one in listed if one["name"] == "hdd-7k2")["capacity_bytes"] == pytest.approx(1e12, rel=0.001)


def test_a_system_is_explained_with_sources_and_what_can_be_set(loadline: Loadline) -> None:
    said = loadline("systems", "hdd-7k2", "--set", "pool.tags=4")
    assert said.code == 0
    lines = said.out.splitlines()
    [tags] = [line.split() for line in lines if line.startswith("pool.tags ")]
    assert tags[1] == "4"
    [overhead] = [line for line in lines if line.startswith("hosts.overhead ")]
    assert "assumed: " in overhead
    assert tags[-1] == "--set"
    [failed] = [line.split() for line in lines if line.startswith("pool.failed ")]
    assert failed[1:] == ["0", "default"]
    assert "cache.mode" in said.out and "volume.group" in said.out
    assert " ".join(said.out.split()).endswith("What isn't set of the drives is as their file says.")
    [told] = loadline("systems", "hdd-7k2", "--json").json["systems"]
    assert {"key": "pool.drives", "value": "1", "source": "one disk"} in told["figures"]
    assert "controller.cores" in told["settable"]


def test_a_drive_is_listed_explained_and_made_of_parameters(loadline: Loadline) -> None:
    listed = loadline("drives").out
    assert "savvio-10k1-73 " in listed and max(map(len, listed.splitlines())) <= 80
    assert "rotation.speed" in loadline("drives", "savvio-10k1-73").out
    again = loadline("drives", "--from", "missing.model", "-o", "x.toml")
    assert again.code == 2 and "missing.model" in again.err
    assert loadline("drives", "savvio-10k1-73", "--from", "x.model").code == 2
    assert "none is named" in loadline("drives", "-o", "x.toml").err
    assert loadline("drives", "savvio-10k1-73", "-o", "copy.toml").out == "wrote copy.toml\n"
    assert loadline("drives", "copy.toml").out == loadline("drives", "savvio-10k1-73").out.replace(
        "savvio-10k1-73", "copy"
    )
    (loadline.folder / "good.model").write_text("dm_disk good { }")
    assert loadline("drives", "--from", "good.model", "-o", "/dev/null").code == 2
    assert Path("/dev/null").is_char_device()


PARAMETERS = """
dm_disk single {
    Block count = 100000,
    Number of data surfaces = 2,
    Number of cylinders = 1000,
    Mechanical Model = dm_mech_g1 {
        Access time type = trackSwitchPlusRotation,
        Seek type = linear,
        Average seek time = 5.0,
        Constant access time = 0.0,
        Single cylinder seek time = 1.0,
        Full strobe seek time = 10.0,
        Head switch time = 0.5,
        Rotation speed (in rpms) = 10000,
        Percent error in rpms = 0.0,
        First ten seek times = 0.0
    }
}
"""


def test_a_parameter_file_that_describes_no_disk_is_refused_with_its_place(loadline: Loadline) -> None:
    (loadline.folder / "odd.model").write_text(PARAMETERS)
    said = loadline("drives", "--from", "odd.model")
    assert said.code == 2 and "odd.model" in said.err
    (loadline.folder / "loop.model").write_text("source loop.model\n")
    assert loadline("drives", "--from", "loop.model").code == 2
    (loadline.folder / "cut.model").write_text("dm_disk cut { Block count = 1,")
    said = loadline("drives", "--from", "cut.model")
    assert said.err.splitlines() == ["loadline: cut.model:1: the block dm_disk cut is never closed"]
    assert "parameter files" not in loadline("drives", "--from", "missing.model").err


def test_a_simulation_prints_its_points_and_how_busy_all_components_were(loadline: Loadline) -> None:
    said = loadline("simulate", "dl360-g6-p410i", "typical-12", *QUICK, "--set", "volume.layout=raid5,raid10")
    assert said.code == 0, said.err
    head, *rows = said.out.splitlines()
    assert head.split()[:4] == ["point", "volume.layout", "outstanding", "IOPS"]
    assert [row.split()[1] for row in rows if row.startswith("oltp-db")] == ["raid5", "raid10"] * 2
    assert any(row.endswith("busy, %") for row in rows) and any("disks 100.0, controllers " in row for row in rows)


def test_a_simulated_search_says_that_its_saturation_is_what_was_seen_and_a_solution_does_not(
    loadline: Loadline,
) -> None:
    said = "saturation: of a simulated search the highest rate that was seen"
    assert said in loadline("simulate", "hdd-7k2", "database-ramp", "--ios", "1000").out
    assert said not in loadline("forecast", "hdd-7k2", "database-ramp").out


def test_a_simulation_is_one_object_and_the_same_again(loadline: Loadline) -> None:
    words = ["simulate", "hdd-7k2", "database-ramp", "--ios", "1000", "--json"]
    said = loadline(*words)
    assert said.code == 0
    body = said.json
    assert list(body) == ["format", "results", "probes", "runs", "findings", "error"]
    [line] = body["results"]
    assert line["limit"] == "mean<=30ms" and line["saturation_iops"] >= line["iops"]
    assert line["outstanding_asked"] + 1 in [probe["outstanding_asked"] for probe in body["probes"]]
    assert loadline(*words).out == said.out


@pytest.mark.parametrize("ending", ["csv", "json", "md"])
def test_rows_are_written_in_every_format(loadline: Loadline, ending: str) -> None:
    path = loadline.folder / f"rows.{ending}"
    said = loadline("simulate", "hdd-7k2", "typical-12", *QUICK, "--set", "pool.tags=1,4", "-o", path)
    assert said.code == 0 and f"wrote {path}" in said.out
    text = path.read_text()
    if ending == "csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert [json.loads(row["tags"]) for row in rows] == [{"pool.tags": "1"}, {"pool.tags": "4"}]
        assert all(row["origin"] == "simulated" and float(row["iops"]) > 0 for row in rows)
    elif ending == "json":
        assert len(json.loads(text)["results"]) == 2
    else:
        assert "| oltp-db |" in text


def test_a_forecast_shows_asked_load_saturation_and_load_line(loadline: Loadline) -> None:
    said = loadline(
        "forecast", "eva-v2-10k", "database-ramp", "--limit", "30ms", "--set", "volume.layout=vraid1,vraid5"
    )
    assert said.code == 0, said.err
    head, vraid1, vraid5, note, *_ = said.out.splitlines()
    assert head.split()[:3] == ["point", "volume.layout", "outstanding"] and "saturation IOPS" in head
    assert "vraid1" in vraid1 and ", not " in vraid1 and "vraid5" in vraid5
    assert "mean<=30ms" in note


def test_a_forecast_explains_itself(loadline: Loadline) -> None:
    said = loadline("forecast", "eva-v2-10k", "database-ramp", "--explain")
    assert said.code == 0, said.err
    assert any(line.startswith("  ") and " = " in line for line in said.out.splitlines())


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_simulated(loadline: Loadline) -> None:
    said = loadline("simulate", "hdd-7k2", "typical-12", "-o", "rows.xlsx", "--ios", "1000000000")
    assert said.code == 2 and ".csv" in said.err
    said = loadline("simulate", "hdd-7k2", "typical-12", "-o", f"{'x' * 300}.csv", "--ios", "1000000000")
    assert said.code == 2 and "another name" in said.err


def test_a_faulty_file_is_named_by_its_path_and_shown_in_short(loadline: Loadline) -> None:
    (loadline.folder / "deep.toml").write_text(f"title = {'[' * 100_000}\n")
    said = loadline("systems", "./deep.toml")
    assert said.code == 2 and "deep.toml: line 1" in said.err and "nested deeper than can be read\n" in said.err
    assert len(said.err) < 1000
    (loadline.folder / "deep.toml").write_text("pool" + ".a" * 100 + " = 1\n")
    said = loadline("systems", "./deep.toml")
    assert said.code == 2 and said.err.startswith(
        "loadline: deep.toml: a key has more parts than can be read\nWrite keys "
    )


def test_what_is_no_toml_is_shown_with_its_line_and_what_to_do(loadline: Loadline) -> None:
    (loadline.folder / "bad.toml").write_text('title = "x"\n[pool]\ndrives = two\n')
    assert loadline("systems", "./bad.toml").err.splitlines() == [
        "loadline: bad.toml: line 3, column 10: 'drives = two' is no TOML: invalid boolean, expected `true`",
        "Mend that line; text stands in quotes.",
    ]


def test_a_number_that_no_type_holds_is_refused_without_naming_types(loadline: Loadline) -> None:
    (loadline.folder / "big.toml").write_text(f'title = "x"\n[pool]\ndrives = {"9" * 30}\n')
    said = loadline("systems", "./big.toml").err
    assert "big.toml: line 3, column 10: " in said and "i128" not in said


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("capacity", '"1MB"', "geometry.data_sheet.capacity: 1MB can't be\nWrite 51.2MB to 102.4TB."),
        (
            "inner_rate",
            '"900MB/s"',
            "inner_rate: 900MB/s is above outer_rate, 124MB/s\nOuter tracks are the faster ones",
        ),
        ("inner_rate", '"0MB/s"', "inner_rate: 0MB/s can't be\nWrite the data sheet's rate at the inner edge."),
        ("tags", "0", "queue.tags: 0 can't be\nWrite 1 to 4096."),
        ("command", '"10s"', "overhead.command: 10s is too long for a disk\nWrite 1s or less."),
        (
            "single",
            '"1s"',
            "seek: single (1s), average (3.9ms) and full (8ms) don't rise in this order\nGive the shortest",
        ),
        (
            "surfaces",
            "4\nzone = [{ first_cylinder = 0, last_cylinder = 9, sectors_per_track = 9 }]",
            "\nLeave out one.",
        ),
        ("scheduling", "[1]", "queue.scheduling: is none of its choices\nWrite one of fifo, c-look, sptf."),
        ("all", '"y"\n"queue.tgas" = "z"', "source.\"queue.tgas\": 'tgas' isn't known there\nDid you mean 'tags'?"),
    ],
)
def test_a_drive_that_cannot_be_is_told_with_its_value_and_what_to_write(
    loadline: Loadline, key: str, value: str, said: str
) -> None:
    text = (DRIVES / "savvio-10k3-300.toml").read_text().replace("[source]", '[source]\n"all" = "x"')
    text, found = re.subn(rf'(?m)^"?{key}"? = .*$', lambda line: f"{line[0].partition(' = ')[0]} = {value}", text)
    assert found == 1
    (loadline.folder / "bad.toml").write_text(text)
    answer = loadline("drives", "./bad.toml")
    assert answer.code == 2 and said in answer.err


MINE = 'title = "x"\n[pool]\ndrives = 8\ndrive = "savvio-10k1-73"\n[volume]\nlayout = "raid6"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MINE + "group = 4", "volume.group: raid6 has no groups to choose\nLeave it out, or write vraid5 or vraid6."),
        (MINE.replace("[volume]", "spares = 1\n[volume]"), "pool.spares: raid6 has no spare space\nLeave it out, for "),
        (MINE + '[cache]\nread = "1MiB"\nwrite = "1MiB"\nlow_water = "80%"', "\nIt takes a number: write 0.8."),
        (
            'title = "x"\n[[station]]\nname = "cpu"\nservice = "2ms"',
            "station[0].service: is none of its choices\nWrite one of"
            ' { constant = "4.7ms" }, { exponential = "4.7ms" }, { erlang = { mean = "4.7ms", stages = 4 } },',
        ),
    ],
)
def test_what_a_system_cannot_have_is_told_with_what_to_write(loadline: Loadline, text: str, said: str) -> None:
    (loadline.folder / "mine.toml").write_text(text)
    answer = loadline("systems", "mine.toml")
    assert answer.code == 2 and said in answer.err


def test_a_file_without_its_ending_is_offered_where_a_name_is_not_known(loadline: Loadline) -> None:
    (loadline.folder / "nas.toml").write_text(MINE)
    (loadline.folder / "load.fio").write_text("[a]\nrw=randread\n")
    (loadline.folder / "disk").write_text("")
    assert loadline("forecast", "nas", "typical-12").err.endswith("Did you mean the file 'nas.toml'?\n")
    assert loadline("forecast", "nas.toml", "load").err.endswith("Did you mean the file 'load.fio'?\n")
    assert loadline("drives", "disk").err.endswith("Did you mean the file './disk'?\n")


def test_a_drive_is_found_from_where_it_was_named(loadline: Loadline) -> None:
    folder = loadline.folder / "mine"
    folder.mkdir()
    drive = (DRIVES / "savvio-10k3-300.toml").read_text()
    (folder / "near.toml").write_text(drive)
    (loadline.folder / "here.toml").write_text(drive)
    for name, fault in (("near.toml", ""), ("here.toml", "pool.drive: there is no file 'mine/here.toml'")):
        system = f'title = "x"\n[pool]\ndrives = 1\ndrive = "./{name}"\n[volume]\nlayout = "jbod"\n'
        (folder / "system.toml").write_text(system)
        said = loadline("systems", "mine/system.toml")
        assert said.code == (2 if fault else 0), said.err
        assert fault in said.err
    assert loadline("systems", "mine/system.toml", "--set", "pool.drive=./here.toml").code == 0
    assert loadline("systems", "hdd-7k2", "--set", "pool.drive=./here.toml").code == 0
    assert loadline("systems", "hdd-7k2", "--set", "pool.drive=./near.toml").code == 2


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ('[[volume]]\nlayout = "jbod"\n', "volume: is a list\nWrite [volume], for there is one."),
        (
            '[source]\n"pool.drvies" = "y"\n',
            "source.\"pool.drvies\": 'drvies' isn't known there\nDid you mean 'drives'?",
        ),
        ('[source]\n"nope.x" = "y"\n', "Known: backend, cache, controller, hosts, pool, rule, station, volume, all."),
    ],
)
def test_a_description_that_cannot_be_is_told_with_what_to_write(loadline: Loadline, rest: str, said: str) -> None:
    (loadline.folder / "bad.toml").write_text(f'title = "x"\n[pool]\ndrives = 1\ndrive = "hdd-7k2"\n{rest}')
    answer = loadline("systems", "./bad.toml")
    assert answer.code == 2 and said in answer.err


@pytest.mark.parametrize(
    ("services", "said"),
    [
        (['{ exponential = "1ms", constant = "1ms" }'], "station[0].service: has no key or several"),
        (["{}"], "station[0].service: has no key or several"),
        (['{ exponential = "1ms" }'] * 2, 'station[1].name: "one" is another station\'s, too'),
    ],
)
def test_stations_that_cannot_be_are_named(loadline: Loadline, services: list[str], said: str) -> None:
    stations = "".join(f'[[station]]\nname = "one"\nservice = {service}\n' for service in services)
    (loadline.folder / "stations.toml").write_text(f'title = "x"\n{stations}')
    answer = loadline("systems", "./stations.toml")
    assert answer.code == 2 and said in answer.err


def test_a_key_that_is_missing_is_named(loadline: Loadline) -> None:
    (loadline.folder / "none.toml").write_text("[pool]\ndrives = 2\n")
    said = loadline("systems", "./none.toml")
    assert said.err.splitlines() == ["loadline: none.toml: pool.drive is missing", "Give it as well."]
    assert (
        "none.toml with pool.drive=x: title is missing"
        in loadline("systems", "./none.toml", "--set", "pool.drive=x").err
    )


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
            "chart over-time: a model's answer has no series",
        ),
        (
            ["simulate", "hdd-7k2", "typical-12", "--ios", "1000000000", "--point", "oltp-bd", "-o", "z.png"],
            "there is no point 'oltp-bd'\nDid you mean 'oltp-db'? Points: ",
        ),
        (["forecast", "hdd-7k2", "typical-12", "--chart", "nope", "-o", "z.png"], "Charts: load, "),
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
                f"pool.drives: {number} can't stand there\nIt takes a whole number from 0 to 4,294,967,295.",
            )
            for number in (-1, 10**12)
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
        (["systems", "hdd-7k2", "--set", "hosts.overhead=300d"], "Write 3600s or less."),
        (["systems", "eva-v2-10k", "--set", "rule.disk_rate_per_s=nan"], "Write 0.001 to 1000000000, or leave it out."),
        (["systems", "md-raid5-8x2tb", "--set", "volume.group=0"], "spans at least 3 disks, not 0\nWrite 3 or more."),
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
    assert good["iops"] > 0 and said.json["error"]["message"].startswith("1 of 2 points")


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
    named = "oltp-db volume.layout=raid10"
    assert said.code == 2
    assert f"loadline: 1 of 2 points can't be answered: {named} pool.drives=3: volume.layout: raid10 pairs" in said.err
    said = loadline(*words, "--set", "pool.drives=4", "--limit", "1us")
    assert said.code == 2
    assert f"loadline: 1 of 1 points have no load line: {named} pool.drives=4: not even the lowest" in said.err


def test_a_point_beyond_a_limit_that_nobody_asked_for_is_answered(loadline: Loadline) -> None:
    words = ("forecast", "dl360-g6-p410i", "snia-pts", "--profile", "iops")
    said = loadline(*words)
    assert said.code == 0 and "not even the lowest load, 4, keeps mean<=30ms" in said.out
    said = loadline(*words, "--limit", "mean<=30ms")
    assert said.code == 2 and "points have no load line: iops-b1M-rd65: not even the lowest" in said.err


def test_a_wrong_value_is_told_once_whatever_it_is_combined_with(loadline: Loadline) -> None:
    words = ("forecast", "eva-v2-10k", "typical-12", "--profile", "oltp-db", "--set", "pool.drives=84,168")
    said = loadline(*words, "--set", "volume.layout=vraid1,vriad5")
    assert said.code == 2
    told = [line for line in said.out.splitlines() if "Did you mean 'vraid5'?" in line]
    assert len(told) == 1
    assert told[0].startswith("oltp-db pool.drives=84 volume.layout=vriad5 and 1 more: volume.layout: 'vriad5'")


def test_a_list_of_stations_is_no_setting(loadline: Loadline) -> None:
    said = loadline("systems", "eva-v2-10k")
    (settable,) = [line for line in said.out.splitlines() if "can be --set" in line]
    assert "pool.rebuild_rate" in settable
    assert "station" not in settable


@pytest.mark.parametrize(
    "words",
    [
        ["station-mm1", "typical-12", "--profile", "oltp-db", "--jobs", "8"],
        ["dl360-g6-p410i", "database-ramp"],
    ],
)
def test_a_limit_that_no_load_reaches_is_told_with_the_highest_load(loadline: Loadline, words: list[str]) -> None:
    said = loadline("forecast", *words, "--limit", "1000h")
    assert said.code == 0 and "is not reached within 16,384 outstanding" in said.out


@pytest.mark.parametrize("verb", [["systems", "hdd-7k2"], ["forecast", "hdd-7k2", "typical-12", *QUICK[:2]]])
def test_a_setting_that_changes_nothing_is_told(loadline: Loadline, verb: list[str]) -> None:
    said = loadline(*verb, "--set", "pool.drives=2", "--set", "pool.spares=1", "--set", "volume.layout=raid0,vraid0")
    assert said.code == 0
    assert said.err.splitlines()[0] == "--set pool.spares changes nothing in 1 of 2 systems: raid0 has no spare space"
    assert "changes nothing" not in loadline(*verb, "--set", "volume.chunk=128KiB,1MiB").out


def test_a_setting_that_the_rule_of_thumb_does_not_know_is_told(loadline: Loadline) -> None:
    settings = "pool.drives=8", "rule.bandwidth=1GB/s", "cache.read=1MiB", "hosts.link.rate=1GB/s"
    words = [word for setting in settings for word in ("--set", setting)]
    said = loadline("forecast", "dl360-g6-p410i", "database-ramp", "--method", "rule", *words)
    assert said.err.splitlines() == [
        f"--set {key} changes nothing: the rule of thumb knows drives, layout and [rule] only"
        for key in ("cache.read", "hosts.link.rate")
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "hdd-7k2", "typical-12", "--ios", "50000000000"],
        ["forecast", "md-raid5-8x2tb", "typical-12", "--set", "pool.drives=64:2048:64"],
    ],
)
def test_an_interruption_ends_a_long_computation_soon(loadline: Loadline, words: list[str]) -> None:
    running = loadline.start(*words)
    assert running.poll() is None
    # Python and the core are up once the process has threads beside its first.
    while running.poll() is None and len(list(Path(f"/proc/{running.pid}/task").iterdir())) < 2:
        os.sched_yield()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130 and "Traceback" not in err


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_a_terminal(loadline: Loadline, columns: int) -> None:
    words = [PROGRAM, "forecast", "eva-v2-10k", "typical-12", "--profile", "oltp-db", "--profile", "os-paging"]
    ours, theirs = pty.openpty()
    done = subprocess.run(
        words,
        stdout=theirs,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**loadline.environment, "COLUMNS": str(columns), "TERM": "xterm"},
        cwd=loadline.folder,
        timeout=120,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        pass
    finally:
        os.close(ours)
    assert done.returncode == 0, done.stderr
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()
    assert any("oltp-db" in line for line in lines)
    assert max(map(len, lines)) <= columns


def test_piped_tables_are_as_wide_as_columns_says(loadline: Loadline) -> None:
    words = ["forecast", "eva-v2-10k", "typical-12", "--profile", "os-paging", "--set", "volume.layout=vraid1,vraid5"]
    wide, narrow = loadline(*words), loadline(*words, environment={"COLUMNS": "80"})
    assert max(map(len, wide.out.splitlines())) > 100
    assert max(map(len, narrow.out.splitlines())) <= 80
    assert sorted(set(re.findall(r"[\d.,]{3,}", wide.out))) == sorted(set(re.findall(r"[\d.,]{3,}", narrow.out)))
    assert loadline(*words, environment={"COLUMNS": "0"}).out == wide.out


def test_a_forecast_of_many_points_says_where_it_says_how_busy_components_are(loadline: Loadline) -> None:
    words = ["forecast", "hdd-7k2", "database-ramp"]
    few, many = (loadline(*words, "--set", f"pool.tags=1:{most}:1").out for most in (3, 25))
    assert "busy, %" in few and "how busy" not in few
    assert "busy, %" not in many and "how busy each component is" in many.splitlines()[-1]


def test_an_explained_point_without_a_load_line_says_why(loadline: Loadline) -> None:
    words = ["forecast", "hdd-7k2", "typical-12", "--profile", "oltp-db", "--limit", "1ms", "--explain"]
    assert loadline(*words).out.splitlines()[-2:] == [
        "oltp-db at the load line",
        "  not even the lowest load, 1, keeps mean<=1ms",
    ]


def test_a_long_sweep_says_on_a_terminal_how_long_it_is_before_it_begins(loadline: Loadline) -> None:
    words = [PROGRAM, "forecast", "hdd-7k2", "typical-12", "--profile", "oltp-db"]
    words += ["--set", "pool.tags=1:100:1", "--set", "volume.size=1GB:90GB:1GB"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=theirs, env=loadline.environment, cwd=loadline.folder
    ) as running:
        os.close(theirs)
        shown = b""
        while b"\n" not in shown:
            shown += os.read(ours, 65536)
        running.send_signal(signal.SIGINT)
        try:
            while os.read(ours, 65536):
                pass
        except OSError:
            os.close(ours)
        assert running.wait(timeout=60) == 130
    assert shown.startswith(b"9,000 points: 9,000 systems, each under 1 of typical-12")


@pytest.mark.parametrize("verb", ["simulate", "forecast"])
def test_what_a_model_wrote_as_csv_is_read_as_its_json(verb: str, tmp_path: Path, loadline: Loadline) -> None:
    files = tmp_path / "model.csv", tmp_path / "model.json"
    for file in files:
        loadline(verb, "hdd-7k2", "typical-12", *(QUICK if verb == "simulate" else QUICK[:2]), "-o", file)
    one, other = (loadline("audit", file, "--json").json for file in files)
    assert one["results"] and one["results"] == other["results"]
    for words in (["compare", *files], ["report", files[0], "-o", "page.html"], ["import", files[0]]):
        assert loadline(*words).code == 0, words
