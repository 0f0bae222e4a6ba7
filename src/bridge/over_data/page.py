"""The report of an appraisal: one HTML page, in the looks of every other report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...core.pages.charts import bars, interval_rows
from ...core.pages.document import document, pill, table
from ...core.text.visible import visible_html as escape
from ..proof.page import evidence_table, short

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


def page_of(appraisal: Appraisal) -> str:
    """The whole page."""
    other = appraisal.against
    names = escape(short(appraisal.policy))
    if other is not None:
        names += f" <span class=soft>against</span> {escape(short(other.policy))}"
    body = [
        f"<h1>{names}</h1>",
        pill(answer(appraisal), is_good=appraisal.answers),
        f"<p class=soft>{appraisal.episodes:,} recorded episodes of {appraisal.steps:,} steps in "
        f"{escape(appraisal.data)}, discount {appraisal.gamma:g}</p>",
        *_part("What it is worth", appraisal),
    ]
    if other is not None:
        body += [*_part(f"What {short(other.policy)} is worth", other), *_differences(appraisal)]
    if appraisal.evidence is not None:
        body += ["<h2>How this was found</h2>", evidence_table(appraisal.evidence)]
    return document(f"What {appraisal.policy} is worth", body)


def _part(title: str, appraisal: Appraisal) -> list[str]:
    rows = [("as recorded", appraisal.behavior, *_ends(appraisal.behavior_interval), False)]
    rows += [
        (TITLES[name], estimate.v_target, *_ends(estimate.interval), True)
        for name, estimate in appraisal.estimates.items()
    ]
    across = "discounted return; the broken line: as recorded"
    chart = interval_rows(rows, appraisal.behavior, title, across)
    numbers = [(name, *(f"{end:.5g}" for end in ends)) for name, *ends, _ in rows]
    body = [
        f"<h2>{escape(title)}</h2>",
        f"<div class=card>{chart}</div>",
        f"<div class=card>{table(('method', 'value', 'from', 'to (95 %)'), numbers)}</div>",
        *(f'<p class="finding">{escape(_sentence(finding))}</p>' for finding in appraisal.findings),
        *(f"<p class=soft>{escape(_sentence(note))}</p>" for note in appraisal.notes),
    ]
    if appraisal.weights is not None:
        body += ["<h2>How much of the data speaks for it</h2>", _weights(appraisal.weights)]
    return body


def _weights(weights: Weights) -> str:
    counts, labels, titles = bins(weights)
    chart = bars(counts, labels, titles, "Weights of episodes", "weight of an episode")
    lines = "".join(f"<p>{escape(_sentence(words))}</p>" for words in weight_words(weights))
    return (
        f"<div class=card>{lines}<p class=soft>Episodes by how much likelier they are under the "
        f"policy:</p>{chart}</div>"
    )


def _differences(appraisal: Appraisal) -> list[str]:
    rows = [
        (TITLES[name], more, *_ends(interval), True)
        for name, (more, interval) in appraisal.differences.items()
    ]
    if not rows:
        return []
    lines = "".join(f"<p>{escape(_sentence(words))}</p>" for words in difference_words(appraisal))
    chart = interval_rows(rows, 0.0, "Differences", "how much more the first is worth")
    numbers = [
        (TITLES[name], f"{more:.5g}", interval_text(interval))
        for name, (more, interval) in appraisal.differences.items()
    ]
    return [
        "<h2>How far they are apart on the same episodes</h2>",
        f"<div class=card>{lines}{chart}</div>",
        f"<div class=card>{table(('method', 'difference', '95 %'), numbers)}</div>",
    ]


def _ends(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."
