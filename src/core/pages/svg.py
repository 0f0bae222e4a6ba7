"""The parts of charts: round numbers on an axis, a frame, lines and words as SVG.

Places along a chart are shares of its width, in percent, so that a chart is as wide as its page
while its words keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

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
