"""A page of its own: one HTML file, light or dark as the reader's screen is, and its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..text.visible import visible_html as escape
from ..version import __version__

COLOURS: Final = """
:root{color-scheme:light dark;--ink:#1c2330;--soft:#5b6675;--line:#dfe4ea;--page:#f6f7f9;
--card:#fff;--good:#1f8a5b;--bad:#c8442f;--mark:#3a6fb8;--two:#b5651d;--three:#1f8a5b;
--four:#8557b0;--five:#0f7f93;--six:#b84a7f}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e7ebf0;--soft:#9aa6b4;--line:#313a46;
--page:#14181e;--card:#1c222a;--good:#4cc38a;--bad:#f0735d;--mark:#7fb0f0;--two:#f0a860;
--three:#4cc38a;--four:#bf9be6;--five:#5cc4d6;--six:#ea8fb8}}
"""
CHART_STYLE: Final = """
.chart{display:block;width:100%;overflow:visible}.within{fill:var(--good)}.beyond{fill:var(--bad)}
.mark{fill:var(--mark)}.rest{fill:var(--line)}.axis{stroke:var(--line)}
.tick{fill:var(--soft);font-size:11px}.name{fill:var(--ink);font-size:12.5px;font-weight:600}
.halo{paint-order:stroke;stroke:var(--card);stroke-width:5px;stroke-linejoin:round}
.one{--way:var(--mark)}.two{--way:var(--two)}.three{--way:var(--three)}.four{--way:var(--four)}
.five{--way:var(--five)}.six{--way:var(--six)}.other{--way:var(--soft);opacity:.55}
.curve,.wire{fill:none;stroke:var(--way,var(--mark));stroke-width:2;stroke-linejoin:round;
vector-effect:non-scaling-stroke}.band{fill:var(--way);opacity:.16}
.label{fill:var(--way,var(--ink));font-size:12.5px;font-weight:600}
.goal{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:4 4}
.pair{stroke:var(--mark);stroke-width:1.5;opacity:.5}
.whole{stroke:var(--mark);stroke-width:5;stroke-linecap:round;opacity:.55}
.dot{fill:var(--way,var(--mark));stroke:var(--card);stroke-width:1.5}.given{--way:var(--ink)}
.whole.given{stroke:var(--soft)}.end{fill:var(--ink);font-size:12px}
.hollow{fill:none;stroke:var(--soft)}
"""
_FLOW: Final = """
.flow{display:flex;flex-wrap:wrap;gap:10px 0;list-style:none;margin:6px 0;padding:0}
.flow li{display:flex;align-items:center;margin:0}
.flow div{border:1.5px solid var(--line);border-radius:7px;padding:5px 12px 6px;max-width:330px;
overflow-wrap:anywhere}.flow strong,.flow span{display:block;line-height:1.35}
.flow strong{font-size:13px;font-weight:600}.flow span{color:var(--soft);font-size:11.5px}
.flow i{font-style:normal;color:var(--soft);font-size:11px;line-height:1.1;padding:0 7px;
text-align:center}.flow i::after{content:"\\2192" / "";display:block;font-size:17px}
@media(max-width:600px){.flow{flex-direction:column;gap:0}.flow li{flex-direction:column;
align-items:stretch}.flow div{max-width:none}.flow i{padding:3px 0}
.flow i::after{content:"\\2193" / ""}}
"""
_STYLE: Final = """
*{box-sizing:border-box;print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:900px;margin:0 auto;padding:40px 24px 64px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:17px;margin:40px 0 12px;overflow-wrap:anywhere}
p{margin:4px 0;overflow-wrap:anywhere}.soft{color:var(--soft)}
.verdict{display:inline-block;margin:14px 0 10px;padding:6px 16px;border-radius:18px;
font-weight:600;color:#fff;background:var(--good)}.verdict.bad{background:var(--bad)}
@media screen and (prefers-color-scheme:dark){.verdict{color:#10151b}}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px 20px;
margin:12px 0;overflow-x:auto}table{border-collapse:collapse;width:100%}
th{text-align:right;font-weight:500;color:var(--soft);font-size:13px;padding:4px 10px;
white-space:nowrap}
td{text-align:right;padding:7px 10px;border-top:1px solid var(--line);
font-variant-numeric:tabular-nums;white-space:nowrap}tr:first-child td{border-top:0}
th:first-child,td:first-child{text-align:left;padding-left:0}
.facts td:first-child{color:var(--soft);width:24%;vertical-align:top}
.facts td{white-space:normal}.facts td+td{text-align:left;overflow-wrap:anywhere;padding-right:0}
.beside{display:grid;grid-template-columns:minmax(0,1fr) 28px minmax(0,1fr);align-items:center}
.piece{border:1.5px solid var(--line);border-radius:8px;padding:8px 12px;margin:5px 0;
overflow-wrap:anywhere;background:var(--card)}.piece b{display:block;font-size:13.5px}
.piece span{color:var(--soft);font-size:12px}.gone{border-style:dashed;background:none}
.wrapped{border-color:var(--mark)}.code{border-color:var(--bad)}.native{border-color:var(--good)}
.to{text-align:center;color:var(--soft)}td svg{vertical-align:middle}
.bad td:first-child{color:var(--bad);font-weight:600}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(320px,100%),1fr));gap:12px}
.grid .card{margin:0}.card h3{font-size:14px;margin:0 0 10px;overflow-wrap:anywhere}
.finding{color:var(--bad);font-weight:600}.card code{font-size:13px;overflow-wrap:anywhere}
footer{margin-top:48px;font-size:13px}
@media(max-width:600px){main{padding:24px 12px 40px}.card{padding:14px}h2{margin-top:32px}
.beside{grid-template-columns:1fr}.to{transform:rotate(90deg)}
.beside>:nth-child(3n){margin-bottom:18px}.facts td,.facts td:first-child{display:block;width:auto}
.facts td:first-child{padding-bottom:0;font-size:13px}.facts td+td{border:0;padding:0 0 7px}}
@media print{body{background:none}main{max-width:none;padding:0}
.card,.piece,.flow li,tr{break-inside:avoid}h1,h2,h3{break-after:avoid}}
"""


def document(title: str, body: Sequence[str]) -> str:
    """A page of its own that needs nothing else."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{COLOURS}{_STYLE}{CHART_STYLE}{_FLOW}</style></head>"
        "<body><main>"
        + "\n".join([*body, f"<footer class=soft>rlconnect {escape(__version__)}</footer>"])
        + "</main></body></html>\n"
    )


