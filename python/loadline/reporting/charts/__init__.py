"""The charts of a report: one file a chart. Each takes what is to be shown and a palette, and gives panels.

Never: reads a file, or knows whether it is drawn on a page or as a picture. Start reading at `OF_ALL`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loadline.reporting.charts import (
    block_size,
    components,
    distribution,
    iops,
    latency,
    load,
    main_effects,
    over_time,
    overlaid,
    position,
    ratios,
    setting,
    side_by_side,
    utilisation,
)
from loadline.reporting.charts.panel import Panel
from loadline.reporting.charts.theme import Palette
from loadline.reporting.compared import Compared
from loadline.reporting.contents import Contents
from loadline.reporting.detail import Detail


@dataclass(frozen=True, slots=True)
class OfAll:
    """A chart of all points: its name on the command line, its title, and what it lacks when it has no panel."""

    name: str
    title: str
    lacks: str
    draw: Callable[[Contents, Palette], list[Panel]]


@dataclass(frozen=True, slots=True)
class OfPoint:
    """A chart of one point."""

    name: str
    title: str
    lacks: str
    draw: Callable[[Detail, Palette], list[Panel]]


@dataclass(frozen=True, slots=True)
class OfComparison:
    """A chart of a comparison."""

    name: str
    title: str
    lacks: str
    draw: Callable[[Compared, Palette], list[Panel]]


# Two looks at them, a second apart, say how busy they were.
_NO_COMPONENTS = "only models have components, and emulated ones tell of them in points of two seconds and more"

# What failed has no answer, and a point that was searched for its load line is drawn at that.
_NO_POSITION = "no load has answers at three places of its target (start, all in % or all as sizes)"
_NO_SETTING = "no point has answers (load lines, if those were asked for) at three numbers of a setting"

#: A chart is a file and a line here, in the order of the page.
OF_ALL = (
    OfAll("position", "Position", _NO_POSITION, position.draw),
    OfAll("setting", "Over a setting", _NO_SETTING, setting.draw),
    OfAll("load", "Response against load", "no profile was answered at two loads", load.draw),
    OfAll("iops", "IOPS", "no point has a rate", iops.draw),
    OfAll("latency", "Latency", "no point has a latency of reads or writes", latency.draw),
    OfAll("block-size", "Block size", "no pattern was measured at three block sizes", block_size.draw),
    OfAll("components", "Components", _NO_COMPONENTS, components.draw),
    OfAll("utilisation", "Host and device", "neither host nor device was sampled", utilisation.draw),
)
OF_POINT = (
    OfPoint("over-time", "Over time", "there is no series of it", over_time.draw),
    OfPoint("distribution", "Distribution", "its percentiles aren't known", distribution.draw),
)
OF_COMPARISON = (
    OfComparison("bars", "Side by side", "there are more than six sides, or no figure in common", side_by_side.draw),
    OfComparison("ratios", "Changes", "no figure has 60 ratios or fewer", ratios.draw),
    OfComparison("curves", "Response against load", "no two sides answered a profile at two loads", overlaid.draw),
    OfComparison("effects", "What matters", "nothing that --by names has an effect beyond chance", main_effects.draw),
)
NAMES = tuple(chart.name for chart in (*OF_ALL, *OF_POINT))
