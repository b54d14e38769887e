"""What a measurement ran on, captured and never typed. Start at `machine` and `device_facts`.

Everything is JSON types, and None where this machine doesn't tell. Tools are only asked questions that change
nothing. Left out on purpose: environment variables, the kernel's command line but for a few known parameters, and
serial numbers of the machine itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loadline.host.device import BlockDevice, device_of_name, identity
from loadline.host.roots import HERE, Roots, names, number, text
from loadline.host.tool import Run, run_tool

Facts = dict[str, Any]

_TOOL_TEXT_LIMIT = 200_000

_TELLING_PARAMETERS = (
    "mitigations",
    "spectre_v2",
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "iommu",
    "intel_iommu",
    "amd_iommu",
    "iommu.passthrough",
    "iommu.strict",
    "intel_pstate",
    "amd_pstate",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "idle",
    "pcie_aspm",
    "elevator",
    "nvme.poll_queues",
    "nvme_core.multipath",
    "scsi_mod.use_blk_mq",
    "transparent_hugepage",
    "numa_balancing",
)

_RAID_TOOLS: tuple[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]], ...] = (
    (
        ("storcli64", "storcli", "perccli64", "perccli"),
        (("/call", "show", "all", "nolog"), ("/call/vall", "show", "all", "nolog")),
    ),
    (
        ("ssacli", "hpssacli", "hpacucli"),
        (("ctrl", "all", "show", "config", "detail"),),
    ),
    (
        ("MegaCli64", "MegaCli", "megacli"),
        (("-AdpAllInfo", "-aALL", "-NoLog"), ("-LDInfo", "-Lall", "-aALL", "-NoLog")),
    ),
    (("arcconf",), (("getconfig", "1"),)),
)


def machine(roots: Roots = HERE, run: Run = run_tool) -> Facts:
    """Kernel, CPU, memory, mitigations, power settings and RAID tools' words about this machine."""
    dmi = roots.sys / "class/dmi/id"
    return {
        "hostname": text(roots.proc / "sys/kernel/hostname"),
        "kernel": text(roots.proc / "sys/kernel/osrelease"),
        "kernel_version": text(roots.proc / "sys/kernel/version"),
        "kernel_parameters": _kernel_parameters(roots),
        "product": {
            name: text(dmi / name)
            for name in (
                "sys_vendor",
                "product_name",
                "product_version",
                "board_name",
                "bios_version",
                "bios_date",
            )
        },
        "cpu": _cpu(roots),
        "memory_bytes": _memory_bytes(roots),
        "numa_nodes": text(roots.sys / "devices/system/node/online"),
        "transparent_hugepage": _chosen(text(roots.sys / "kernel/mm/transparent_hugepage/enabled")),
        "clocksource": text(roots.sys / "devices/system/clocksource/clocksource0/current_clocksource"),
        "load_average": text(roots.proc / "loadavg"),
        "io_uring_disabled": number(roots.proc / "sys/kernel/io_uring_disabled"),
        "aio_max_nr": number(roots.proc / "sys/fs/aio-max-nr"),
        "raid_tools": _raid_tools(run),
    }


def device_facts(device: BlockDevice, roots: Roots = HERE, run: Run = run_tool) -> Facts:
    """Everything known of a device, its links and its controller; of a map, also of the devices that it's made of."""
    disk = _disk_folder(device, roots)
    facts: Facts = {
        "name": device.name,
        "path": str(device.path),
        "identity": identity(device),
        "model": device.model,
        "vendor": device.vendor,
        "serial": device.serial,
        "wwid": device.wwid,
        "firmware": device.firmware,
        "size_bytes": device.size_bytes,
        "logical_block_bytes": device.logical_block_bytes,
        "physical_block_bytes": device.physical_block_bytes,
        "rotational": device.rotational,
        "read_only": device.read_only,
        "partition_of": device.whole,
        "queue": {
            "scheduler": device.scheduler,
            "nr_requests": device.nr_requests,
            "queue_depth": device.queue_depth,
            "write_cache": device.write_cache,
            "max_sectors_kib": number(disk / "queue/max_sectors_kb"),
            "read_ahead_kib": number(disk / "queue/read_ahead_kb"),
            "nomerges": number(disk / "queue/nomerges"),
            "rq_affinity": number(disk / "queue/rq_affinity"),
            "hardware_queues": len(names(disk / "mq")) or None,
            "wbt_latency_us": number(disk / "queue/wbt_lat_usec"),
            "io_poll": number(disk / "queue/io_poll"),
            "discard_granularity_bytes": number(disk / "queue/discard_granularity"),
            "zoned": text(disk / "queue/zoned"),
        },
        "raid_level": device.md_level or text(disk / "device/raid_level"),
        "map": _map(device, disk, run),
        "links": links(device, roots),
        "controller": _controller(disk, roots),
        "members": [
            device_facts(slave, roots, run)
            for name in device.slaves
            if (slave := device_of_name(name, roots)) is not None
        ],
    }
    if device.loop is not None:
        facts["loop"] = {"file": device.loop.path, "direct_io": text(disk / "loop/dio") == "1"}
    return facts


