"""Charts as SVG text: bars, intervals, curves. No script, no image file.

Places along a chart are shares of its width, in percent, so that a chart is as wide as its page
while its words keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from ..arrays.stage_differences import DECADES, StageComparison
from ..text.visible import visible_html as escape

_TALL = 90
_MOST_POINTS = 360
_HUGE = 1e300
KINDS = ("one", "two", "three", "four", "five", "six")
"""Colours that are told apart, by their names in the style."""


def bars(
    counts: Sequence[int],
    labels: Sequence[str],
    titles: Sequence[str],
    label: str,
    across: str = "",
    *,
    kinds: Sequence[str] = (),
    is_log: bool = False,
) -> str:
    """How many there are of each of some kinds, the count of the highest on top of it.

    Args:
        counts: One for each bar.
        labels: Below the bars; empty ones leave room.
        titles: What each bar says when pointed at.
        label: What the chart shows.
        across: What the bars are sorted by, to be said below them.
        kinds: The colour of each: "mark" (all of them, if left out), "within" or "beyond".
        is_log: Whether heights grow with the logarithm of the count, so that a single one shows.
    """
    high = [math.log1p(count) if is_log else count for count in counts]
    most, wide, top = max(high) or 1, 100 / len(counts), 16
    parts = [_line("axis", 0, 100, _TALL + top)]
    for place, (count, kind) in enumerate(
        zip(counts, kinds or ["mark"] * len(counts), strict=True)
    ):
        tall = _TALL * high[place] / most
        middle, above = (place + 0.5) * wide, _TALL + top - tall
        told = f"{count:,}" if count and (len(counts) < 10 or high[place] == most) else ""
        parts.append(
            f'<g><title>{escape(titles[place])}</title><rect class="{kind}" '
            f'x="{(place + 0.08) * wide:.2f}%" y="{above:.1f}" width="{0.84 * wide:.2f}%" '
            f'height="{tall:.1f}" rx="2"/>{_text("tick", middle, above - 4, told)}'
            f"{_text('tick', middle, _TALL + top + 15, labels[place])}</g>"
        )
    below = _TALL + top + 32
    return _chart(
        28 * len(counts), below + 6 * bool(across), label, [*parts, _title(across, below)]
    )


def difference_bars(stage: StageComparison, tolerance: float) -> str:
    """How many numbers of a stage differ by how much, one bar for each power of ten.

    Bars beyond the tolerance have the colour of a warning.

    Args:
        stage: The stage.
        tolerance: The absolute tolerance.
    """
    names = ["equal", *(f"1e{power}" for power in DECADES), "more"]
    beyond = [False, *(10.0**power > tolerance * 1.0001 for power in DECADES), True]
    return bars(
        stage.histogram,
        [name if place % 3 == 0 or name == "more" else "" for place, name in enumerate(names)],
        [
            f"{count:,} numbers: {'up to ' * (0 < place <= len(DECADES))}{name}"
            for place, (name, count) in enumerate(zip(names, stage.histogram, strict=True))
        ],
        f"Differences at {stage.name}",
        "how far apart, at most",
        kinds=["beyond" if each else "within" for each in beyond],
        is_log=True,
    )


def agreement_bar(share: float) -> str:
    """The share of equal rows as a filled line."""
    full, width = 120, 120 * share
    return (
        f'<svg role="img" aria-label="{share:.1%} agree" width="{full}" height="10">'
        f'<rect class="rest" width="{full}" height="10" rx="5"/><rect '
        f'class="{"within" if share == 1.0 else "beyond"}" width="{width:.1f}" height="10" '
        'rx="5"/></svg>'
    )


def return_pairs(ours: Sequence[float], theirs: Sequence[float], names: tuple[str, str]) -> str:
    """Each episode's two returns, joined by a line: level lines are equal episodes."""
    frame = _Frame([*ours, *theirs], 150, 34)
    left, right = 25, 88
    parts = frame.grid("return of an episode")
    for number, pair in enumerate(zip(ours, theirs, strict=True)):
        mine, yours = map(frame.up, pair)
        parts.append(
            f"<g><title>episode {number + 1}: {pair[0]:g} and {pair[1]:g}</title>"
            f'<line class="pair" x1="{left}%" y1="{mine:.1f}" x2="{right}%" y2="{yours:.1f}"/>'
            f"{_dot(left, mine)}{_dot(right, yours)}</g>"
        )
    below = frame.bottom + 18
    parts += [_text("name", x, below, name) for x, name in zip((left, right), names, strict=True)]
    return _chart(520, below + 8, "Returns of both policies", parts)


