"""What pages say of an appraisal: names of methods, sentences, and bins of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from ...core.formulas.intervals import Interval
    from .appraisal import Appraisal, Weights

TITLES: Final = {
    "is": "is: by decision",
    "pdis": "pdis: by decision",
    "tis": "tis: by whole episodes",
    "wis": "wis: weighted, RLlib's",
    "snpdis": "snpdis: self-normalised",
    "sntis": "sntis: whole, self-normalised",
    "dm": "dm: a model of values",
    "dr": "dr: doubly robust",
    "sndr": "sndr: dr, self-normalised",
}
_DECADES: Final = 5


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


def bins(weights: Weights) -> tuple[list[int], list[str], list[str]]:
    """Episodes by the power of ten of their weights, half powers apart: counts, labels, titles."""
    edges = np.linspace(-_DECADES, _DECADES, 4 * _DECADES + 1)
    inside = np.clip(weights.logarithms, -_DECADES, _DECADES - 1e-9)
    counts = np.histogram(inside, edges)[0].tolist()
    used = [place for place, count in enumerate(counts) if count]
    first, last = (min(used), max(used) + 1) if used else (0, 1)
    places = range(max(first - 1, 0), min(last + 1, len(counts)))
    labels = [f"{10.0 ** edges[place]:g}" if place % 2 == 0 else "" for place in places]
    titles = [
        f"{counts[place]} episodes of weight {10.0 ** edges[place]:.2g} to "
        f"{10.0 ** edges[place + 1]:.2g}"
        for place in places
    ]
    return [counts[place] for place in places], labels, titles