def health(device: BlockDevice, roots: Roots = HERE, run: Run = run_tool) -> Facts:
    """Temperature, wear and age, to be taken before and after a run; of a map, of each disk in it.

    From SMART (`smartctl -a`, which may wake a sleeping disk), or the temperature alone from hwmon.
    Wear is the share of the rated life that is used up: 100 is the rated end, more is possible.
    """
    disk = _disk_folder(device, roots)
    members = {
        name: health(slave, roots, run) for name in device.slaves if (slave := device_of_name(name, roots)) is not None
    }
    node = device.path if device.whole is None else roots.dev / device.whole.replace("!", "/")
    smart = None
    if not device.slaves and device.loop is None:
        said = run(["smartctl", "-j", "-a", str(node)])
        smart = parse_smart(said.stdout) if said is not None else None
    facts = smart or {
        "source": None,
        "temperature_celsius": None,
        "wear_percent": None,
        "power_on_hours": None,
        "passed": None,
        "written_bytes": None,
    }
    if facts["temperature_celsius"] is None:
        facts["temperature_celsius"] = _hwmon_celsius(disk)
        if smart is None and facts["temperature_celsius"] is not None:
            facts["source"] = "hwmon"
    if members:
        facts["members"] = members
    return facts


def parse_smart(answer: str) -> Facts | None:
    """The health in smartctl's JSON (ATA, SCSI and NVMe); None when the device gave none.

    Source: smartctl's JSON output of smartmontools 7; NVM Express 1.4, 5.14.1.2 (a data unit is 512,000 bytes).
    """
    try:
        said = json.loads(answer)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    nvme = _at(said, "nvme_smart_health_information_log")
    wear = _at(nvme, "percentage_used")
    if wear is None:
        wear = _at(said, "scsi_percentage_used_endurance_indicator")
    if wear is None:
        wear = _ata_wear(said)
    units = _at(nvme, "data_units_written")
    facts: Facts = {
        "source": f"smartctl {'.'.join(map(str, _list(_at(said, 'smartctl', 'version')))) or '?'}",
        "temperature_celsius": _at(said, "temperature", "current"),
        "wear_percent": wear,
        "power_on_hours": _at(said, "power_on_time", "hours"),
        "passed": _at(said, "smart_status", "passed"),
        "written_bytes": units * 512_000 if isinstance(units, int) else None,
    }
    return None if all(value is None for key, value in facts.items() if key != "source") else facts


def _at(tree: object, *keys: str) -> Any:
    for key in keys:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _ata_wear(said: Facts) -> int | None:
    """Makers count a normalised value down from 100 under one of these attributes."""
    table = _list(_at(said, "ata_smart_attributes", "table"))
    for attribute in (231, 233, 177, 202, 173):
        for row in table:
            value = _at(row, "value")
            if _at(row, "id") == attribute and isinstance(value, int):
                return 100 - min(100, value)
    return None


# The machine


def _chosen(line: str | None) -> str | None:
    found = re.search(r"\[(.+?)\]", line or "")
    return found[1] if found else line


def _kernel_parameters(roots: Roots) -> list[str]:
    words = (text(roots.proc / "cmdline") or "").split()
    return [word for word in words if word.partition("=")[0] in _TELLING_PARAMETERS]


