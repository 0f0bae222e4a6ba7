"""Charts as SVG text: bars of differences and returns side by side. No script, no image file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from ..arrays.stage_differences import DECADES, StageComparison
from ..text.visible import visible_html as escape

_BAR_WIDTH = 22
_HEIGHT = 90
_MOST_POINTS = 360


def difference_bars(stage: StageComparison, tolerance: float) -> str:
    """How many numbers of a stage differ by how much, one bar for each power of ten.

    Heights grow with the logarithm of the count, so that a single number shows. Bars beyond the
    tolerance have the colour of a warning.

    Args:
        stage: The stage.
        tolerance: The absolute tolerance.
    """
    labels = ["equal", *(f"1e{power}" for power in DECADES), "more"]
    most = math.log1p(max(stage.histogram)) or 1.0
    margin = 12  # for the labels at both ends
    width = _BAR_WIDTH * len(labels) + 2 * margin
    parts = []
    for place, (label, count) in enumerate(zip(labels, stage.histogram, strict=True)):
        height = _HEIGHT * math.log1p(count) / most
        left = margin + place * _BAR_WIDTH
        is_beyond = place > 0 and (
            place == len(labels) - 1 or 10.0 ** DECADES[place - 1] > tolerance * 1.0001
        )
        kind = "beyond" if is_beyond else "within"
        title = f"{count} numbers: {'equal' if place == 0 else f'up to {label}'}"
        parts.append(
            f'<g><title>{escape(title)}</title><rect class="{kind}" x="{left + 2}" '
            f'y="{_HEIGHT - height + 4:.1f}" width="{_BAR_WIDTH - 4}" height="{height:.1f}" '
            f'rx="2"/><text class="tick" x="{left + _BAR_WIDTH / 2}" y="{_HEIGHT + 18}" '
            f'text-anchor="middle">{label if place % 3 == 0 or label == "more" else ""}</text></g>'
        )
    baseline = f'<line class="axis" x1="0" y1="{_HEIGHT + 4}" x2="{width}" y2="{_HEIGHT + 4}"/>'
    return _svg(width, _HEIGHT + 24, f"Differences at {stage.name}", baseline + "".join(parts))


def agreement_bar(share: float) -> str:
    """The share of equal rows as a filled line."""
    full, width = 160, 160 * share
    return _svg(
        full,
        10,
        f"{share:.1%} agree",
        f'<rect class="track" width="{full}" height="10" rx="5"/>'
        f'<rect class="{"within" if share == 1.0 else "beyond"}" width="{width:.1f}" height="10" '
        'rx="5"/>',
    )


def return_pairs(ours: Sequence[float], theirs: Sequence[float], names: tuple[str, str]) -> str:
    """Each episode's two returns, joined by a line: level lines are equal episodes."""
    low, high = min(*ours, *theirs), max(*ours, *theirs)
    span = (high - low) or 1.0
    height, width, left, right = 150, 420, 130, 290

    def place(value: float) -> float:
        return 14 + (height - 34) * (1 - (value - low) / span) if high > low else height / 2

    parts = []
    for number, (mine, yours) in enumerate(zip(ours, theirs, strict=True)):
        title = f"episode {number + 1}: {mine:g} and {yours:g}"
        parts.append(
            f'<g><title>{escape(title)}</title><line class="pair" x1="{left}" '
            f'y1="{place(mine):.1f}" x2="{right}" y2="{place(yours):.1f}"/>'
            f'<circle class="dot" cx="{left}" cy="{place(mine):.1f}" r="4"/>'
            f'<circle class="dot" cx="{right}" cy="{place(yours):.1f}" r="4"/></g>'
        )
    ends = (
        f'<text class="tick" x="{left - 12}" y="{place(high) + 4:.1f}" text-anchor="end">{high:g}'
        f'</text><text class="tick" x="{left - 12}" y="{place(low) + 4:.1f}" text-anchor="end">'
        f"{low:g}</text>"
        if high > low
        else f'<text class="tick" x="{left - 12}" y="{height / 2 + 4}" text-anchor="end">{low:g}'
        "</text>"
    )
    below = "".join(
        f'<text class="tick" x="{x}" y="{height - 2}" text-anchor="middle">{escape(name)}</text>'
        for x, name in zip((left, right), names, strict=True)
    )
    return _svg(width, height, "Returns of both policies", "".join(parts) + ends + below)


