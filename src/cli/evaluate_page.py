"""The output of `rlconnect evaluate`: estimates with their intervals, and their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..core.text.visible import visible

if TYPE_CHECKING:
    from ..bridge.over_data.appraisal import Appraisal, Weights
    from ..core.formulas.intervals import Interval

TITLES: Final = {
    "is": "is: importance sampling",
    "pdis": "pdis: per-decision importance sampling",
    "wis": "wis: weighted importance sampling",
    "dm": "dm: direct method (fitted Q)",
    "dr": "dr: doubly robust",
}
_Row = tuple[str, float, "Interval"]


def evaluate_page(appraisal: Appraisal) -> RenderableType:
    """The conclusion, then the policy, the other one, and the difference between them."""
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
            _table(rows),
            *(Text(visible(line)) for line in difference_words(appraisal)),
        ]
    return Group(*lines, Text())


def _worth(appraisal: Appraisal) -> list[RenderableType]:
    rows: list[_Row] = [("as recorded", appraisal.behavior, appraisal.behavior_interval)]
    rows += [(TITLES[name], e.v_target, e.interval) for name, e in appraisal.estimates.items()]
    lines: list[RenderableType] = [
        Text(),
        _table(rows),
        *(Text(f"! {finding}", "bad") for finding in appraisal.findings),
        *(Text(f"· {note}", "label") for note in appraisal.notes),
    ]
    if appraisal.weights is not None:
        lines += [Text(), *(Text(line) for line in weight_words(appraisal.weights))]
    return lines


def _table(rows: list[_Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("method")
    for head in ("value", "from", "to (95 %)"):
        table.add_column(head, justify="right")
    for name, value, interval in rows:
        table.add_row(name, f"{value:.5g}", f"{interval.low:.5g}", f"{interval.high:.5g}")
    return table


def answer(appraisal: Appraisal) -> str:
    """The answer in a few words."""
    return "the data can answer" if appraisal.answers else "the data cannot answer this"


def weight_words(weights: Weights) -> list[str]:
    """How much of the data speaks for a policy, in sentences."""
    sentences = [
        f"{weights.episodes:,} episodes are worth {weights.effective:,.1f} of its own "
        f"({weights.effective / weights.episodes:.0%}, the effective sample size)",
        f"the heaviest hundredth of them has {weights.largest_share:.0%} of all weight",
        f"weights have a mean of {weights.mean:.3g} ({interval_text(weights.mean_interval)}); "
        "1 is due",
    ]
    if weights.zero_share:
        sentences.append(f"{weights.zero_share:.0%} of them have none at all")
    return sentences


def difference_words(appraisal: Appraisal) -> list[str]:
    """What the differences from another policy amount to."""
    other = appraisal.against
    if other is None or not appraisal.differences:
        return []
    better = [name for name, (_, interval) in appraisal.differences.items() if interval.low > 0]
    worse = [name for name, (_, interval) in appraisal.differences.items() if interval.high < 0]
    sentences = []
    if better:
        sentences.append(f"{appraisal.policy} is worth more by {', '.join(better)}")
    if worse:
        sentences.append(f"{other.policy} is worth more by {', '.join(worse)}")
    return sentences or ["no method tells them apart"]


def interval_text(interval: Interval) -> str:
    """An interval for people."""
    return f"{interval.low:.5g} to {interval.high:.5g}"
