"""How many probes do searches for load lines take, and how near do they come, on curves whose load line is known?

Made-up curves of many kinds, drawn at random; no system, so thousands take seconds. The figures of
`loadline.system.curve` and `search` were chosen over such curves of seeds below 1,000; `make bench` takes others.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Sequence

from compared import Compared, spread

from loadline.system.load_line import LoadLine, search_outstanding, search_rate

MOST = 4096
CURVES = 30
LIMITS = 4
ERRORS = (0.0, 0.005, 0.01, 0.02)
#: Such a share of probes stalls, the others are known to that; how many times as long these take, and what part of its
#: logarithm their standard error is.
STALLS, STALL_ERROR, STALLED, SHOWN = 0.1, 0.01, (1.5, 3.0), 0.3
#: A limit where response rises by less than this for a load twice as high says nothing of load.
RISING = 0.02


def queues(demands: Sequence[float], think: float = 0.0, pace: Callable[[int], float] = lambda _: 1.0) -> list[float]:
    """Responses of a closed network by mean value analysis, whose stations all work at `pace` with so many in it."""
    kinds = Counter(demands)
    waiting, responses = dict.fromkeys(kinds, 0.0), [0.0]
    for load in range(1, MOST + 1):
        visits = {demand: demand * pace(load) * (1 + waiting[demand]) for demand in kinds}
        responses.append(sum(visits[demand] * number for demand, number in kinds.items()))
        waiting = {demand: load * visit / (responses[-1] + think) for demand, visit in visits.items()}
    return responses


def few(luck: random.Random) -> list[float]:
    return queues([luck.uniform(0.2, 1) for _ in range(luck.randint(1, 4))])


def many(luck: random.Random) -> list[float]:
    return queues([round(luck.uniform(0.2, 1), 1) for _ in range(luck.randint(5, 200))])


def balanced(luck: random.Random) -> list[float]:
    return queues([1.0] * luck.randint(2, 300))


def thinking(luck: random.Random) -> list[float]:
    return queues([luck.uniform(0.2, 1) for _ in range(luck.randint(1, 20))], luck.uniform(0, 20))


def servers(luck: random.Random) -> list[float]:
    """Up to 1,024 servers with one queue, from a soft bend at saturation to a sharp one."""
    number, sharp, delay = 2 ** luck.uniform(0, 10), luck.choice([1, 2, 3, 5, 10]), luck.choice([0, 0, 0.5, 3])
    return [0.0, *(delay + (1 + (load / number) ** sharp) ** (1 / sharp) for load in range(1, MOST + 1))]


def elevators(luck: random.Random) -> list[float]:
    """Disks that are faster the more they have to choose from."""
    least, soon, how, disks = luck.uniform(0.25, 0.9), luck.uniform(1, 50), luck.uniform(0.3, 1.2), luck.randint(1, 30)
    return queues([1.0] * disks, pace=lambda load: least + (1 - least) / (1 + load / disks / soon) ** how)


def thrashing(luck: random.Random) -> list[float]:
    """Stations that become slower with more to do."""
    begin, how = 10 ** luck.uniform(1.5, 3.5), luck.uniform(0.1, 0.7)
    return queues([1.0] * luck.randint(1, 20), luck.choice([0, 3]), lambda load: (1 + load / begin) ** how)


def filling(luck: random.Random) -> list[float]:
    """A smooth rise beside that of queues, as of a cache that gets too small."""
    base, place = queues([luck.uniform(0.3, 1) for _ in range(luck.randint(1, 30))]), 2 ** luck.uniform(1, 10)
    factor, width = 10 ** luck.uniform(0.2, 1.3), luck.uniform(0.15, 0.6)
    return [0.0, *(base[n] * factor ** (1 / (1 + (n / place) ** (-1 / width))) for n in range(1, MOST + 1))]


def corners(luck: random.Random) -> list[float]:
    """Two lines with a hyperbola between them, from round to sharp."""
    place, width = 2 ** luck.uniform(0, 10), 10 ** luck.uniform(-2, 0)
    return [0.0, *(0.5 * (1 + n / place + math.hypot(1 - n / place, 2 * width)) for n in range(1, MOST + 1))]


def tiers(luck: random.Random) -> list[float]:
    """A fast tier that is full soon, and behind it a slow one."""
    soon, rise, sharp = 2 ** luck.uniform(0, 6), 10 ** luck.uniform(0.2, 1.2), luck.choice([1, 2, 3])
    late = soon * 2 ** luck.uniform(1, 5)
    return [
        0.0,
        *(
            (1 + rise - rise / (1 + (n / soon) ** sharp)) * (1 + (n / late) ** sharp) ** (1 / sharp)
            for n in range(1, MOST + 1)
        ),
    ]


def powers(luck: random.Random) -> list[float]:
    least, power = luck.uniform(0, 5), luck.uniform(0.1, 1.8)
    return [0.0, *(least + n**power for n in range(1, MOST + 1))]


def wandering(luck: random.Random) -> list[float]:
    """No queue at all: how steep it is changes at each doubling, by up to a factor of 40."""
    slopes = [math.exp(luck.uniform(math.log(0.03), math.log(1.3))) for _ in range(14)]
    responses, height = [0.0, 1.0], 0.0
    for load in range(2, MOST + 1):
        doubling, rest = divmod(math.log2(load), 1)
        height += (slopes[int(doubling)] * (1 - rest) + slopes[int(doubling) + 1] * rest) / load
        responses.append(math.exp(height))
    return responses


CLOSED = (few, many, balanced, thinking, servers, elevators, thrashing, filling)
#: What the search was only tried on, but for its last figures.
OTHERS = (corners, tiers, powers, wandering)


def erlang(servers: int, utilisation: float) -> float:
    """The chance to wait, by Erlang's C."""
    blocked, offered = 1.0, servers * utilisation
    for number in range(1, servers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    return blocked / (1 - utilisation * (1 - blocked))


def opened(luck: random.Random) -> Callable[[float], float]:
    """Response over utilisation, in service times."""
    kind, vary, bend = luck.choice(["M/G/1", "M/M/c", "bent"]), luck.uniform(0.5, 2.5), luck.choice([0.5, 1, 2, 5])
    number = luck.randint(2, 168)
    if kind == "M/G/1":
        return lambda busy: 1 + vary * busy / (1 - busy)
    if kind == "M/M/c":
        return lambda busy: 1 + erlang(number, busy) / (number * (1 - busy))
    return lambda busy: 1 + vary / 2.5 * busy**bend / (1 - busy)


def compare(seed: int = 1000) -> list[Compared]:
    luck = random.Random(seed)
    curves = [kind(luck) for kind in CLOSED for _ in range(CURVES)]
    others = [kind(luck) for kind in OTHERS for _ in range(CURVES)]
    rows = [_closed("a load line", curves, error, luck) for error in ERRORS]
    rows += [_closed("one of other curves", others, error, luck) for error in ERRORS]
    rows.append(_cliffs(curves, luck))
    rows += [_rates(error, known, luck) for known in (True, False) for error in ERRORS]
    return [*rows, _rates(STALL_ERROR, True, luck, STALLS)]


def _closed(what: str, curves: Sequence[Sequence[float]], error: float, luck: random.Random) -> Compared:
    probes, right = [], 0
    for curve in curves:
        for _ in range(LIMITS):
            last = int(2 ** luck.uniform(0, 10))
            limit = luck.uniform(curve[last], curve[last + 1])
            if last * math.log(curve[last + 1] / curve[last]) < RISING:
                continue
            number, found = _count(curve.__getitem__, limit, error, luck)
            probes.append(number)
            right += found == last
    return _row(f"probes of {what}, answers known to {error:.1%}", probes, f"the true one: {right / len(probes):.1%}")


def _cliffs(curves: Sequence[Sequence[float]], luck: random.Random) -> Compared:
    """Responses that jump where the load line is. Halving 1 to 1,023 takes 10 probes, if one knew it, 1 to 4,096 12."""
    probes = []
    for curve in curves:
        last, factor = int(2 ** luck.uniform(0, 10)), 10 ** luck.uniform(0.3, 2.5)
        limit = curve[last] * (factor * curve[last + 1] / curve[last]) ** luck.uniform(0.01, 0.99)
        cliff = [response * (factor if load > last else 1) for load, response in enumerate(curve)]
        number, found = _count(cliff.__getitem__, limit, 0.0, luck)
        assert found == last, "a cliff's edge is found"
        probes.append(number)
    return _row(
        "probes of a load line, at a cliff",
        probes,
        f"at most 13: {sum(number <= 13 for number in probes) / len(probes):.1%}",
    )


def _count(curve: Callable[[int], float], limit: float, error: float, luck: random.Random) -> tuple[int, int | None]:
    line = search_outstanding(
        lambda load: curve(load) * math.exp(luck.gauss(0, error)),
        lambda response: response <= limit,
        *(1, MOST),
        lambda response: response / limit,
        lambda _: error,
    )
    return len(line.probes), line.highest.load if line.highest else None


def _rates(error: float, known: bool, luck: random.Random, stalls: float = 0.0) -> Compared:
    """Searches that are told a saturation known to 1 %, which counts as a probe, or have to find it."""
    probes, off = [], []
    for _ in range(CURVES * 10):
        curve, top, busy = opened(luck), 10 ** luck.uniform(2, 5), luck.uniform(0.4, 0.97)
        limit = curve(busy)
        if limit < 1.1 * curve(0.001):
            continue
        line = _open(curve, top, limit, error, known, luck, stalls)
        probes.append(known + len(line.probes))
        off.append(abs(line.highest.load / top / busy - 1) if line.highest else 1.0)
    within = sum(one <= 0.02 for one in off) / len(off)
    said = "" if known else ", saturation not known"
    said += f", {stalls:.0%} of the probes stalled" if stalls else ""
    return _row(f"probes of a rate{said}, answers known to {error:.1%}", probes, f"within 2 %: {within:.1%}")


def _open(
    curve: Callable[[float], float],
    top: float,
    limit: float,
    error: float,
    known: bool,
    luck: random.Random,
    stalls: float,
) -> LoadLine[float, float]:
    stalled: dict[float, float] = {}

    def ask(load: float) -> float:
        if load >= top:
            return math.inf
        slow = luck.uniform(*STALLED) if stalls and luck.random() < stalls else 1.0
        response = slow * curve(load / top) * math.exp(luck.gauss(0, error))
        if slow > 1:
            stalled[response] = SHOWN * math.log(slow)
        return response

    return search_rate(
        ask,
        lambda response: response <= limit,
        *(10.0, 1e6),
        lambda response: response / limit,
        lambda response: top if response == math.inf else None,
        expected=top * math.exp(luck.gauss(0, 0.01)) if known else None,
        error=lambda response: stalled.get(response, error),
    )


def _row(what: str, probes: Sequence[int], peer: str) -> Compared:
    nine = sum(number <= 9 for number in probes) / len(probes)
    return Compared(what, f"at most 9: {nine:.1%}", peer, f"{statistics.mean(probes):.1f}", spread(probes))


if __name__ == "__main__":
    for row in compare():
        print(row)
