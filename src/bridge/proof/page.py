"""The report of a comparison: one HTML page, light or dark as the reader's screen is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays.stage_differences import StageComparison
from ...core.pages.charts import agreement_bar, difference_bars, return_pairs
from ...core.pages.document import document, facts, flow, pill, table
from ...core.spaces.text import shown
from ...core.text.visible import visible_html as escape

if TYPE_CHECKING:
    from .evidence import Evidence
    from .verdict import Returns, Verdict


def page_of(verdict: Verdict) -> str:
    """The whole page for what a comparison found."""
    first = verdict.first_difference
    answer = "Both do the same" if first is None else f"They part at: {first.name}"
    return document(
        f"{verdict.ours} and {verdict.theirs}",
        [
            f"<h1>{escape(verdict.ours)} <span class=soft>and</span> {escape(verdict.theirs)}</h1>",
            pill(answer, is_good=first is None),
            *sections_of(verdict),
        ],
    )


def sections_of(verdict: Verdict) -> list[str]:
    """What a comparison found, below its title."""
    absolute = verdict.tolerance[0]
    body = [
        f"<p class=soft>{verdict.steps:,} observations {escape(verdict.source)}</p>",
        "<h2>Stage by stage</h2>",
        _table(verdict.stages),
        f"<p class=soft>{escape(_sentence(verdict.meaning()))}</p>",
        *_furthest(verdict),
        "<h2>What it does</h2>",
        *(f"<p>{escape(_sentence(sentence))}</p>" for sentence in verdict.consequences()),
        "<h2>How far numbers lie apart</h2>",
        "<p class=soft>How many numbers differ by how much; heights are logarithmic, red is beyond "
        "the tolerance.</p>",
        '<div class="grid">',
        *(
            f"<div class=card><h3>{escape(stage.name)}</h3>{difference_bars(stage, absolute)}</div>"
            for stage in verdict.stages
        ),
        "</div>",
    ]
    if verdict.returns is not None:
        body += ["<h2>What they earn</h2>", _returns(verdict, verdict.returns)]
    if verdict.pieces:
        drawn = flow(verdict.pieces)
        body += ["<h2>The way of an observation</h2>", f"<div class=card>{drawn}</div>"]
    if verdict.evidence is not None:
        body += ["<h2>How this was found</h2>", evidence_table(verdict.evidence)]
    return body


def _table(stages: tuple[StageComparison, ...]) -> str:
    rows = [
        f'<tr class="{"" if stage.is_equal else "bad"}"><td>{escape(stage.name)}</td>'
        f"<td>{stage.count:,}</td><td>{_number(stage.largest)}</td>"
        f"<td>{_number(stage.quantiles[0])}</td><td>{_number(stage.quantiles[2])}</td>"
        f"<td>{stage.agreement:.1%}</td><td>{agreement_bar(stage.agreement)}</td></tr>"
        + (f"<tr><td colspan=7 class=soft>{escape(stage.note)}</td></tr>" if stage.note else "")
        for stage in stages
    ]
    heads = ("stage", "numbers", "largest", "median", "99 %", "rows that agree", "")
    head = "".join(f"<th>{head}</th>" for head in heads)
    return f"<div class=card><table><tr>{head}</tr>{''.join(rows)}</table></div>"


def _furthest(verdict: Verdict) -> list[str]:
    """The number furthest apart, its observation, and the outputs that differ most."""
    stage = verdict.worst_stage
    if stage is None or stage.worst is None:
        return []
    worst = stage.worst
    lines = [
        f"<p>Output {escape(worst.output)}: {worst.ours:.9g} beside {worst.theirs:.9g}.</p>",
    ]
    if worst.observation is not None:
        lines.append(f"<p class=soft>On the observation {escape(shown(worst.observation))}</p>")
    rows = [(name, _number(apart)) for name, apart in stage.by_output]
    return [
        f"<h2>Furthest apart: {escape(stage.name)}</h2>",
        f"<div class=card>{''.join(lines)}{table(('output', 'largest difference'), rows)}</div>",
    ]


def evidence_table(evidence: Evidence) -> str:
    """When, where and with what something was found."""
    return facts(evidence.lines())


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def _returns(verdict: Verdict, returns: Returns) -> str:
    mean, half = returns.difference
    interval = f" &plusmn; {half:.3g} (95 %)" if np.isfinite(half) else ""
    names = (short(verdict.ours), short(verdict.theirs))
    return (
        f"<div class=card>{return_pairs(returns.ours, returns.theirs, names)}"
        f"<p>{len(returns.ours)} episodes, each alone with the same seeds: "
        f"{np.mean(returns.ours):.4g} and {np.mean(returns.theirs):.4g}, "
        f"difference {mean:.3g}{interval}.</p></div>"
    )


def short(name: str) -> str:
    """A name that fits below a chart: of a path its last part."""
    return name.rstrip("/").rpartition("/")[2][:24]


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.2g}"