def interval_rows(
    rows: Sequence[tuple[str, float, float, float, bool]], mark: float | None, label: str
) -> str:
    """Values with the intervals they lie in, one below the other, on one axis.

    Args:
        rows: A name, the value, the interval's ends, and whether it is one of several answers
            rather than what they are held against.
        mark: A value to draw a line at.
        label: What the chart shows.
    """
    ends = [end for _, value, low, high, _ in rows for end in (value, low, high)]
    ends = [end for end in [*ends, *([] if mark is None else [mark])] if math.isfinite(end)]
    low_end, high_end = min(ends), max(ends)
    span = (high_end - low_end) or abs(high_end) or 1.0
    left, width, tall = 210, 560, 34

    def place(value: float) -> float:
        inside = min(max(value, low_end), high_end)
        return left + 12 + (width - 24) * (inside - low_end) / span

    parts = []
    if mark is not None:
        parts.append(
            f'<line class="axis" stroke-dasharray="4 4" x1="{place(mark):.1f}" y1="2" '
            f'x2="{place(mark):.1f}" y2="{len(rows) * tall + 4}"/>'
        )
    for number, (name, value, low, high, is_answer) in enumerate(rows):
        middle = number * tall + tall / 2 + 2
        kind = "dot" if is_answer else "track"
        parts.append(
            f"<g><title>{escape(name)}: {value:.6g}, from {low:.6g} to {high:.6g}</title>"
            f'<text class="name" x="{left - 10}" y="{middle + 4}" text-anchor="end">'
            f'{escape(_cut(name, 30))}</text><line class="pair whole" x1="{place(low):.1f}" '
            f'y1="{middle}" x2="{place(high):.1f}" y2="{middle}"/><circle class="{kind}" '
            f'cx="{place(value):.1f}" cy="{middle}" r="5"/></g>'
        )
    below = len(rows) * tall + 22
    for value in (low_end, (low_end + high_end) / 2, high_end):
        parts.append(
            f'<text class="tick" x="{place(value):.1f}" y="{below}" text-anchor="middle">'
            f"{value:.4g}</text>"
        )
    return _svg(left + width + 30, below + 8, label, "".join(parts))


def count_bars(
    counts: Sequence[int], labels: Sequence[str], titles: Sequence[str], label: str
) -> str:
    """How many there are of each of some kinds, as bars.

    Args:
        counts: One for each bar.
        labels: Below the bars; empty ones leave room.
        titles: What each bar says when pointed at.
        label: What the chart shows.
    """
    most, wide = max(counts) or 1, 34
    parts = []
    for place, (count, below, title) in enumerate(zip(counts, labels, titles, strict=True)):
        height, left = _HEIGHT * count / most, 20 + place * wide
        parts.append(
            f'<g><title>{escape(title)}</title><rect class="mark" x="{left + 2}" '
            f'y="{_HEIGHT - height + 16:.1f}" width="{wide - 4}" height="{height:.1f}" rx="2"/>'
            f'<text class="tick" x="{left + wide / 2}" y="{_HEIGHT - height + 12:.1f}" '
            f'text-anchor="middle">{count or ""}</text>'
            f'<text class="tick" x="{left + wide / 2}" y="{_HEIGHT + 32}" text-anchor="middle">'
            f"{escape(below)}</text></g>"
        )
    width = len(counts) * wide + 40
    line = f'<line class="axis" x1="0" y1="{_HEIGHT + 16}" x2="{width}" y2="{_HEIGHT + 16}"/>'
    return _svg(width, _HEIGHT + 40, label, line + "".join(parts))