def interval_rows(
    rows: Sequence[tuple[str, float, float, float, bool]],
    mark: float | None,
    label: str,
    across: str = "",
) -> str:
    """Values with the intervals they lie in, one below the other, on one axis.

    Args:
        rows: A name, the value, the interval's ends, and whether it is one of several answers
            rather than what they are held against.
        mark: A value to draw a line at.
        label: What the chart shows.
        across: What the values are, to be said below them.
    """
    ends = [end for _, value, low, high, _ in rows for end in (value, low, high)]
    scale = _Scale([*ends, *([] if mark is None else [mark])])
    tall, parts = 38, []
    foot = len(rows) * tall + 6

    def place(value: float) -> float:
        return 2 + 0.96 * scale.share(value)

    for each in scale.ticks:
        parts.append(
            f'<line class="axis" x1="{place(each):.2f}%" y1="0" x2="{place(each):.2f}%" '
            f'y2="{foot}"/>{_text("tick", place(each), foot + 15, _told(each))}'
        )
    if mark is not None:
        x = place(mark)
        parts.append(f'<line class="goal" x1="{x:.2f}%" y1="0" x2="{x:.2f}%" y2="{foot}"/>')
    for number, (name, value, low, high, is_answer) in enumerate(rows):
        top = number * tall
        told = f"{value:.4g} ({low:.4g} to {high:.4g})"
        parts.append(
            f"<g><title>{escape(name)}: {told}</title>"
            f"{_text('name halo', 0, top + 13, _cut(name, 34), 'start')}"
            f"{_text('tick halo', 100, top + 13, told, 'end')}"
            f'<line class="whole{"" if is_answer else " given"}" x1="{place(low):.2f}%" '
            f'y1="{top + 26}" x2="{place(high):.2f}%" y2="{top + 26}"/>'
            f"{_dot(place(value), top + 26, 'dot' if is_answer else 'dot given')}</g>"
        )
    below = foot + 34
    return _chart(860, below + 6 if across else foot + 22, label, [*parts, _title(across, below)])


def curves(
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    chosen: str,
    label: str,
    across: str = "",
    kinds: Sequence[str] = (),
) -> str:
    """Values over steps, a line each; the chosen one is drawn above the others.

    Args:
        lines: A name, the steps in order, and the values.
        chosen: The name of the one that matters most.
        label: What the chart shows.
        across: What the steps are, to be said below them.
        kinds: The colour of each, of `KINDS`; "other" of what need not be told apart.
    """
    drawn = []
    for number, (name, steps, values) in enumerate(lines):
        pairs = zip(steps, values, strict=True)
        points = _thinned([each for each in pairs if abs(each[1]) < _HUGE])
        if points:
            kind = kinds[number] if number < len(kinds) else "one" if name == chosen else "other"
            drawn.append((name, kind, points))
    frame = _Frame([y for *_, points in drawn for _, y in points], 220, 16)
    frame.far = max((points[-1][0] for *_, points in drawn), default=1.0) or 1.0
    parts = frame.grid(label, across)
    for name, kind, points in sorted(drawn, key=lambda line: line[0] == chosen):
        x, y = points[-1]
        end = _dot(frame.along(x), frame.up(y)) if name == chosen or len(points) == 1 else ""
        parts.append(
            f'<g class="{kind}"><title>{escape(name)}: {y:.5g} at the end</title>'
            f"{frame.plot('polyline', 'curve', points)}{end}</g>"
        )
    return _chart(860, frame.height, label, parts)


def banded_curves(
    ways: Sequence[tuple[str, Sequence[tuple[Sequence[float], Sequence[float]]]]],
    mark: float,
    mark_name: str,
    label: str,
    across: str = "steps",
) -> str:
    """Some kinds of runs: the median of each, in the band of its lowest and highest.

    Args:
        ways: A name, and for each run the steps in order and the values.
        mark: A value to draw a line at.
        mark_name: What it is.
        label: What the chart shows.
        across: What the steps are.
    """
    every = [value for _, runs in ways for _, values in runs for value in values]
    frame = _Frame([*every, mark], 240, 24 + 17 * (len(ways) + 1))
    frame.far = max(steps[-1] for _, runs in ways for steps, _ in runs)
    parts = frame.grid(label, across)
    for number, ((name, runs), kind) in enumerate(zip(ways, KINDS, strict=False)):
        count = min(len(steps) for steps, _ in runs)
        at = [median(steps[place] for steps, _ in runs) for place in range(count)]
        rows = [sorted(values[place] for _, values in runs) for place in range(count)]
        ends = [(step, row[0]) for step, row in zip(at, rows, strict=True)]
        ends += [(step, row[-1]) for step, row in zip(reversed(at), rows[::-1], strict=True)]
        middle = [(step, median(row)) for step, row in zip(at, rows, strict=True)]
        parts.append(
            f'<g class="{kind}">{frame.plot("polygon", "band", ends)}'
            f"{frame.plot('polyline', 'curve', middle)}{_key('curve', 17 * number + 14, name)}</g>"
        )
    y = frame.up(mark)
    parts.append(
        f"{_line('goal', 0, 100, y)}<g>"
        f"{_key('goal', 17 * len(ways) + 14, f'{mark_name}: {mark:.4g}')}</g>"
    )
    return _chart(860, frame.height, label, parts)


