"""The page of `rlconnect evaluate`: estimates with their intervals, and whether to believe them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ..bridge.over_data.page import TITLES, answer, bins, difference_words, weight_words
from ..core.text.visible import visible

if TYPE_CHECKING:
    from ..bridge.over_data.appraisal import Appraisal, Weights
    from ..core.formulas.intervals import Interval

_NARROW: Final = 9
_WIDE: Final = 41
_BAR: Final = 30
_Row = tuple[str, float, "Interval"]


def evaluate_page(appraisal: Appraisal) -> RenderableType:
    """The answer on top, then the policy, the other one, and how far they are apart."""
    style = ("● ", "good") if appraisal.answers else ("○ ", "bad")
    lines: list[RenderableType] = [
        Text.assemble(
            (visible(appraisal.policy), "title"), ("  on  ", "label"), visible(appraisal.data)
        ),
        Text(
            f"{appraisal.episodes:,} recorded episodes of {appraisal.steps:,} steps, "
            f"discount {appraisal.gamma:g}",
            "label",
        ),
        Text(style[0] + answer(appraisal), style[1]),
        *_worth(appraisal),
    ]
    other = appraisal.against
    if other is not None:
        lines += [Text(), Text(visible(other.policy), "title"), *_worth(other)]
    if appraisal.differences:
        rows: list[_Row] = [
            (TITLES[name], more, interval)
            for name, (more, interval) in appraisal.differences.items()
        ]
        lines += [
            Text(),
            Text("difference on the same episodes", "title"),
            _table(rows, 0.0),
            *(Text(visible(line)) for line in difference_words(appraisal)),
        ]
    return Group(*lines, Text())


def _worth(appraisal: Appraisal) -> list[RenderableType]:
    rows: list[_Row] = [("as recorded", appraisal.behavior, appraisal.behavior_interval)]
    rows += [(TITLES[name], e.v_target, e.interval) for name, e in appraisal.estimates.items()]
    lines: list[RenderableType] = [
        Text(),
        _table(rows, appraisal.behavior),
        *(Text(f"! {finding}", "bad") for finding in appraisal.findings),
        *(Text(f"· {note}", "label") for note in appraisal.notes),
    ]
    if appraisal.weights is not None:
        lines += [Text(), *(Text(line) for line in weight_words(appraisal.weights))]
        lines.append(_weights(appraisal.weights))
    return lines


def _table(rows: list[_Row], mark: float) -> Table:
    """Values with their intervals, drawn on one axis with a mark on it."""
    ends = [
        end for _, value, interval in rows for end in (value, interval.low, interval.high, mark)
    ]
    finite = [end for end in ends if np.isfinite(end)]
    low, high = min(finite), max(finite)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("method")
    for head in ("value", "from", "to (95 %)"):
        table.add_column(head, justify="right")
    table.add_column("")
    for name, value, interval in rows:
        table.add_row(
            name,
            f"{value:.5g}",
            f"{interval.low:.5g}",
            f"{interval.high:.5g}",
            _Drawn(value, interval, (low, high), mark),
        )
    return table


class _Drawn(NamedTuple):
    """A value with its interval on an axis, as wide as the terminal leaves room for."""

    value: float
    interval: Interval
    axis: tuple[float, float]
    mark: float

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(_NARROW, _WIDE)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = max(min(options.max_width, _WIDE), 1)
        low, high = self.axis
        span = (high - low) or 1.0

        def place(at: float) -> int:
            return round((wide - 1) * (min(max(at, low), high) - low) / span)

        cells = [" "] * wide
        cells[place(self.mark)] = "┊"
        for cell in range(place(self.interval.low), place(self.interval.high) + 1):
            cells[cell] = "─"
        cells[place(self.value)] = "●"
        yield Text("".join(cells), "name")


def _weights(weights: Weights) -> Table:
    """Episodes by the powers of ten of their weights, as bars."""
    counts, labels, _ = bins(weights)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="label")
    for head in ("weight", "episodes"):
        table.add_column(head, justify="right")
    table.add_column("")
    most = max(counts) or 1
    for count, label in zip(counts, labels, strict=True):
        table.add_row(label, f"{count:,}" if count else "", Text("█" * round(_BAR * count / most)))
    return table