def curves(
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]], chosen: str, label: str
) -> str:
    """Values over steps, a line each; the chosen one is drawn above the others.

    Args:
        lines: A name, the steps in order, and the values.
        chosen: The name of the one that matters most.
        label: What the chart shows.
    """
    drawn = [(name, *_thinned(steps, values)) for name, steps, values in lines if values]
    far = max((steps[-1] for _, steps, _ in drawn), default=1.0) or 1.0
    low = min((min(values) for *_, values in drawn), default=0.0)
    high = max((max(values) for *_, values in drawn), default=1.0)
    span = (high - low) or 1.0
    left, top, width, height = 64, 10, 720, 240

    def across(step: float) -> float:
        return left + width * step / far

    def up(value: float) -> float:
        return top + height * (1 - (value - low) / span) if high > low else top + height / 2

    parts = []
    for value in (low, (low + high) / 2, high) if high > low else (low,):
        parts.append(
            f'<line class="axis" x1="{left}" y1="{up(value):.1f}" x2="{left + width}" '
            f'y2="{up(value):.1f}"/><text class="tick" x="{left - 8}" y="{up(value) + 4:.1f}" '
            f'text-anchor="end">{value:.4g}</text>'
        )
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        parts.append(
            f'<text class="tick" x="{across(far * share):.1f}" y="{top + height + 20}" '
            f'text-anchor="{anchor}">{far * share:,.0f}</text>'
        )
    for name, steps, values in sorted(drawn, key=lambda line: line[0] == chosen):
        kind = "curve" if name == chosen else "curve other"
        places = zip(steps, values, strict=True)
        points = " ".join(f"{across(step):.1f},{up(value):.1f}" for step, value in places)
        x, y = f"{across(steps[-1]):.1f}", f"{up(values[-1]):.1f}"
        end = f'<circle class="dot" cx="{x}" cy="{y}" r="3.5"/>'
        parts.append(
            f"<g><title>{escape(name)}: {values[-1]:.5g} at the end</title>"
            f'<polyline class="{kind}" points="{points}"/>{end if name == chosen else ""}</g>'
        )
    return _svg(left + width + 16, top + height + 28, label, "".join(parts))


def banded_curves(
    ways: Sequence[tuple[str, Sequence[tuple[Sequence[float], Sequence[float]]]]],
    mark: float,
    mark_name: str,
    label: str,
) -> str:
    """Up to three kinds of runs: the median of each, in the band of its lowest and highest.

    Args:
        ways: A name, and for each run the steps in order and the values.
        mark: A value to draw a line at.
        mark_name: What it is.
        label: What the chart shows.
    """
    left, top, width, height = 48, 30, 720, 260
    every = [value for _, runs in ways for _, values in runs for value in values]
    low, high = min(0.0, mark, *every), max([mark, *every])
    far = max(steps[-1] for _, runs in ways for steps, _ in runs)

    def up(value: float) -> float:
        return top + height * (1 - (value - low) / (high - low))

    def point(step: float, value: float) -> str:
        return f"{left + width * step / far:.1f},{up(value):.1f}"

    parts = []
    for share in (0.0, 0.5, 1.0):
        y, value = top + height * (1 - share), low + (high - low) * share
        parts.append(
            f'<line class="axis" x1="{left}" y1="{y}" x2="{left + width}" y2="{y}"/>'
            f'<text class="tick" x="{left - 8}" y="{y + 4}" text-anchor="end">{value:.4g}'
            f'</text><text class="tick" x="{left + width * share}" y="{top + height + 20}" '
            f'text-anchor="{("start", "middle", "end")[round(2 * share)]}">{far * share:,.0f}'
            "</text>"
        )
    for number, ((name, runs), kind) in enumerate(zip(ways, ("one", "two", "three"), strict=False)):
        count = min(len(steps) for steps, _ in runs)
        at = [median(steps[place] for steps, _ in runs) for place in range(count)]
        rows = [sorted(values[place] for _, values in runs) for place in range(count)]
        ends = [point(step, row[0]) for step, row in zip(at, rows, strict=True)]
        ends += [point(step, row[-1]) for step, row in zip(reversed(at), rows[::-1], strict=True)]
        middle = " ".join(point(step, median(row)) for step, row in zip(at, rows, strict=True))
        parts.append(
            f'<g class="{kind}"><polygon class="band" points="{" ".join(ends)}"/>'
            f'<polyline class="way" points="{middle}"/>'
            f'<text class="label" x="{left + number * 180}" y="16">{escape(name)}</text></g>'
        )
    y = up(mark)
    parts.append(
        f'<line class="arrow" stroke-dasharray="4 4" x1="{left}" y1="{y:.1f}" x2="{left + width}" '
        f'y2="{y:.1f}"/><text class="tick" x="{left + width}" y="16" text-anchor="end">'
        f"- - {escape(mark_name)}: {mark:.4g}</text>"
    )
    return _svg(left + width + 16, top + height + 28, label, "".join(parts))


