"""The page of `rlconnect adapt`: what changed, what absorbs it, what is asked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ..core.visible import visible
from .scan_table import shell_path

if TYPE_CHECKING:
    from ..bridge.adapt import Suggestion
    from ..bridge.changes import SpaceDiff


def adapt_page(
    path: str,
    env: str | None,
    suggestion: Suggestion,
    steps: Mapping[str, Sequence[str]],
    is_settled: bool,
    written: str | None,
) -> RenderableType:
    """Changes with their steps and questions, then the command that goes on from here."""
    lines = [
        *_part("what it sees", suggestion.observations),
        Text(),
        *_part("what it does", suggestion.actions),
        Text(),
    ]
    options = "".join(
        f" --{name} {shlex.quote(step)}" for name, listed in steps.items() for step in listed
    )
    command = f"rlconnect adapt {shell_path(path)} --env {shlex.quote(str(env))}{options}"
    if written is not None and is_settled:
        lines.append(_pair("written", written, "good"))
    elif is_settled:
        lines.append(_pair("next", f"{command} --out DIR", "command"))
    else:
        lines.append(_pair("open", "nothing is decided for you: say your steps, as below", "warn"))
        lines.append(_pair("next", f"{command} --out DIR", "command"))
    return Group(*lines)


def _part(title: str, diff: SpaceDiff) -> list[Text]:
    lines = [Text(title, "title")]
    if not diff.changes:
        return [*lines, Text("  as it was", "good")]
    for change in diff.changes:
        mark, style = ("●", "good") if change.is_sure else ("◐", "warn")
        first, *rest = map(visible, str(change).splitlines())
        lines.append(Text.assemble((f"  {mark} ", style), first))
        lines += [Text(f"    {line.strip()}", "label") for line in rest]
    return lines


def _pair(word: str, text: str, style: str) -> Text:
    return Text.assemble((f"{word:<8}", "label"), (visible(text, 4000), style))
