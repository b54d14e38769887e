"""Places for labels on a chart whose width isn't known: none lies on another, on a line or a mark, or outside.

A chart is as wide as its place on a page, so labels are placed for each of some ranges of width (`ROOMS`), and are free
everywhere within. Knows neither curves nor Vega. Start reading at `placed`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Align = Literal["left", "center", "right"]

#: From which width on, in pixels, each range begins: phones, half a page, a picture, a page. Below the first labels
#: are placed as in it.
ROOMS = (220, 330, 480, 700)

#: Which of them is a picture's.
PICTURE = 2

# No chart is wider.
_WIDEST = 1000

# Widths of a range at which places are tried. What stands at two dots only moves apart in between, but curves turn.
_TRIED = 4

# Pixels that stay free around a label.
_FREE = 2.0

# Marks that are no more pixels apart are one to the eye.
_SAME = 8.0

# Marks that are no more pixels apart are a crowd, in which a label may be nearer to another.
_CROWD = 24.0

# By so many pixels a label's own mark is nearer than others, if there is such a spot.
_NEARER = 4.0

# Widths of letters in sizes of the font, of DejaVu Sans, which is wider than what most browsers have; bold ones beside.
_LETTERS = {**dict.fromkeys(" .,:;/|il", (0.35, 0.4)), **dict.fromkeys("<>=+%mwMW▲▶", (0.96, 1.05))}
_LETTER = (0.64, 0.7)

#: Pixels by which labels stand above or below a mark.
OFFS = (8.0, 15.0, 24.0, 34.0)

# Places of `anywhere` in a row, and rows for each of them.
_GRID = 9
_ROWS = 3

# A line of text is that high, in sizes of the font.
_HEIGHT = 1.1


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a label may stand: `dx` and `dy` pixels from a place at the share `x` of the width, `y` pixels down."""

    x: float
    y: float
    dx: float = 0.0
    dy: float = 0.0
    align: Align = "left"


@dataclass(frozen=True, slots=True)
class Label:
    """A text, its shorter forms after it; `spots` are where it may stand, the best ones first.

    With a place `of` a mark it stands at one of these only where no other mark is as near, which readers would take it
    for; at one of the `close` ones, which are tried first, whatever else is near.
    """

    said: tuple[str, ...]
    spots: Sequence[Spot]
    size: int = 11
    bold: bool = False
    quiet: bool = False
    of: tuple[float, float] | None = None
    close: Sequence[Spot] = ()


@dataclass(frozen=True, slots=True)
class Stroke:
    """A straight line between two places, which lie at shares of the width and at pixels down."""

    x: float
    y: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Blot:
    """A mark at a place, and its half width in pixels."""

    x: float
    y: float
    half: float


