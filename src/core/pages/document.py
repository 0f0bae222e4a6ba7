"""A page of its own: one HTML file, light or dark as the reader's screen is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..text.visible import visible_html as escape
from ..version import __version__

# Rules for what is inside of charts, which notebooks need, too.
_CHARTS: Final = """
.within{fill:var(--good)}.beyond{fill:var(--bad)}.track{fill:var(--line)}
.axis{stroke:var(--line)}.tick{fill:var(--soft);font-size:11px}.name{fill:var(--ink);
font-size:12.5px;font-weight:600}.box{fill:none;stroke:var(--line);stroke-width:1.5}
.arrow{fill:none;stroke:var(--soft);stroke-width:1.5}.pair{stroke:var(--mark);opacity:.45;
stroke-width:1.5}.whole{opacity:.8;stroke-width:5;stroke-linecap:round}
.curve{fill:none;stroke:var(--mark);stroke-width:2;
stroke-linejoin:round}.other{stroke:var(--soft);stroke-width:1.2;opacity:.6}
.way{fill:none;stroke:var(--way);stroke-width:2.2}.band{fill:var(--way);opacity:.16}
.label{fill:var(--way);font-size:12.5px;font-weight:600}.one{--way:var(--mark)}.two{--way:#c8792f}
.three{--way:var(--good)}.dot,.mark{fill:var(--mark)}.dot{stroke:var(--card);stroke-width:2}
"""
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
.finding{color:var(--bad);font-weight:600}.wide svg{min-width:600px}
.card code{font-size:13px;overflow-wrap:anywhere}
footer{margin-top:48px;font-size:13px}
"""


def document(title: str, body: Sequence[str]) -> str:
    """A page of its own that needs nothing else.

    Args:
        title: What a browser calls it.
        body: HTML, in order.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{_CHARTS}</style></head><body><main>"
        + "\n".join([*body, f"<footer class=soft>rlconnect {escape(__version__)}</footer>"])
        + "</main></body></html>\n"
    )


def pill(answer: str, *, is_good: bool) -> str:
    """The answer in a word or two, green or red."""
    return f'<div class="verdict{"" if is_good else " bad"}">{escape(answer)}</div>'


def inside(body: str) -> str:
    """A drawing for a page of others, such as a notebook: in the colours of the text around it.

    Args:
        body: HTML.
    """
    colours = (
        "--ink:currentColor;--card:transparent;--mark:#5a8fd0;--good:#2f9a6b;--bad:#d8543f;"
        "--soft:color-mix(in srgb,currentColor 65%,transparent);"
        "--line:color-mix(in srgb,currentColor 35%,transparent)"
    )
    style = f".rlconnect{{{colours};font:14px/1.5 system-ui,sans-serif;{_CHARTS}}}"
    return f'<div class="rlconnect"><style>{style}</style>{body}</div>'
