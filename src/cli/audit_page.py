"""The page `--audit` shows: what an ordinary unpickler would call, the dangerous in red."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ..core.text.visible import visible
from ..core.vault.audit.files import Audit, audit
from ..core.vault.next_steps import short_path
from ..core.vault.records.records import CallRecord
from .options import DONE, FINDING, MISTAKE
from .printing import print_json, show

_STYLES: Final = {"runner": "bad", "unknown": "warn", "author": "name", "rebuilding": "good"}
_TITLES: Final = {
    "runner": "runs programs, or reaches what does",
    "unknown": "unknown: treat as code",
    "author": "code of its author",
    "rebuilding": "harmless rebuilding",
}
_MOST_LINES: Final = 40
_MOST_NAMES: Final = 8


def show_audits(paths: Sequence[str | os.PathLike[str]], *, as_json: bool, one: bool = True) -> int:
    """Print an audit of each path and give the exit code."""
    audits = [audit(path) for path in paths]
    if as_json:
        data = [audited.as_data() for audited in audits]
        print_json(data[0] if one else data)
    else:
        for audited in audits:
            show(audit_page(audited))
        if not one:
            bad = sum(bool(audited.unsafe) for audited in audits)
            show(Text(f"{len(audits)} audited, {bad} would run programs", "title"))
    if any(audited.unsafe for audited in audits):
        return FINDING
    return MISTAKE if any(audited.unread for audited in audits) else DONE


def audit_page(audited: Audit) -> RenderableType:
    """Everything that was named, by kind, the dangerous first."""
    parts: list[RenderableType] = [_header(audited)]
    for kind, title in _TITLES.items():
        calls = audited.of_kind(kind)
        if calls:
            parts += [Text(), Rule(Text(title, style=_STYLES[kind]), align="left", style="dim")]
            parts += _groups(calls) if kind == "rebuilding" else _lines(calls, _STYLES[kind])
    if audited.unread:
        parts += [Text(), Rule(Text("not read to the end", style="bad"), align="left", style="dim")]
        parts += [Text(f"  {visible(problem)}") for problem in audited.unread[:_MOST_LINES]]
    return Group(*parts, Text())


def _header(audited: Audit) -> Panel:
    if audited.unsafe:
        verdict = "unsafe: opened by an ordinary unpickler, it runs programs"
        style, mark = "bad", "○"
        rest = "Do not open it with pickle, torch.load or Ray; rlconnect reads it as data."
    elif audited.unread:
        verdict = "not known: not every file can be read to its end"
        style, mark = "warn", "◐"
        rest = "What can be read runs no programs."
    else:
        verdict = "nothing here runs programs"
        style, mark = "good", "●"
        rest = "All that these files name rebuilds data."
        if audited.of_kind("author") or audited.of_kind("unknown"):
            rest = "It names code beside RLlib's own: whoever opens it elsewhere trusts that code."
    count = len(audited.files)
    files = f"{count} file{'' if count == 1 else 's'} with pickles"
    body = Text.assemble((f"{mark} {verdict}", style), f"\n{rest}", (f"\n{files}", "label"))
    return Panel(
        body,
        title=Text("what an ordinary unpickler would call", "title"),
        subtitle=Text(visible(short_path(audited.path)), "label"),
        title_align="left",
        subtitle_align="left",
        box=box.ROUNDED,
        border_style=style,
        padding=(1, 2),
    )


def _lines(calls: Sequence[CallRecord], style: str) -> list[RenderableType]:
    """Two lines for each name: what would be called, and what that does, how often and where."""
    lines = []
    for call in calls[:_MOST_LINES]:
        name = Text(visible(call.name), style)
        if call.how == "called" and call.kind != "author":
            name.append(f"({visible(call.arguments, 160)})", "default")
        where = visible(call.where, 400)
        details = f"{visible(call.what)}, {call.how} {_times(call.count)}, in {where}"
        lines += [(name, 2), (Text(details, "label"), 4)]
    if len(calls) > _MOST_LINES:
        lines.append((Text(f"and {len(calls) - _MOST_LINES} more: see --json", "label"), 2))
    return [Padding(line, (0, 0, 0, left), expand=False) for line, left in lines]


def _groups(calls: Sequence[CallRecord]) -> list[RenderableType]:
    """A line for each sort of harmless thing, with some of the names."""
    groups: dict[str, list[CallRecord]] = {}
    for call in calls:
        groups.setdefault(call.what, []).append(call)
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", style="label")
    for what, members in groups.items():
        names = [visible(call.name.rpartition(".")[2], 60) for call in members[:_MOST_NAMES]]
        more = f" and {len(members) - _MOST_NAMES} more" if len(members) > _MOST_NAMES else ""
        table.add_row(Text(f"  {visible(what)}", "good"), Text(", ".join(names) + more))
    return [table]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
