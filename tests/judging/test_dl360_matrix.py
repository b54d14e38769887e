"""A part of the field report's test matrix on DL360 servers, simulated and compared: what matters, as it concludes."""

from __future__ import annotations

import math
from statistics import fmean

import pytest

from loadline.judging.compare import Comparison, compare
from loadline.judging.effects import Contrast, effects_of, trials_of
from loadline.system.simulate import simulate
from loadline.workload.plan import Options
from loadline.workload.suite import load_suite

SETTINGS = (
    "volume.layout=raid5,raid10",
    "pool.drive=savvio-10k3-300,savvio-15k2-146",
    "cache.mode=write-back,off",
    "backend.link=sas-3g,sas-6g",
)
BY = tuple(setting.partition("=")[0] for setting in SETTINGS)
PROFILES = ("oltp-db", "workstation", "media-streaming")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    options = Options(as_published=True, only=PROFILES)
    return compare(
        simulate("dl360-g6-p410i", load_suite("typical-12")[0], settings=SETTINGS, options=options, ios=400), by=BY
    )


def contrast(comparison: Comparison, figure: str, factor: str, access: str | None = None) -> Contrast:
    found = effects_of(trials_of(comparison, figure), comparison.by, figure)
    effects = next(one for one in found if one.access == access)
    widest = next(effect for effect in effects.effects if effect.factor == factor).widest
    assert widest is not None
    return widest


def test_rotation_speed_matters_on_random_access(comparison: Comparison) -> None:
    speed = contrast(comparison, "iops", "pool.drive", "random")
    assert (speed.level, speed.over) == ("savvio-15k2-146", "savvio-10k3-300")
    assert speed.ratio.value > 1.1
    assert speed.sure


def test_3g_against_6g_links_hardly_matters(comparison: Comparison) -> None:
    link = contrast(comparison, "iops", "backend.link")
    assert link.ratio.value < 1.02
    assert link.most is not None and link.most.ratio < 1.1


def test_the_cache_takes_orders_of_magnitude_off_the_response_of_writes(comparison: Comparison) -> None:
    cache = contrast(comparison, "write_latency_mean_ns", "cache.mode", "random")
    assert (cache.level, cache.over) == ("off", "write-back")
    assert cache.ratio.value > 10


def test_of_a_complete_matrix_an_effect_is_the_geometric_mean_of_its_pairs(comparison: Comparison) -> None:
    speed = contrast(comparison, "iops", "pool.drive")
    logs = []
    for match in comparison.matches:
        rates = {
            tuple(row.tags[name] for name in BY): row.total.iops or 0.0 for rows in match.rows.values() for row in rows
        }
        for levels, rate in rates.items():
            if levels[1] == speed.level:
                logs.append(math.log(rate / rates[(levels[0], speed.over, *levels[2:])]))
    assert len(logs) == speed.pairs == 24
    assert speed.ratio.value == pytest.approx(math.exp(fmean(logs)))
