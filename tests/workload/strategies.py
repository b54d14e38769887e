"""Profiles and points that fio can express, and damage to valid files."""

from __future__ import annotations

from hypothesis import strategies as st

from loadline.workload.plan import Point
from loadline.workload.profile import BlockShare, Closed, Distribution, Open, Profile, Workload, access_class

percents = st.integers(0, 100).map(lambda percent: percent / 100)
sizes = st.integers(1, 4096).map(lambda sectors: sectors * 512)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,20}", fullmatch=True).filter(lambda n: not n.startswith("global"))


@st.composite
def parts_of_100(draw: st.DrawFn, count: int) -> list[float]:
    """`count` whole percents above 0 that are 100 % together."""
    cuts = sorted(draw(st.sets(st.integers(1, 99), min_size=count - 1, max_size=count - 1)))
    return [(high - low) / 100 for low, high in zip([0, *cuts], [*cuts, 100], strict=True)]


@st.composite
def blocks(draw: st.DrawFn) -> tuple[BlockShare, ...]:
    count = draw(st.integers(1, 5))
    found = draw(st.lists(sizes, min_size=count, max_size=count, unique=True))
    return tuple(BlockShare(size, share) for size, share in zip(found, draw(parts_of_100(count)), strict=True))


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    kind = draw(st.sampled_from(["uniform", "zipf", "pareto", "normal", "zoned"]))
    if kind == "zoned":
        count = draw(st.integers(1, 4))
        return Distribution(
            "zoned", None, tuple(zip(draw(parts_of_100(count)), draw(parts_of_100(count)), strict=True))
        )
    most = {"uniform": 0, "zipf": 100_000, "pareto": 999, "normal": 99_999}[kind]
    if kind == "uniform":
        return Distribution()
    return Distribution(kind, draw(st.integers(1, most).filter(lambda n: n != 1000)) / 1000)


@st.composite
def streams(draw: st.DrawFn) -> Workload:
    read, random = draw(percents), draw(percents)
    working = draw(st.sampled_from([(None, None), (0.5, None), (None, 1 << 33)]))
    start = draw(st.sampled_from([(0.0, None), (0.25, None), (0.0, 1 << 30)]))
    profile = Profile(
        name=draw(names),
        block=draw(blocks()),
        read_fraction=read,
        random_fraction=random,
        access_class=access_class(random),
        distribution=draw(distributions()),
        working_set_fraction=working[0],
        working_set_bytes=working[1],
        start_fraction=start[0],
        start_bytes=start[1],
        compressible_fraction=draw(percents),
        duplicate_fraction=draw(percents),
        flush_every=draw(st.integers(0, 1000)),
        dsync=draw(st.booleans()),
        think_time_ns=draw(st.integers(0, 10**6)) * 1000,
        burst=draw(st.integers(1, 100)),
    )
    depth, jobs = draw(st.integers(1, 65536)), draw(st.sampled_from([1, 2, 5, 10, 50]))
    # A flush after every write together with a rate is refused.
    if profile.flush_every != 1 and draw(st.booleans()):
        # A hundred or a multiple a job, so that whole percents of it are whole numbers.
        return Workload(profile, Open(100.0 * draw(st.integers(1, 50)) * jobs, depth, jobs))
    return Workload(profile, Closed(depth, jobs))


@st.composite
def points(draw: st.DrawFn) -> list[Point]:
    made = []
    for name in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        together = draw(st.lists(streams(), min_size=1, max_size=3, unique_by=lambda stream: stream.profile.name))
        runtime_ns, warmup_ns = draw(st.integers(1000, 10**9)) * 1000, draw(st.integers(0, 10**7)) * 1000
        made.append(Point(name, tuple(together), runtime_ns, warmup_ns))
    return made


@st.composite
def damaged(draw: st.DrawFn, text: str, words: list[str]) -> str:
    """A valid file with a few pieces cut out, doubled or replaced."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        piece = draw(st.one_of(st.just(""), st.sampled_from(words), st.text(max_size=8), st.just(text[start:end] * 2)))
        text = text[:start] + piece + text[end:]
    return text
