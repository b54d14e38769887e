"""What is captured of machines and devices, from recorded trees and answers of tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from trees import recorded

from loadline.host.device import device_of_name
from loadline.host.provenance import device_facts, health, machine, parse_smart
from loadline.host.roots import Roots
from loadline.host.tool import ToolOutput

CPUINFO = "\n\n".join(
    f"processor\t: {thread}\nmodel name\t: Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz\nmicrocode\t: 0x71a\n"
    f"physical id\t: {thread // 4}\ncore id\t\t: {thread // 2 % 2}\nflags\t\t: fpu vme"
    for thread in range(8)
)


def silent(command: Sequence[str]) -> ToolOutput | None:
    return None


def facts(tree: str, name: str, folder: Path) -> dict[str, Any]:
    roots = recorded(tree, folder)
    device = device_of_name(name, roots)
    assert device is not None
    found = device_facts(device, roots, silent)
    assert json.loads(json.dumps(found)) == found
    return found


def test_a_fibre_channel_lun_has_its_links_controller_and_interrupts(tmp_path: Path) -> None:
    found = facts("san", "sdf", tmp_path)
    assert found["serial"] == "PA10000000003"
    assert found["links"] == [
        {"kind": "fc", "name": "host0", "speed": "8 Gbit"},
        {
            "kind": "pcie",
            "name": "0000:04:00.0",
            "speed": "5.0 GT/s PCIe",
            "width": 8,
            "speed_max": "5.0 GT/s PCIe",
            "width_max": 8,
        },
    ]
    assert found["controller"] == {
        "address": "0000:04:00.0",
        "vendor": "0x1077",
        "device": "0x2532",
        "subsystem_vendor": "0x103c",
        "subsystem_device": "0x3263",
        "revision": "0x02",
        "class": "0x0c0400",
        "driver": "qla2xxx",
        "numa_node": 1,
        "irqs": {"64": "8"},
        "functions": 1,
    }
    assert found["queue"]["queue_depth"] == 32
    assert found["queue"]["write_cache"] == "write back"


def test_a_map_tells_what_it_is_made_of(tmp_path: Path) -> None:
    roots = recorded("san", tmp_path)
    device = device_of_name("dm-0", roots)
    assert device is not None
    asked: list[list[str]] = []

    def run(command: Sequence[str]) -> ToolOutput | None:
        asked.append(list(command))
        return ToolOutput(0, "0 209715200 multipath") if command[0] == "dmsetup" else None

    found = device_facts(device, roots, run)
    assert [member["name"] for member in found["members"]] == ["sda", "sdb"]
    assert {member["links"][0]["name"] for member in found["members"]} == {"host0", "host1"}
    assert found["map"]["dmsetup table mpatha"] == {"exit_code": 0, "text": "0 209715200 multipath"}
    assert asked == [["dmsetup", "table", "mpatha"], ["multipath", "-ll", "mpatha"]]


def test_sas_and_sata_links_have_their_negotiated_speed(tmp_path: Path) -> None:
    found = facts("server", "md0", tmp_path)
    sas, sata = found["members"]
    assert sas["links"][0] == {"kind": "sas", "name": "phy-0:0", "speed": "12.0 Gbit", "port": "port-0:0"}
    assert sas["controller"]["device"] == "0x0097"
    assert sata["links"] == [{"kind": "sata", "name": "link1", "speed": "6.0 Gbps"}]
    assert found["raid_level"] == "raid1"
    assert found["controller"] is None


def test_a_raid_controllers_volume_has_its_level_and_controller(tmp_path: Path) -> None:
    found = facts("server", "cciss!c0d0p1", tmp_path)
    assert found["raid_level"] == "RAID 1(1+0)"
    assert found["partition_of"] == "cciss!c0d0"
    assert found["controller"]["subsystem_device"] == "0x3234"
    assert found["controller"]["irqs"] == {"24": "0-3"}
    assert found["controller"]["numa_node"] is None


def test_an_nvme_with_two_controllers_has_both_links(tmp_path: Path) -> None:
    found = facts("server", "nvme0n1", tmp_path)
    assert (found["model"], found["firmware"]) == ("SAMSUNG MZWLL800HEHP-00003", "GPNA9B3Q")
    assert [(link["kind"], link["name"]) for link in found["links"]] == [
        ("nvme-pcie", "nvme0"),
        ("pcie", "0000:81:00.0"),
        ("nvme-pcie", "nvme1"),
        ("pcie", "0000:82:00.0"),
    ]
    assert found["controller"]["functions"] == 2
    assert found["controller"]["numa_node"] == 1


def test_a_recorded_nvme_of_an_old_kernel_has_what_it_told(tmp_path: Path) -> None:
    found = facts("lvm", "nvme0n1", tmp_path)
    assert found["links"] == [{"kind": "nvme-pcie", "name": "nvme0", "speed": None}]
    assert found["controller"] is None
    assert found["queue"]["nr_requests"] == 1023


def test_a_loop_device_names_its_file(tmp_path: Path) -> None:
    assert facts("lvm", "loop0", tmp_path)["loop"] == {"file": "/tmp/foo.4059-0.img", "direct_io": False}


@pytest.fixture
def server(tmp_path: Path) -> Roots:
    files = {
        "proc/cpuinfo": CPUINFO,
        "proc/meminfo": "MemTotal:       25276502 kB\nMemFree: 1 kB\n",
        "proc/cmdline": "root=/dev/sda rd.iscsi.password=secret mitigations=off intel_pstate=disable quiet\n",
        "proc/sys/kernel/osrelease": "6.1.0\n",
        "sys/devices/system/cpu/vulnerabilities/meltdown": "Mitigation: PTI\n",
        "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "sys/class/dmi/id/product_name": "ProLiant DL360p Gen8\n",
        "sys/class/dmi/id/product_serial": "SECRET\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return Roots(tmp_path / "sys", tmp_path / "proc", tmp_path / "dev")


def test_a_machine_is_described_without_its_secrets(server: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "SECRET")
    found = machine(server, silent)
    cpu = found["cpu"]
    assert (cpu["sockets"], cpu["cores"], cpu["threads"]) == (2, 4, 8)
    assert cpu["model"] == "Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz"
    assert cpu["governors"] == ["performance", "powersave"]
    assert cpu["mitigations"] == {"meltdown": "Mitigation: PTI"}
    assert (cpu["turbo"], cpu["virtual"]) == (False, False)
    assert found["memory_bytes"] == 25276502 * 1024
    assert found["kernel_parameters"] == ["mitigations=off", "intel_pstate=disable"]
    assert found["product"]["product_name"] == "ProLiant DL360p Gen8"
    assert found["transparent_hugepage"] == "madvise"
    assert "secret" not in json.dumps(found).lower()


def test_an_empty_machine_has_nothing_but_none(tmp_path: Path) -> None:
    found = machine(Roots(tmp_path, tmp_path, tmp_path), silent)
    assert found["memory_bytes"] is None
    assert found["cpu"]["threads"] is None
    assert found["cpu"]["virtual"] is None
    assert found["raid_tools"] == {}


def test_each_raid_tool_is_asked_once_under_the_name_that_is_installed(server: Roots) -> None:
    asked: list[list[str]] = []

    def run(command: Sequence[str]) -> ToolOutput | None:
        asked.append(list(command))
        return ToolOutput(0, "Smart Array P420i") if command[0] in ("hpssacli", "hpacucli") else None

    found = machine(server, run)["raid_tools"]
    question = "hpssacli ctrl all show config detail"
    assert found == {"hpssacli": {question: {"exit_code": 0, "text": "Smart Array P420i"}}}
    assert "hpacucli" not in [command[0] for command in asked]


NVME_SMART = {
    "smartctl": {"version": [7, 3]},
    "smart_status": {"passed": True},
    "temperature": {"current": 38},
    "power_on_time": {"hours": 12345},
    "nvme_smart_health_information_log": {"percentage_used": 3, "data_units_written": 1000},
}
ATA_SMART = {
    "smartctl": {"version": [7, 3]},
    "temperature": {"current": 30},
    "ata_smart_attributes": {"table": [{"id": 9, "value": 97}, {"id": 233, "value": 92}]},
}
SCSI_SMART = {"smartctl": {"version": [7, 3]}, "scsi_percentage_used_endurance_indicator": 0}


@pytest.mark.parametrize(
    ("said", "celsius", "wear", "hours", "written"),
    [
        (NVME_SMART, 38, 3, 12345, 512_000_000),
        (ATA_SMART, 30, 8, None, None),
        (SCSI_SMART, None, 0, None, None),
    ],
    ids=["nvme", "ata", "scsi"],
)
def test_smart_is_read_for_every_kind_of_drive(
    said: dict[str, Any], celsius: int | None, wear: int | None, hours: int | None, written: int | None
) -> None:
    found = parse_smart(json.dumps(said))
    assert found is not None
    assert found["source"] == "smartctl 7.3"
    assert (found["temperature_celsius"], found["wear_percent"]) == (celsius, wear)
    assert (found["power_on_hours"], found["written_bytes"]) == (hours, written)


@pytest.mark.parametrize(
    "answer", ["", "no json", "[]", "null", '{"smartctl": {"version": [7, 3]}}', '{"temperature": 5}']
)
def test_no_smart_is_none(answer: str) -> None:
    assert parse_smart(answer) is None


def test_health_comes_from_smart_or_from_hwmon(tmp_path: Path) -> None:
    roots = recorded("server", tmp_path)
    sas, array = device_of_name("sda", roots), device_of_name("md0", roots)
    assert sas is not None
    assert array is not None

    def smart(command: Sequence[str]) -> ToolOutput | None:
        assert command[:3] == ["smartctl", "-j", "-a"]
        return ToolOutput(4, json.dumps(NVME_SMART))

    assert health(sas, roots, smart)["temperature_celsius"] == 38
    without = health(sas, roots, silent)
    assert (without["temperature_celsius"], without["source"], without["wear_percent"]) == (31, "hwmon", None)
    assert health(array, roots, smart)["members"].keys() == {"sda", "sdb"}


def test_this_machine_can_be_described() -> None:
    found = machine()
    assert found["kernel"]
    assert json.loads(json.dumps(found)) == found
