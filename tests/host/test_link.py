"""What links carry, by the specifications' line codes."""

from __future__ import annotations

from typing import Any

import pytest

from loadline.host.link import ceiling_bytes_per_s


def sas(port: str, phys: int) -> list[dict[str, Any]]:
    return [{"kind": "sas", "name": f"phy-{n}", "speed": "12.0 Gbit", "port": port} for n in range(phys)]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([{"kind": "sata", "name": "link1", "speed": "6.0 Gbps"}], 600e6),
        ([{"kind": "fc", "name": "host0", "speed": "8 Gbit"}], 800e6),
        ([{"kind": "pcie", "name": "a", "speed": "8.0 GT/s PCIe", "width": 4}], 8e9 * 4 * 128 / 130 / 8),
        ([{"kind": "pcie", "name": "a", "speed": "5.0 GT/s PCIe", "width": 8}], 4e9),
        # A dual-ported disk behind an expander with four lanes to the host: the disk's own port is the narrow one.
        (sas("port-0:0:3", 1) + sas("port-0:0", 4), 1.2e9),
        (sas("port-0:0", 4), 4.8e9),
        ([{"kind": "iscsi", "name": "iqn", "speed": None}], None),
        ([], None),
    ],
)
def test_the_narrowest_link_is_the_ceiling(links: list[dict[str, Any]], expected: float | None) -> None:
    assert ceiling_bytes_per_s(links) == pytest.approx(expected)