def alone(svg: str) -> str:
    """A chart as a picture that needs no page around it, in the same colours."""
    from .document import CHART_STYLE, COLOURS

    size = svg.partition('width="')[2]
    width, height = size.partition('"')[0], size.partition('height="')[2].partition('"')[0]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
    opened, _, rest = svg.replace("<svg ", head, 1).partition(">")
    words = "text{font-family:system-ui,sans-serif}"
    return f"{opened}><style>{COLOURS}{CHART_STYLE}{words}</style>{rest}"


class _Scale:
    """A range with round numbers in it, its ends among them."""

    def __init__(self, values: Sequence[float]) -> None:
        finite = [value for value in values if abs(value) < _HUGE] or [0.0]
        low, high = min(finite), max(finite)
        if high - low <= max(1e-9 * max(abs(low), abs(high)), 1 / _HUGE):
            half = abs(high) / 2 if abs(high) > 1 / _HUGE else 0.5
            low, high = low - half, high + half
        power = 10.0 ** math.floor(math.log10((high - low) / 4))
        step = next(power * each for each in (1, 2, 5, 10) if power * each * 5 >= high - low)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        self.ticks = [place * step for place in range(first, last + 1)]

    def share(self, value: float) -> float:
        """Where a value lies, in percent; what is beyond the ends at the nearest of them."""
        low, high = self.ticks[0], self.ticks[-1]
        inside = min(max(value, low), high) if value == value else low
        return 100 * (inside - low) / (high - low)


class _Frame:
    """The plane of a plot: values upwards, in pixels, and steps from 0 on, in percent."""

    def __init__(self, values: Sequence[float], tall: float, top: float = 26) -> None:
        self.scale = _Scale(values)
        self.tall, self.top, self.bottom = tall, top, top + tall
        self.height = self.bottom
        self.far = 1.0

    def up(self, value: float) -> float:
        return self.bottom - self.tall * self.scale.share(value) / 100

    def along(self, step: float) -> float:
        return 100 * step / self.far

    def grid(self, title: str, across: str = "") -> list[str]:
        """Lines at round values with their numbers, and below them, where there are any, steps."""
        parts = [_text("tick", 0, 11, title, "start")] if across == "" else []
        for each in self.scale.ticks:
            y = self.up(each)
            parts += [_line("axis", 0, 100, y), _text("tick halo", 0, y - 3, _told(each), "start")]
        if across:
            steps = _Scale([0.0, self.far]).ticks
            parts += [
                _text(
                    "tick",
                    self.along(each),
                    self.bottom + 16,
                    _told(each),
                    _anchor(self.along(each)),
                )
                for each in steps
                if each <= self.far
            ]
            parts.append(_title(across, self.bottom + 33))
            self.height = self.bottom + 39
        return parts

    def plot(self, shape: str, kind: str, points: Sequence[tuple[float, float]]) -> str:
        """A line or area whose points are of the plane."""
        listed = " ".join(f"{self.along(x):.2f},{self.up(y):.1f}" for x, y in points)
        return (
            f'<svg width="100%" height="{self.bottom:g}" viewBox="0 0 100 {self.bottom:g}" '
            f'preserveAspectRatio="none" overflow="visible"><{shape} class="{kind}" '
            f'points="{listed}"/></svg>'
        )


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most as many points as can be told apart, each the mean of its part."""
    count = len(points)
    if count <= _MOST_POINTS:
        return points
    edges = [round(place * count / _MOST_POINTS) for place in range(_MOST_POINTS + 1)]
    return [
        (points[end - 1][0], sum(value for _, value in points[begin:end]) / (end - begin))
        for begin, end in pairwise(edges)
    ]


def _anchor(x: float) -> str:
    """How words at a place of the width stay within it."""
    return "start" if x < 4 else "end" if x > 94 else "middle"


def _told(value: float) -> str:
    """A round number for an axis."""
    is_plain = value == 0 or 1e-4 <= abs(value) < 1e7
    return f"{value:,.7g}" if is_plain else f"{value:.3g}"


def _line(kind: str, begin: float, end: float, y: float) -> str:
    return f'<line class="{kind}" x1="{begin:g}%" y1="{y:.1f}" x2="{end:g}%" y2="{y:.1f}"/>'


def _dot(x: float, y: float, kind: str = "dot") -> str:
    return f'<circle class="{kind}" cx="{x:.2f}%" cy="{y:.1f}" r="4"/>'


def _text(kind: str, x: float, y: float, words: str, anchor: str = "middle") -> str:
    if not words:
        return ""
    return (
        f'<text class="{kind}" x="{x:.2f}%" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def _title(across: str, y: float) -> str:
    """What an axis shows, below its middle."""
    return _text("tick", 50, y, across)


def _key(kind: str, y: float, words: str) -> str:
    """A line of a legend."""
    return (
        f'<line class="{kind}" x1="0" y1="{y - 4}" x2="22" y2="{y - 4}"/>'
        f'<text class="label" x="30" y="{y}">{escape(words)}</text>'
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _chart(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" role="img" aria-label="{escape(label)}" width="{width:g}" '
        f'height="{height:g}" style="max-width:{width:g}px">{"".join(parts)}</svg>'
    )
