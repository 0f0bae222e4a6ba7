"""The page of `rlconnect adapt`: what changed, what absorbs it, what is asked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..core.text.visible import visible
from ..core.vault.next_steps import free_name
from .command_line import given_words

if TYPE_CHECKING:
    from ..bridge.adapting.adapt import Suggestion
    from ..bridge.adapting.changes import SpaceDiff


def adapt_page(suggestion: Suggestion, is_settled: bool, written: str | None) -> RenderableType:
    """Changes with their steps and questions, and what was written."""
    lines = [
        *_part("what it sees", suggestion.observations),
        Text(),
        *_part("what it does", suggestion.actions),
        Text(),
    ]
    if written is not None:
        lines.append(_pair("written", written, "good"))
    elif not is_settled:
        lines.append(_pair("open", "nothing is decided for you: say your steps, as below", "warn"))
    return Group(*lines)


def next_command(
    path: str, steps: Mapping[str, Sequence[str]], *, is_open: bool = False
) -> RenderableType:
    """The command that goes on from here; to be printed without wrapping."""
    words = list(given_words())
    if "--out" not in words:
        words += ["--out", free_name(path, "adapted")]
    if is_open and not any(steps.values()):
        words.append("--yes")
    for name, listed in steps.items():
        if f"--{name}" not in words:
            words += [word for step in listed for word in (f"--{name}", step)]
    words = [word for word in words if word not in ("--dry-run", "--json")]
    return _pair("next", shlex.join(["rlconnect", *words]), "command")


def _part(title: str, diff: SpaceDiff) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(title, "title")]
    if not diff.changes:
        return [*lines, Text("  as it was", "good")]
    for change in diff.changes:
        mark, style = ("●", "good") if change.is_sure else ("◐", "warn")
        first, *rest = map(visible, str(change).splitlines())
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row(Text(f"  {mark}", style), Text(first))
        for line in rest:
            grid.add_row("", Text(line.strip(), "label"))
        lines.append(grid)
    return lines


def _pair(word: str, text: str, style: str) -> Text:
    return Text.assemble((f"{word:<8}", "label"), (visible(text, 4000), style))
