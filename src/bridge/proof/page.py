"""The report of a comparison: one HTML page, light or dark as the reader's screen is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ...core.arrays.stage_differences import StageComparison
from ...core.spaces.observation_text import shown
from ...core.text.visible import visible_html as escape
from ...core.version import __version__
from .charts import agreement_bar, difference_bars, flow, return_pairs

if TYPE_CHECKING:
    from .evidence import Evidence
    from .verdict import Returns, Verdict

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c2330;--soft:#5b6675;--line:#dfe4ea;--page:#f6f7f9;
--card:#fff;--good:#1f8a5b;--bad:#c8442f;--mark:#3a6fb8}
@media(prefers-color-scheme:dark){:root{--ink:#e7ebf0;--soft:#9aa6b4;--line:#313a46;
--page:#14181e;--card:#1c222a;--good:#4cc38a;--bad:#f0735d;--mark:#7fb0f0}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:900px;margin:0 auto;padding:40px 24px 64px}
h1{font-size:26px;margin:0 0 4px;letter-spacing:-.01em}h2{font-size:17px;margin:40px 0 12px}
p{margin:4px 0}.soft{color:var(--soft)}.verdict{display:inline-block;margin:16px 0 0;
padding:6px 14px;border-radius:99px;font-weight:600;color:#fff;background:var(--good)}
.verdict.bad{background:var(--bad)}@media(prefers-color-scheme:dark){.verdict{color:#10151b}}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px 20px;
margin:12px 0;overflow-x:auto}table{border-collapse:collapse;width:100%}
th{text-align:right;font-weight:500;color:var(--soft);font-size:13px;padding:4px 10px}
td{text-align:right;padding:7px 10px;border-top:1px solid var(--line);
font-variant-numeric:tabular-nums}th:first-child,td:first-child{text-align:left;padding-left:0}
.beside{display:grid;grid-template-columns:minmax(0,1fr) 28px minmax(0,1fr);align-items:center}
.piece{border:1.5px solid var(--line);border-radius:8px;padding:8px 12px;margin:5px 0;
overflow-wrap:anywhere;background:var(--card)}.piece b{display:block;font-size:13.5px}
.piece span{color:var(--soft);font-size:12px}.gone{border-style:dashed;background:none}
.wrapped{border-color:var(--mark)}.code{border-color:var(--bad)}.native{border-color:var(--good)}
.to{text-align:center;color:var(--soft)}td.long{text-align:left;overflow-wrap:anywhere;width:72%}
td svg{vertical-align:middle}.bad td:first-child{color:var(--bad);font-weight:600}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(320px,1fr));gap:12px}
.grid .card{margin:0}.card h3{font-size:14px;margin:0 0 10px}svg{max-width:100%;height:auto}
.finding{color:var(--bad);font-weight:600}.within{fill:var(--good)}.beyond{fill:var(--bad)}.track{fill:var(--line)}
.axis{stroke:var(--line)}.tick{fill:var(--soft);font-size:11px}.name{fill:var(--ink);
font-size:12.5px;font-weight:600}.box{fill:none;stroke:var(--line);stroke-width:1.5}
.arrow{fill:none;stroke:var(--soft);stroke-width:1.5}.pair{stroke:var(--mark);opacity:.45;
stroke-width:1.5}.whole{opacity:.8;stroke-width:5;stroke-linecap:round}
.curve{fill:none;stroke:var(--mark);stroke-width:2;
stroke-linejoin:round}.other{stroke:var(--soft);stroke-width:1.2;opacity:.6}
.card code{font-size:13px;overflow-wrap:anywhere}
.dot,.mark{fill:var(--mark)}.dot{stroke:var(--card);stroke-width:2}footer{margin-top:48px;font-size:13px}
"""


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


def document(title: str, body: Sequence[str]) -> str:
    """A page of its own that needs nothing else.

    Args:
        title: What a browser calls it.
        body: HTML, in order.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        + "\n".join([*body, f"<footer class=soft>rlconnect {escape(__version__)}</footer>"])
        + "</main></body></html>\n"
    )


def pill(answer: str, *, is_good: bool) -> str:
    """The answer in a word or two, green or red."""
    return f'<div class="verdict{"" if is_good else " bad"}">{escape(answer)}</div>'


def sections_of(verdict: Verdict) -> list[str]:
    """What a comparison found, below its title."""
    absolute = verdict.tolerance[0]
    body = [
        f"<p class=soft>{verdict.steps} observations {escape(verdict.source)}</p>",
        "<h2>Stage by stage</h2>",
        _table(verdict.stages),
        f"<p class=soft>{escape(_sentence(verdict.meaning()))}</p>",
        *_furthest(verdict),
        "<h2>What it does</h2>",
        *(f"<p>{escape(_sentence(each))}</p>" for each in verdict.consequences()),
        "<h2>How far numbers lie apart</h2>",
        "<p class=soft>Each bar counts numbers that differ by up to that much; heights are "
        "logarithmic.</p>",
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
        f"<td>{stage.count}</td><td>{_number(stage.largest)}</td>"
        f"<td>{_number(stage.quantiles[0])}</td><td>{_number(stage.quantiles[2])}</td>"
        f"<td>{stage.agreement:.1%}</td><td>{agreement_bar(stage.agreement)}</td></tr>"
        + (f"<tr><td colspan=7 class=soft>{escape(stage.note)}</td></tr>" if stage.note else "")
        for stage in stages
    ]
    heads = ("stage", "numbers", "largest", "median", "99 %", "rows that agree", "")
    head = "".join(f"<th>{each}</th>" for each in heads)
    return f"<div class=card><table><tr>{head}</tr>{''.join(rows)}</table></div>"


def _furthest(verdict: Verdict) -> list[str]:
    """The number furthest apart, its observation, and the outputs that differ most."""
    stage = verdict.worst_stage
    if stage is None or stage.worst is None:
        return []
    worst = stage.worst
    told = [
        f"<p>Output {escape(worst.output)}: {worst.ours:.6g} beside {worst.theirs:.6g}.</p>",
    ]
    if worst.observation is not None:
        told.append(f"<p class=soft>On the observation {escape(shown(worst.observation))}</p>")
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{_number(apart)}</td></tr>"
        for name, apart in stage.by_output
    )
    table = f"<table><tr><th>output</th><th>largest difference</th></tr>{rows}</table>"
    return [
        f"<h2>Furthest apart: {escape(stage.name)}</h2>",
        f"<div class=card>{''.join(told)}{table}</div>",
    ]


def evidence_table(evidence: Evidence) -> str:
    """When, where and with what something was found."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td class=long>{escape(told)}</td></tr>"
        for name, told in evidence.lines()
    )
    return f"<div class=card><table>{rows}</table></div>"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def _returns(verdict: Verdict, returns: Returns) -> str:
    mean, half = returns.difference
    interval = f" &plusmn; {half:.3g} (95 %)" if np.isfinite(half) else ""
    names = (_short(verdict.ours), _short(verdict.theirs))
    return (
        f"<div class=card>{return_pairs(returns.ours, returns.theirs, names)}"
        f"<p>{len(returns.ours)} episodes, each alone with the same seeds: "
        f"{np.mean(returns.ours):.4g} and {np.mean(returns.theirs):.4g}, "
        f"difference {mean:.3g}{interval}.</p></div>"
    )


def _short(name: str) -> str:
    """A name that fits below a chart: of a path its last part."""
    return name.rstrip("/").rpartition("/")[2][:24]


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.2g}"