@dataclass(frozen=True, slots=True)
class Box:
    """In pixels from the left and from the top."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether the two have a place in common."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def off(self, x: float, y: float) -> float:
        """How far a place is from it."""
        return math.hypot(max(self.left - x, 0.0, x - self.right), max(self.top - y, 0.0, y - self.bottom))

    def crossed(self, x: float, y: float, x2: float, y2: float) -> bool:
        """Whether a straight line passes through it (Liang and Barsky, 1984)."""
        first, last = 0.0, 1.0
        for start, step, low, high in ((x, x2 - x, self.left, self.right), (y, y2 - y, self.top, self.bottom)):
            if step == 0:
                if not low < start < high:
                    return False
                continue
            one, other = sorted(((low - start) / step, (high - start) / step))
            first, last = max(first, one), min(last, other)
        return first < last


def text_width(said: str, size: int, *, bold: bool) -> float:
    """Pixels that a text takes, rather too many than too few."""
    return size * sum(_LETTERS.get(letter, _LETTER)[bold] for letter in said)


def box(label: Label, said: str, spot: Spot, width: float) -> Box:
    """What a text covers at a spot of a chart of that width."""
    long = text_width(said, label.size, bold=label.bold)
    left = spot.x * width + spot.dx - {"left": 0.0, "center": long / 2, "right": long}[spot.align]
    middle, half = spot.y + spot.dy, label.size * _HEIGHT / 2
    return Box(left, middle - half, left + long, middle + half)


def placed(
    labels: Sequence[Label], strokes: Sequence[Stroke], blots: Sequence[Blot], height: float, room: int
) -> list[tuple[str, Spot] | None]:
    """For each label, the most important first, its text and its spot in a range of widths; None: there is no room."""
    taken: list[tuple[Box, ...]] = []
    found: list[tuple[str, Spot] | None] = []
    widths = list(_widths(room))
    lines = [[(one.x * width, one.y, one.x2 * width, one.y2) for one in strokes] for width in widths]
    marks = [[_around(one, width) for one in blots] for width in widths]

    def free(number: int, it: Box) -> bool:
        wide = Box(it.left - _FREE, it.top - _FREE, it.right + _FREE, it.bottom + _FREE)
        return (
            it.left >= 0
            and it.right <= widths[number]
            and it.top >= 0
            and it.bottom <= height
            and not any(wide.meets(boxes[number]) for boxes in taken)
            and not any(wide.meets(mark) for mark in marks[number])
            and not any(wide.crossed(*line) for line in lines[number])
        )

    def nearest(label: Label, number: int, it: Box, within: float) -> bool:
        assert label.of is not None, "only labels of marks are asked for"
        x, y = label.of[0] * widths[number], label.of[1]
        own, others = [0.0], [math.inf]
        for blot in blots:
            left, down = blot.x * widths[number], blot.y
            (own if math.hypot(left - x, down - y) <= within else others).append(it.off(left, down) - blot.half)
        return min(own[1:] or own) + _NEARER <= min(others)

    for label in labels:
        # In a crowd a number beside all of them is better than none, but none than one beside another mark.
        withins = (_SAME, _CROWD) if label.of is not None else (None,)
        tiers = ((None, label.close), *((within, label.spots) for within in withins))
        tried = ((said, spot, within) for within, spots in tiers for said in label.said for spot in spots)
        for said, spot, within in tried:
            boxes = tuple(box(label, said, spot, width) for width in widths)
            if all(
                free(number, it) and (within is None or nearest(label, number, it, within))
                for number, it in enumerate(boxes)
            ):
                taken.append(boxes)
                found.append((said, spot))
                break
        else:
            found.append(None)
    return found


def around(place: tuple[float, float], half: float, offs: Sequence[float]) -> list[Spot]:
    """Beside a mark: left above and right below, where a curve that bends up leaves room, then the other sides."""
    side = half + 3
    found = []
    for off in offs:
        found += [Spot(*place, -side, -off, "right"), Spot(*place, side, off, "left")]
        found += [Spot(*place, -side, off, "right"), Spot(*place, side, -off, "left")]
        found += [Spot(*place, 0, half + off, "center"), Spot(*place, 0, -half - off, "center")]
    return [*found, Spot(*place, -side - 2, 0, "right"), Spot(*place, side + 2, 0, "left")]


def below(place: tuple[float, float], half: float) -> list[Spot]:
    """Close to a dot, best below it."""
    side, down = half + 4, half + 9
    found = [Spot(*place, 0, down, "center"), Spot(*place, side, 5, "left"), Spot(*place, 0, -down, "center")]
    found += [Spot(*place, side, dy, "left") for dy in (0, -6)]
    return [*found, *(Spot(*place, -side, dy, "right") for dy in (0, -6, 6))]


def along(y: float) -> list[Spot]:
    """Above a rule across the chart, then below it: at its ends, then between them."""
    places: list[tuple[float, float, Align]] = [(0.0, 6.0, "left"), (1.0, -6.0, "right")]
    places += [(part / 6, 0.0, "center") for part in range(1, 6)]
    return [Spot(x, y, dx, dy, align) for dy in (-9.0, 9.0) for x, dx, align in places]


def beside(x: float, height: float) -> list[Spot]:
    """Left and right of an upright rule, from below up."""
    heights = [height - 10 - step * 14 for step in range(math.floor(height / 14))]
    sides: tuple[tuple[float, Align], ...] = ((-6.0, "right"), (6.0, "left"))
    return [Spot(x, y, dx, 0, align) for y in heights for dx, align in sides]


def anywhere(height: float) -> list[Spot]:
    """All over the chart."""
    sides: dict[int, Align] = {0: "left", _GRID: "right"}
    return [
        Spot(column / _GRID, 8 + row * (height - 16) / (_ROWS * _GRID), align=sides.get(column, "center"))
        for column in range(_GRID + 1)
        for row in range(_ROWS * _GRID + 1)
    ]


def _widths(room: int) -> Iterator[float]:
    low, high = ROOMS[room], ROOMS[room + 1] if room + 1 < len(ROOMS) else _WIDEST
    for number in range(_TRIED):
        yield low + (high - low) * number / (_TRIED - 1)


def _around(blot: Blot, width: float) -> Box:
    x = blot.x * width
    return Box(x - blot.half, blot.y - blot.half, x + blot.half, blot.y + blot.half)
