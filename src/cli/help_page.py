"""The page `rlconnect --help` shows: a tour, not a grammar."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .tour import PROOF, TOUR

_OPTIONS: Final = (
    ("--policy ID", "one policy of several, again for more; --all for all"),
    ("--env ENV", "an id of gymnasium's, MODULE:NAME or FILE.py:NAME of your own"),
    ("--env-config K=V", "its settings; the checkpoint's own if left out"),
    ("--map AGENT=ID", "who plays whom, where there are several agents"),
    ("--trust FILE.py:NAME", "code of yours that a checkpoint names; --import FILE.py"),
    ("--model FILE", "a network as data; --config FILE, --algorithm NAME, --trained-in ENV"),
    ("--out WHERE", "write; --dry-run does all but that, --yes asks nothing"),
    ("--json", "one document in place of a page, of what failed too"),
    ("--limit NAME=NUMBER", "before the command: files of yours that ask for more"),
)
_PATHS: Final = (
    ("a folder", "that holds policy_state, module_state or such files"),
    ("a file", "named checkpoint-<n>, as Ray 2.0 and older wrote them; .zip, .tgz, .onnx, .pt2"),
    ("a URL", "s3://..., hf://...; with the extra rlconnect[remote]"),
    ("what is left", "of any: a lost file does not stop the others"),
)
_CODES: Final = (
    ("0", "done"),
    ("1", "a finding: something is missing, damaged, different or open"),
    ("2", "it could not be done: a mistake in use, nothing to read at that path"),
    ("3", "code of yours failed, such as the environment"),
)


def help_page(version: str) -> RenderableType:
    """The tour, what a path may be, and what exit codes mean."""
    headline = Text.assemble(
        ("rlconnect", "title"), f" {version}", ("  RLlib checkpoints without Ray", "label")
    )
    promise = Text(
        "Nothing in a checkpoint is ever run: a stranger's file is safe to look at.", "good"
    )
    return Group(
        headline,
        Text(),
        Text("a first tour", "title"),
        _steps(TOUR),
        Text(),
        Text("let it act, adapt it, prove it", "title"),
        _steps(PROOF),
        Text(),
        Text("said alike everywhere", "title"),
        _columns(_OPTIONS, "name"),
        Text(),
        Text("a checkpoint is", "title"),
        _columns(_PATHS, "name"),
        Text(),
        Text("exit codes", "title"),
        _columns(_CODES, "number"),
        Text(),
        promise,
        Text("all options of a command", "label"),
        Text("  rlconnect help verify", "command"),
    )


def _steps(lines: tuple[tuple[str, str], ...]) -> RenderableType:
    """Commands, each by itself on a line below what it is for."""
    rows = ((Text(f"  {right}", "label"), Text(f"    {left}", "command")) for left, right in lines)
    return Group(*(part for row in rows for part in row))


def _columns(lines: tuple[tuple[str, str], ...], style: str) -> RenderableType:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style=style, no_wrap=True)
    table.add_column()
    for left, right in lines:
        table.add_row(Text(f"  {left}"), Text(right))
    return table
