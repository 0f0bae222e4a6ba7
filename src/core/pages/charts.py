"""Charts as SVG text: bars, intervals, curves, wires. No script, no image file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from ..arrays.stage_differences import DECADES, StageComparison
from ..text.visible import visible_html as escape
from .document import CHART_STYLE, COLOURS

HUGE: Final = 1e300
"""Beyond it numbers are not drawn."""


def alone(svg: str) -> str:
    """A chart as a picture that needs no page around it, in the same colours."""
    size = svg.partition('width="')[2]
    width, height = size.partition('"')[0], size.partition('height="')[2].partition('"')[0]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
    opened, _, rest = svg.replace("<svg ", head, 1).partition(">")
    words = "text{font-family:system-ui,sans-serif}"
    return f"{opened}><style>{COLOURS}{CHART_STYLE}{words}</style>{rest}"


class Scale:
    """A range with round numbers in it, its ends among them."""

    def __init__(self, values: Sequence[float]) -> None:
        finite = [value for value in values if abs(value) < HUGE] or [0.0]
        low, high = min(finite), max(finite)
        if high - low <= max(1e-9 * max(abs(low), abs(high)), 1 / HUGE):
            half = abs(high) / 2 if abs(high) > 1 / HUGE else 0.5
            low, high = low - half, high + half
        power = 10.0 ** math.floor(math.log10((high - low) / 4))
        step = next(power * each for each in (1, 2, 5, 10) if power * each * 5 >= high - low)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        self.ticks = [place * step for place in range(first, last + 1)]

    def share(self, value: float) -> float:
        """The place of a value in percent; values beyond the ends lie at the nearest end."""
        low, high = self.ticks[0], self.ticks[-1]
        inside = min(max(value, low), high) if value == value else low
        return 100 * (inside - low) / (high - low)


class Frame:
    """The plane of a plot: values upwards, in pixels, and steps from 0 on, in percent."""

    def __init__(self, values: Sequence[float], tall: float, top: float = 26) -> None:
        self.scale = Scale(values)
        self.tall, self.top, self.bottom = tall, top, top + tall
        self.height = self.bottom
        self.far = 1.0

    def up(self, value: float) -> float:
        """How far from the top a value lies."""
        return self.bottom - self.tall * self.scale.share(value) / 100

    def along(self, step: float) -> float:
        """How far from the left a step lies."""
        return 100 * step / self.far

    def grid(self, title: str, across: str = "") -> list[str]:
        """Lines at round values with their numbers, and below them, where there are any, steps."""
        parts = [text("tick", 0, 11, title, "start")] if across == "" else []
        for each in self.scale.ticks:
            y = self.up(each)
            parts += [
                line("axis", 0, 100, y),
                text("tick halo", 0, y - 3, tick_text(each), "start"),
            ]
        if across:
            for step in Scale([0.0, self.far]).ticks:
                x = self.along(step)
                if step <= self.far:
                    parts.append(text("tick", x, self.bottom + 16, tick_text(step), anchor_at(x)))
            parts.append(axis_title(across, self.bottom + 33))
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


def anchor_at(x: float) -> str:
    """How words at a place of the width stay within it."""
    return "start" if x < 4 else "end" if x > 94 else "middle"


def tick_text(value: float) -> str:
    """A round number for an axis."""
    is_plain = value == 0 or 1e-4 <= abs(value) < 1e7
    return f"{value:,.7g}" if is_plain else f"{value:.3g}"


def line(kind: str, begin: float, end: float, y: float) -> str:
    """A level line."""
    return f'<line class="{kind}" x1="{begin:g}%" y1="{y:.1f}" x2="{end:g}%" y2="{y:.1f}"/>'


def dot(x: float, y: float, kind: str = "dot") -> str:
    """A value."""
    return f'<circle class="{kind}" cx="{x:.2f}%" cy="{y:.1f}" r="4"/>'


def text(kind: str, x: float, y: float, words: str, anchor: str = "middle") -> str:
    """Words of a kind at a place, if there are any."""
    if not words:
        return ""
    return (
        f'<text class="{kind}" x="{x:.2f}%" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def axis_title(across: str, y: float) -> str:
    """The title of an axis, below its middle."""
    return text("tick", 50, y, across)


def legend_line(kind: str, y: float, words: str) -> str:
    """A line of a legend."""
    return (
        f'<line class="{kind}" x1="0" y1="{y - 4}" x2="22" y2="{y - 4}"/>'
        f'<text class="label" x="30" y="{y}">{escape(words)}</text>'
    )


def cut(text: str, most: int) -> str:
    """A text cut to a number of characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def chart(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    """A picture of parts, no wider than `width`; `label` tells it to those who cannot see it."""
    return (
        f'<svg class="chart" role="img" aria-label="{escape(label)}" width="{width:g}" '
        f'height="{height:g}" style="max-width:{width:g}px">{"".join(parts)}</svg>'
    )


_TALL: Final = 90
_MOST_POINTS: Final = 360
KINDS: Final = ("one", "two", "three", "four", "five", "six")
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

    Labels stand below the bars, `titles` are what each says when pointed at; `label` says what the
    chart shows, `across` what the bars are sorted by. `kinds` are colours: "mark" (all of them, if
    left out), "within" or "beyond". With `is_log` heights grow with the logarithm of the count, so
    that a single one shows.
    """
    high = [math.log1p(count) if is_log else count for count in counts]
    most, wide, top = max(high) or 1, 100 / len(counts), 16
    parts = [line("axis", 0, 100, _TALL + top)]
    for place, (count, kind) in enumerate(
        zip(counts, kinds or ["mark"] * len(counts), strict=True)
    ):
        tall = _TALL * high[place] / most
        middle, above = (place + 0.5) * wide, _TALL + top - tall
        count_text = f"{count:,}" if count and (len(counts) < 10 or high[place] == most) else ""
        parts.append(
            f'<g><title>{escape(titles[place])}</title><rect class="{kind}" '
            f'x="{(place + 0.08) * wide:.2f}%" y="{above:.1f}" width="{0.84 * wide:.2f}%" '
            f'height="{tall:.1f}" rx="2"/>{text("tick", middle, above - 4, count_text)}'
            f"{text('tick', middle, _TALL + top + 15, labels[place])}</g>"
        )
    below = _TALL + top + 32
    return chart(
        28 * len(counts), below + 6 * bool(across), label, [*parts, axis_title(across, below)]
    )


def difference_bars(stage: StageComparison, tolerance: float) -> str:
    """How many numbers of a stage differ by how much, one bar for each power of ten.

    Bars beyond the absolute tolerance have the colour of a warning.
    """
    names = ["equal", *(f"1e{power}" for power in DECADES), "more"]
    most = tolerance + stage.rounding
    beyond = [False, *(10.0**power > most * 1.0001 for power in DECADES), True]
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
    frame = Frame([*ours, *theirs], 150, 34)
    left, right = 25, 88
    parts = frame.grid("return of an episode")
    for number, pair in enumerate(zip(ours, theirs, strict=True)):
        mine, yours = map(frame.up, pair)
        parts.append(
            f"<g><title>episode {number + 1}: {pair[0]:g} and {pair[1]:g}</title>"
            f'<line class="pair" x1="{left}%" y1="{mine:.1f}" x2="{right}%" y2="{yours:.1f}"/>'
            f"{dot(left, mine)}{dot(right, yours)}</g>"
        )
    below = frame.bottom + 18
    parts += [text("name", x, below, name) for x, name in zip((left, right), names, strict=True)]
    return chart(520, below + 8, "Returns of both policies", parts)


def interval_rows(
    rows: Sequence[tuple[str, float, float, float, bool]],
    mark: float | None,
    label: str,
    across: str = "",
) -> str:
    """Values with the intervals they lie in, one below the other, on one axis.

    A row is a name, the value, the interval's ends, and whether it is one of several answers rather
    than what they are held against. A line is drawn at `mark`.
    """
    ends = [end for _, value, low, high, _ in rows for end in (value, low, high)]
    scale = Scale([*ends, *([] if mark is None else [mark])])
    tall, parts = 38, []
    foot = len(rows) * tall + 6

    def place(value: float) -> float:
        return 2 + 0.96 * scale.share(value)

    for each in scale.ticks:
        parts.append(
            f'<line class="axis" x1="{place(each):.2f}%" y1="0" x2="{place(each):.2f}%" '
            f'y2="{foot}"/>{text("tick", place(each), foot + 15, tick_text(each))}'
        )
    if mark is not None:
        x = place(mark)
        parts.append(f'<line class="goal" x1="{x:.2f}%" y1="0" x2="{x:.2f}%" y2="{foot}"/>')
    for number, (name, value, low, high, is_answer) in enumerate(rows):
        top = number * tall
        interval_text = f"{value:.4g} ({low:.4g} to {high:.4g})"
        parts.append(
            f"<g><title>{escape(name)}: {interval_text}</title>"
            f"{text('name halo', 0, top + 13, cut(name, 34), 'start')}"
            f"{text('tick halo', 100, top + 13, interval_text, 'end')}"
            f'<line class="whole{"" if is_answer else " given"}" x1="{place(low):.2f}%" '
            f'y1="{top + 26}" x2="{place(high):.2f}%" y2="{top + 26}"/>'
            f"{dot(place(value), top + 26, 'dot' if is_answer else 'dot given')}</g>"
        )
    below = foot + 34
    return chart(
        860, below + 6 if across else foot + 22, label, [*parts, axis_title(across, below)]
    )


def curves(
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    chosen: str,
    label: str,
    across: str = "",
    kinds: Sequence[str] = (),
) -> str:
    """Values over steps, a line each; the chosen one, by its name, is drawn above the others.

    A line is a name, the steps in order, and the values. `label` says what the chart shows,
    `across` what the steps are; `kinds` are the colours, of `KINDS`, "other" for what need not be
    told apart.
    """
    drawn = []
    for number, (name, steps, values) in enumerate(lines):
        pairs = zip(steps, values, strict=True)
        points = _thinned([each for each in pairs if abs(each[1]) < HUGE])
        if points:
            kind = kinds[number] if number < len(kinds) else "one" if name == chosen else "other"
            drawn.append((name, kind, points))
    frame = Frame([y for *_, points in drawn for _, y in points], 220, 16)
    frame.far = max((points[-1][0] for *_, points in drawn), default=1.0) or 1.0
    parts = frame.grid(label, across)
    for name, kind, points in sorted(drawn, key=lambda line: line[0] == chosen):
        x, y = points[-1]
        end = dot(frame.along(x), frame.up(y)) if name == chosen or len(points) == 1 else ""
        parts.append(
            f'<g class="{kind}"><title>{escape(name)}: {y:.5g} at the end</title>'
            f"{frame.plot('polyline', 'curve', points)}{end}</g>"
        )
    return chart(860, frame.height, label, parts)


def banded_curves(
    ways: Sequence[tuple[str, Sequence[tuple[Sequence[float], Sequence[float]]]]],
    mark: float,
    mark_name: str,
    label: str,
    across: str = "steps",
) -> str:
    """Some kinds of runs: the median of each, in the band of its lowest and highest.

    Each way is a name, and for each run the steps in order and the values; a line is drawn at
    `mark`.
    """
    every = [value for _, runs in ways for _, values in runs for value in values]
    frame = Frame([*every, mark], 240, 24 + 17 * (len(ways) + 1))
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
            f"{frame.plot('polyline', 'curve', middle)}"
            f"{legend_line('curve', 17 * number + 14, name)}</g>"
        )
    y = frame.up(mark)
    parts.append(
        f"{line('goal', 0, 100, y)}<g>"
        f"{legend_line('goal', 17 * len(ways) + 14, f'{mark_name}: {mark:.4g}')}</g>"
    )
    return chart(860, frame.height, label, parts)


def wires(
    before: Sequence[str],
    after: Sequence[str],
    links: Sequence[tuple[int, int, bool]],
    notes: Mapping[int, str],
    heads: tuple[str, str],
) -> str:
    """Inputs on the left, outputs on the right, and a line from each input to its outputs.

    A link is from, to, as places in both, and whether it stays as it is; without one what goes in
    is left out. `notes` say what of what comes out has no line, `heads` stand on either side.
    """
    top, tall = 24, 21 * max(len(before), len(after))
    left, right, foot = 36, 64, 24 + tall + 24
    parts = [text("name", left, 14, heads[0], "end"), text("name", right, 14, heads[1], "start")]
    before_y = [top + tall * (number + 0.5) / len(before) for number in range(len(before))]
    after_y = [top + tall * (number + 0.5) / len(after) for number in range(len(after))]
    for begin, end, is_same in links:
        parts.append(
            f'<g class="{"one" if is_same else "two"}"><title>{escape(before[begin])} to '
            f'{escape(after[end])}</title><line class="wire" x1="{left + 2}%" '
            f'y1="{before_y[begin]:.1f}" x2="{right - 2}%" y2="{after_y[end]:.1f}"/></g>'
        )
    used = {begin for begin, _, _ in links}
    for number, (name, y) in enumerate(zip(before, before_y, strict=True)):
        parts.append(text("end" if number in used else "tick", left, y + 4, cut(name, 24), "end"))
        parts.append(dot(left + 2, y, "dot" if number in used else "dot hollow"))
    for number, (name, y) in enumerate(zip(after, after_y, strict=True)):
        words = f"{cut(name, 30)} {notes.get(number, '')}"
        parts.append(text("tick" if number in notes else "end", right, y + 4, words, "start"))
        parts.append(dot(right - 2, y, "dot hollow" if number in notes else "dot"))
    keys = [("one", "as it is")] * any(same for *_, same in links)
    keys += [("two", "changed")] * any(not same for *_, same in links)
    for kind, words in keys:
        parts.append(f'<g class="{kind}">{legend_line("wire", foot, words)}</g>')
        foot += 17
    if len(used) < len(before):
        parts.append(f'<circle class="hollow" cx="11" cy="{foot - 4}" r="4"/>')
        parts.append(f'<text class="label" x="30" y="{foot}">left out</text>')
        foot += 17
    pairs = ", ".join(f"{before[begin]} to {after[end]}" for begin, end, _ in links)
    return chart(640, foot - 10, f"{heads[0]} to {heads[1]}: {pairs}", parts)


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