def _memory_bytes(roots: Roots) -> int | None:
    found = re.search(r"^MemTotal:\s+(\d+) kB", text(roots.proc / "meminfo") or "", re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _cpu(roots: Roots) -> Facts:
    folder = roots.sys / "devices/system/cpu"
    blocks = (text(roots.proc / "cpuinfo") or "").split("\n\n")
    threads = [_fields(block) for block in blocks if block.startswith("processor")]
    first = threads[0] if threads else {}
    sockets = {thread.get("physical id") for thread in threads} - {None}
    cores = {(thread.get("physical id"), thread.get("core id")) for thread in threads} - {(None, None)}
    cpus = [name for name in names(folder) if re.fullmatch(r"cpu\d+", name)]
    governors = {text(folder / cpu / "cpufreq/scaling_governor") for cpu in cpus} - {None}
    return {
        "model": first.get("model name") or first.get("cpu") or first.get("Model"),
        "microcode": first.get("microcode"),
        "sockets": len(sockets) or None,
        "cores": len(cores) or None,
        "threads": len(threads) or len(cpus) or None,
        "online": text(folder / "online"),
        "smt": text(folder / "smt/control"),
        "virtual": "hypervisor" in first.get("flags", "").split() if first.get("flags") else None,
        "governors": sorted(str(governor) for governor in governors) or None,
        "frequency_driver": text(folder / "cpu0/cpufreq/scaling_driver"),
        "frequency_max_khz": number(folder / "cpu0/cpufreq/scaling_max_freq"),
        "turbo": _turbo(folder),
        "idle_driver": text(folder / "cpuidle/current_driver"),
        "mitigations": {name: text(folder / "vulnerabilities" / name) for name in names(folder / "vulnerabilities")},
    }


def _turbo(folder: Path) -> bool | None:
    """Whether clocks above the nominal one are allowed: intel_pstate says it turned round."""
    off = number(folder / "intel_pstate/no_turbo")
    boost = number(folder / "cpufreq/boost")
    known = boost if off is None else 1 - off
    return None if known is None else known == 1


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _raid_tools(run: Run) -> Facts:
    """Each installed RAID tool's own description of controllers and volumes, as text."""
    found: Facts = {}
    for aliases, questions in _RAID_TOOLS:
        for tool in aliases:
            answers = _answers(tool, questions, run)
            if answers is not None:
                found[tool] = answers
                break  # The others are the same program under older names.
    return found


def _answers(tool: str, questions: Sequence[Sequence[str]], run: Run) -> Facts | None:
    answers: Facts = {}
    for question in questions:
        said = run([tool, *question])
        if said is None:
            return None
        answers[" ".join([tool, *question])] = {
            "exit_code": said.code,
            "text": (said.stdout or said.stderr)[:_TOOL_TEXT_LIMIT],
        }
    return answers


# The device


def _disk_folder(device: BlockDevice, roots: Roots) -> Path:
    return Path(os.path.realpath(roots.sys / "class/block" / (device.whole or device.name)))


def _map(device: BlockDevice, disk: Path, run: Run) -> Facts | None:
    """What the tools of a device mapper or md device, or of a ZFS volume, say about it."""
    node = str(device.path)
    questions: list[tuple[str, ...]] = []
    if device.dm_name:
        # Without --showkeys dmsetup leaves the keys of dm-crypt out.
        questions.append(("dmsetup", "table", device.dm_name))
        if (device.dm_uuid or "").startswith("mpath-"):
            questions.append(("multipath", "-ll", device.dm_name))
    if device.md_level:
        questions.append(("mdadm", "--detail", node))
    if re.match(r"zd\d+", device.name):
        questions.append(("zpool", "status", "-P"))
    if not questions:
        return None
    facts: Facts = {"dm_name": device.dm_name, "dm_uuid": device.dm_uuid, "md_level": device.md_level}
    facts["md_chunk_bytes"] = number(disk / "md/chunk_size")
    for tool, *question in questions:
        facts |= _answers(tool, [question], run) or {}
    return facts


def _homes(disk: Path) -> list[Path]:
    """Where a disk hangs in the tree of hardware; several for the head of an NVMe with several controllers."""
    if "nvme-subsystem" in disk.parts:
        links = [disk.parent / name for name in names(disk.parent) if re.fullmatch(r"nvme\d+", name)]
        return [Path(os.path.realpath(link)) for link in links]
    return [disk]


def _upwards(folder: Path) -> Iterator[Path]:
    """The folder and its parents, as far as they are devices."""
    for place in (folder, *folder.parents):
        if place.name == "devices":
            return
        yield place


def _pci_of(home: Path) -> Path | None:
    return next(
        (place for place in _upwards(home) if (place / "class").is_file() and (place / "vendor").is_file()), None
    )


def links(device: BlockDevice, roots: Roots = HERE) -> list[Facts]:
    """The links between the device and the host that sysfs knows, from the disk upwards."""
    disk = _disk_folder(device, roots)
    found: list[Facts] = []
    for home in _homes(disk):
        for place in _upwards(home):
            found += _links_at(place)
        pci = _pci_of(home)
        if pci is not None and (speed := text(pci / "current_link_speed")):
            found.append(
                {
                    "kind": "pcie",
                    "name": pci.name,
                    "speed": speed,
                    "width": number(pci / "current_link_width"),
                    "speed_max": text(pci / "max_link_speed"),
                    "width_max": number(pci / "max_link_width"),
                }
            )
    return found


def _links_at(place: Path) -> list[Facts]:
    found: list[Facts] = []
    if place.name.startswith("port-"):
        for phy in names(place):
            rate = text(place / phy / "sas_phy" / phy / "negotiated_linkrate")
            if rate:
                found.append({"kind": "sas", "name": phy, "speed": rate, "port": place.name})
    if re.fullmatch(r"ata\d+", place.name):
        for link in names(place):
            speed = text(place / link / "ata_link" / link / "sata_spd")
            if speed:
                found.append({"kind": "sata", "name": link, "speed": speed})
    speed = text(place / "fc_host" / place.name / "speed")
    if speed:
        found.append({"kind": "fc", "name": place.name, "speed": speed})
    if re.fullmatch(r"session\d+", place.name):
        session = place / "iscsi_session" / place.name
        found.append({"kind": "iscsi", "name": text(session / "targetname") or place.name, "speed": None})
    if re.fullmatch(r"nvme\d+", place.name) and (transport := text(place / "transport")):
        found.append({"kind": f"nvme-{transport}", "name": place.name, "speed": None})
    return found


def _controller(disk: Path, roots: Roots) -> Facts | None:
    """The PCI function that a disk hangs on; of several, the first one's facts and the number of them."""
    functions = [pci for home in _homes(disk) if (pci := _pci_of(home)) is not None]
    if not functions:
        return None
    pci = functions[0]
    driver = pci / "driver"
    return {
        "address": pci.name,
        "vendor": text(pci / "vendor"),
        "device": text(pci / "device"),
        "subsystem_vendor": text(pci / "subsystem_vendor"),
        "subsystem_device": text(pci / "subsystem_device"),
        "revision": text(pci / "revision"),
        "class": text(pci / "class"),
        "driver": Path(os.path.realpath(driver)).name if driver.exists() else None,
        "numa_node": _numa_node(pci),
        "irqs": _irqs(pci, roots),
        "functions": len(functions),
    }


def _numa_node(pci: Path) -> int | None:
    node = number(pci / "numa_node")
    return None if node is None or node < 0 else node


def _irqs(pci: Path, roots: Roots) -> Facts:
    """CPUs that serve each interrupt of a PCI function: the effective list where the kernel has it."""
    irqs = names(pci / "msi_irqs") or tuple(filter(None, [text(pci / "irq")]))
    found: Facts = {}
    for irq in sorted(irqs, key=lambda name: (len(name), name)):
        folder = roots.proc / "irq" / irq
        found[irq] = text(folder / "effective_affinity_list") or text(folder / "smp_affinity_list")
    return found


def _hwmon_celsius(disk: Path) -> float | None:
    for place in (disk / "device", disk.parent):
        for folder in (place / "hwmon", place):
            for name in names(folder):
                value = number(folder / name / "temp1_input") if name.startswith("hwmon") else None
                if value is not None:
                    return value / 1000
    return None
