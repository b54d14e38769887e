"""The verbs that show described systems and drives, and what they say of files that describe none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli.program import Loadline

DRIVES = Path(__file__).parents[2] / "python/loadline/catalog/drives"


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
    refused = loadline("drives", "--from", "odd.model", "-o", "odd.model")
    assert refused.code == 2 and "odd.model would be overwritten" in refused.err
    assert (loadline.folder / "odd.model").read_text() == PARAMETERS
    (loadline.folder / "loop.model").write_text("source loop.model\n")
    assert loadline("drives", "--from", "loop.model").code == 2
    (loadline.folder / "cut.model").write_text("dm_disk cut { Block count = 1,")
    said = loadline("drives", "--from", "cut.model")
    assert said.err.splitlines()[0] == "loadline: cut.model:1: the block dm_disk cut is never closed"
    assert "Give a DiskSim parameter file" in said.err
    assert "parameter files" not in loadline("drives", "--from", "missing.model").err


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
    (loadline.folder / "office").mkdir()
    (loadline.folder / "nas.toml").rename(loadline.folder / "office" / "office.toml")
    assert loadline("systems", "office").err.endswith("Did you mean the file 'office/office.toml'?\n")


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


def test_a_list_of_stations_is_no_setting(loadline: Loadline) -> None:
    said = loadline("systems", "eva-v2-10k")
    (settable,) = [line for line in said.out.splitlines() if "can be --set" in line]
    assert "pool.rebuild_rate" in settable
    assert "station" not in settable