def pill(answer: str, *, is_good: bool) -> str:
    """The answer in a word or two, green or red."""
    return f'<div class="verdict{"" if is_good else " bad"}">{escape(answer)}</div>'


def facts(lines: Iterable[tuple[object, object]]) -> str:
    """Names and facts on a card: facts are texts, or escaped HTML as `Markup`."""
    rows = "".join(f"<tr><td>{_cell(name)}</td><td>{_cell(fact)}</td></tr>" for name, fact in lines)
    return f'<div class=card><table class="facts">{rows}</table></div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows below their heads; the first column names what the others measure.

    Cells are texts, numbers as texts, or `Markup`.
    """
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(each)}</td>' for each in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


class Markup(str):
    """HTML that is part of a page as it is: all that others say in it was escaped before."""


def flow(boxes: Sequence[tuple[str, str]], between: Sequence[str] = ()) -> str:
    """Pieces in the order in which data passes them, as boxes joined by arrows.

    A box is a title and a line of detail; `between` is said on the arrow behind each.
    """
    rows = []
    for number, (title, detail) in enumerate(boxes):
        label = between[number] if number < len(between) else ""
        arrow = f"<i>{escape(label)}</i>" if number + 1 < len(boxes) else ""
        below = f"<span>{escape(detail)}</span>" if detail else ""
        rows.append(f"<li><div><strong>{escape(title)}</strong>{below}</div>{arrow}</li>")
    return f'<ol class="flow">{"".join(rows)}</ol>'


def inside(body: str) -> str:
    """A drawing for a page of others, such as a notebook: in the colours of the text around it."""
    colours = (
        "--ink:currentColor;--card:transparent;--mark:#5a8fd0;--good:#2f9a6b;--bad:#d8543f;"
        "--two:#c8792f;--three:#2f9a6b;--four:#9a72c4;--five:#2a97ab;--six:#cc6a98;"
        "--soft:color-mix(in srgb,currentColor 65%,transparent);"
        "--line:color-mix(in srgb,currentColor 35%,transparent)"
    )
    style = f".rlconnect{{{colours};font:14px/1.5 system-ui,sans-serif;{CHART_STYLE}{_FLOW}}}"
    return f'<div class="rlconnect"><style>{style}</style>{body}</div>'


def _cell(content: object) -> str:
    return content if isinstance(content, Markup) else escape(content)