def alone(svg: str) -> str:
    """A chart as a picture that needs no page around it."""
    opened, _, rest = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).partition(
        ">"
    )
    return f"{opened}>{_ALONE}{rest}"


_ALONE = """<style>text{font:11px system-ui,sans-serif;fill:#5b6675}.name{font-size:12.5px;
font-weight:600;fill:#1c2330}.axis{stroke:#dfe4ea}.box{fill:none;stroke:#98a2ad;stroke-width:1.5}
.arrow{fill:none;stroke:#5b6675;stroke-width:1.5}.pair{stroke:#3a6fb8;opacity:.8;stroke-width:5;
stroke-linecap:round}.dot{fill:#3a6fb8}.track{fill:#98a2ad}.way{fill:none;stroke-width:2.2}
.band{opacity:.16}.one{--way:#3a6fb8}.two{--way:#c8792f}.three{--way:#1f8a5b}.way{stroke:var(--way)}
.band{fill:var(--way)}.label{fill:var(--way);font-weight:600}
@media(prefers-color-scheme:dark){text{fill:#9aa6b4}.name{fill:#e7ebf0}.axis{stroke:#313a46}}
</style>"""


def _thinned(
    steps: Sequence[float], values: Sequence[float]
) -> tuple[Sequence[float], Sequence[float]]:
    """At most as many points as can be told apart, each the mean of its part."""
    count = len(values)
    if count <= _MOST_POINTS:
        return steps, values
    edges = [round(place * count / _MOST_POINTS) for place in range(_MOST_POINTS + 1)]
    parts = list(pairwise(edges))
    return (
        [steps[end - 1] for _, end in parts],
        [sum(values[begin:end]) / (end - begin) for begin, end in parts],
    )


def flow(boxes: Sequence[tuple[str, str]], between: Sequence[str] = ()) -> str:
    """Pieces in the order in which data passes them, as boxes joined by arrows.

    Args:
        boxes: A title and a line of detail for each.
        between: What is said on the arrow behind each box; empty where nothing is.
    """
    width, height, per_row = 252, 46, 3
    gap, drop = (110, 36) if any(between) else (26, 26)
    rows = (len(boxes) + per_row - 1) // per_row
    parts = []
    for number, (title, detail) in enumerate(boxes):
        row, column = divmod(number, per_row)
        left, top = column * (width + gap), row * (height + drop) + 2
        parts.append(
            f'<g><title>{escape(title)} {escape(detail)}</title><rect class="box" x="{left + 1}" '
            f'y="{top}" width="{width}" height="{height}" rx="6"/>'
            f'<text class="name" x="{left + 12}" y="{top + 20}">{escape(_cut(title, 30))}</text>'
            f'<text class="tick" x="{left + 12}" y="{top + 36}">{escape(_cut(detail, 40))}</text>'
            "</g>"
        )
        if number + 1 < len(boxes):
            label = escape(_cut(between[number], 18)) if number < len(between) else ""
            if column + 1 < per_row:
                start, middle = left + width + 1, top + height / 2
                parts.append(
                    f'<path class="arrow" d="M{start} {middle}h{gap - 7}m-5 -4l6 4l-6 4"/>'
                    f'<text class="tick" x="{start + gap / 2 - 4}" y="{middle - 6}" '
                    f'text-anchor="middle">{label}</text>'
                )
            else:
                below, under = left + width / 2, top + height
                back = below - (width + gap) * (per_row - 1)
                parts.append(
                    f'<path class="arrow" d="M{below} {under}v{drop / 2}H{back:.0f}'
                    f'v{drop / 2 - 4}m-4 -5l4 6l4 -6"/>'
                    f'<text class="tick" x="{below - 8}" y="{under + 13}" text-anchor="end">'
                    f"{label}</text>"
                )
    columns = min(len(boxes), per_row)
    full_width = columns * (width + gap) - gap + 4
    return _svg(
        full_width, rows * (height + drop) - drop + 6, "The pieces in order", "".join(parts)
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _svg(width: float, height: float, label: str, body: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}">{body}</svg>'
    )
