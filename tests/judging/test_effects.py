"""Effects of settings over a test matrix: of matrices whose true ratios are known."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import product

import pytest

from loadline.judging.effects import WORKLOAD, Contrast, Effects, Trial, effects_of
from loadline.judging.interval import EXACT, Error

FACTORS = ("server", "raid", "cache")
LEVELS = (("g6", "g7", "g8"), ("raid5", "raid10"), ("off", "on"))
TRUE = {"g6": 1.0, "g7": 1.0, "g8": 1.1, "raid5": 1.0, "raid10": 1.25, "off": 1.0, "on": 1.4}
WORKLOADS = {"oltp": ("random", 300.0), "mail": ("random", 900.0), "log": ("sequential", 40_000.0)}


def value(block: str, levels: Sequence[str], true: Mapping[str, float] = TRUE) -> float:
    return WORKLOADS[block][1] * math.prod(true[level] for level in levels)


def matrix(
    *,
    noise: float = 0.0,
    times: int = 1,
    seed: int = 1,
    error: Error | None = EXACT,
    true: Mapping[str, float] = TRUE,
) -> list[Trial]:
    chance = random.Random(seed)
    return [
        Trial(block, levels, value(block, levels, true) * math.exp(chance.gauss(0, noise)), error, WORKLOADS[block][0])
        for block in WORKLOADS
        for levels in product(*LEVELS)
        for _ in range(times)
    ]


def contrast(effects: Effects, factor: str, level: str, over: str) -> float:
    found = one(effects, factor, level, over)
    return found.ratio.value if found.level == level else 1 / found.ratio.value


def one(effects: Effects, factor: str, level: str, over: str) -> Contrast:
    effect = next(effect for effect in effects.effects if effect.factor == factor)
    return next(one for one in effect.contrasts if {one.level, one.over} == {level, over})


def test_a_complete_matrix_gives_its_true_ratios_and_the_factor_that_matters_most_first() -> None:
    whole, *classes = effects_of(matrix(), FACTORS, "iops")
    assert [effect.factor for effect in whole.effects] == ["cache", "raid", "server"]
    assert contrast(whole, "cache", "on", "off") == pytest.approx(1.4)
    assert contrast(whole, "server", "g8", "g6") == pytest.approx(1.1)
    assert contrast(whole, "server", "g7", "g6") == pytest.approx(1.0)
    assert [effects.access for effects in classes] == ["random", "sequential"]
    assert sum(effect.share_fraction for effect in whole.effects) == pytest.approx(1.0)
    assert (whole.missing, whole.interactions) == ((), ())


def test_missing_cells_are_named_and_bridged() -> None:
    # Without the fast corner, plain means of what is left would make the cache worth less than it is.
    left = [trial for trial in matrix() if trial.levels[1:] != ("raid10", "on") or trial.levels[0] == "g6"]
    whole = effects_of(left, FACTORS, "iops")[0]
    assert contrast(whole, "cache", "on", "off") == pytest.approx(1.4)
    assert contrast(whole, "raid", "raid10", "raid5") == pytest.approx(1.25)
    assert len(whole.missing) == 6
    assert ("oltp", "g7", "raid10", "on") in whole.missing


def test_links_and_speeds_are_told_apart_though_one_pairing_was_never_built() -> None:
    true = {"3g": 1.0, "6g": 1.02, "10k": 1.0, "15k": 1.4}
    built = (("3g", "10k"), ("6g", "10k"), ("6g", "15k"))
    trials = [Trial(block, levels, value(block, levels, true), Error(0.0)) for block in WORKLOADS for levels in built]
    whole = effects_of(trials, ("link", "speed"), "iops")[0]
    assert contrast(whole, "link", "6g", "3g") == pytest.approx(1.02)
    assert contrast(whole, "speed", "15k", "10k") == pytest.approx(1.4)


def test_factors_that_were_always_changed_together_are_not_told_apart() -> None:
    trials = [
        Trial(block, (cache, disks, raid), 100.0, Error(0.0))
        for block in WORKLOADS
        for (cache, disks), raid in product((("off", "4"), ("on", "8")), ("raid5", "raid10"))
    ]
    whole = effects_of(trials, ("cache", "disks", "raid"), "iops")[0]
    together = {effect.factor: effect.together for effect in whole.effects}
    assert together == {"cache": ("disks",), "disks": ("cache",), "raid": ()}


def test_what_never_varies_within_a_workload_has_no_effect() -> None:
    trials = [Trial("oltp", ("a", "x"), 1.0), Trial("log", ("b", "x"), 2.0)]
    lacks = {effect.factor: effect.lacks for effect in effects_of(trials, ("system", "raid"), "iops")[0].effects}
    assert lacks == {"system": "no workload was run at two of its levels", "raid": "all rows have x"}


def test_an_effect_that_depends_on_the_workload_or_on_another_factor_is_said_with_its_levels() -> None:
    def of(trial: Trial) -> Trial:
        more = 1.5 if trial.levels[1:] == ("raid5", "on") else 1.0
        more *= 3.0 if trial.block == "log" and trial.levels[2] == "on" else 1.0
        return Trial(trial.block, trial.levels, trial.value * more, trial.error, trial.access)

    whole = effects_of([of(trial) for trial in matrix()], FACTORS, "iops")[0]
    found = {(one.factor, one.on): one for one in whole.interactions}
    of_log = found["cache", WORKLOAD]
    assert of_log.at["log"] / of_log.at["oltp"] == pytest.approx(3.0)
    # Of two factors it's said of the one that matters less.
    assert found["raid", "cache"].at["off"] / found["raid", "cache"].at["on"] == pytest.approx(1.5)
    assert set(found) == {("cache", WORKLOAD), ("raid", "cache")}


def test_a_factor_that_dominates_hides_no_dependence_of_a_small_one() -> None:
    true = {**TRUE, "on": 300.0, "g8": 1.0}

    def of(trial: Trial) -> Trial:
        more = 1.6 if trial.levels[1:] == ("raid10", "off") else 1.0
        # The giant's own effect differs by little for its size.
        more *= 1.2 if trial.block == "log" and trial.levels[2] == "on" else 1.0
        return Trial(trial.block, trial.levels, trial.value * more, trial.error, trial.access)

    whole = effects_of([of(trial) for trial in matrix(true=true)], FACTORS, "iops")[0]
    assert [(one.factor, one.on) for one in whole.interactions] == [("raid", "cache")]
    assert whole.interactions[0].share_fraction < 0.01
    assert whole.interactions[0].at == pytest.approx({"off": 2.0, "on": 1.25})


def test_what_depends_on_a_tag_is_not_said_to_depend_on_the_workload() -> None:
    def of(trial: Trial, drives: str) -> Trial:
        more = 1.3 if drives == "84" and trial.levels[1] == "raid10" else 1.0
        place = {WORKLOAD: trial.block, "drives": drives}
        return Trial(f"{trial.block}, {drives}", trial.levels, trial.value * more, trial.error, trial.access, place)

    trials = [of(trial, drives) for trial in matrix() for drives in ("84", "168")]
    whole = effects_of(trials, FACTORS, "iops")[0]
    assert [(one.factor, one.on) for one in whole.interactions] == [("raid", "drives")]
    assert whole.interactions[0].at == pytest.approx({"84": 1.625, "168": 1.25})


def test_the_extremes_of_an_effect_are_named_with_where_they_are() -> None:
    trials = matrix()
    odd = trials[0]
    trials[0] = Trial(odd.block, odd.levels, odd.value / 2, odd.error, odd.access)
    found = one(effects_of(trials, FACTORS, "iops")[0], "cache", "on", "off")
    assert found.pairs == 18
    assert found.most is not None and (found.most.ratio, found.most.block) == (pytest.approx(2.8), "oltp")
    assert found.most.others == {"server": "g6", "raid": "raid5"}
    assert found.least is not None and found.least.ratio == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("times", "error"),
    [(1, Error(0.05)), (2, None), (3, Error(0.001)), (1, None)],
    ids=["rows know", "repetitions", "repetitions lie further apart than rows know", "neither"],
)
def test_intervals_cover_the_truth_in_95_of_100_matrices(times: int, error: Error | None) -> None:
    matrices = 200
    covered = asked = 0
    for seed in range(matrices):
        whole = effects_of(matrix(noise=0.05, times=times, seed=seed, error=error), FACTORS, "iops", by_class=False)[0]
        for factor, level, over in (("server", "g8", "g7"), ("raid", "raid10", "raid5"), ("cache", "on", "off")):
            found = one(whole, factor, level, over).ratio
            assert found.low is not None and found.high is not None
            true = TRUE[level] / TRUE[over] if found.value > 1 else TRUE[over] / TRUE[level]
            covered += found.low <= true <= found.high
            asked += 1
    assert 0.93 <= covered / asked <= 0.97


def test_at_no_difference_hardly_a_matrix_in_twenty_finds_one() -> None:
    none = dict.fromkeys(TRUE, 1.0)
    wrong = 0
    for seed in range(200):
        whole = effects_of(
            matrix(noise=0.05, times=2, seed=seed, error=None, true=none), FACTORS, "iops", by_class=False
        )[0]
        chances = [one.chance for effect in whole.effects for one in effect.contrasts]
        wrong += any(chance is not None and chance < 0.05 for chance in chances)
    # 10 are 5 %; more than 17 chance makes of 10 once in a hundred times.
    assert wrong <= 17


def test_with_nothing_to_tell_errors_from_no_interval_is_made_up() -> None:
    trials = [Trial("oltp", (level,), value, None) for level, value in (("a", 1.0), ("b", 2.0))]
    found = one(effects_of(trials, ("system",), "iops")[0], "system", "b", "a")
    assert (found.ratio.value, found.ratio.error, found.chance) == (2.0, None, None)
