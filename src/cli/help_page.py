"""The page `rlconnect --help` shows: a tour, not a grammar."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_TOUR: Final = (
    ("rlconnect scan .", "which checkpoints lie here, how whole?"),
    ("rlconnect inspect PATH", "what one is, needs, and has lost"),
    ("rlconnect inspect PATH --weights", "every array, its shape and range"),
    ("rlconnect inspect PATH --policy ID", "one policy or module of many"),
    ("rlconnect inspect PATH --json", "all of it, config included, for a script"),
    ("rlconnect inspect PATH --audit", "what would run if others opened it?"),
)
_PROOF: Final = (
    ("rlconnect rollout PATH --env CartPole-v1", "let it play, see what it earns"),
    ("rlconnect adapt PATH --env ENV", "the environment changed: what absorbs it?"),
    ("rlconnect convert PATH --out DIR", "a copy without a pickle in it"),
    ("rlconnect migrate PATH", "what becomes of it in the new stack?"),
    (
        "rlconnect migration check DIR",
        "does what migrate wrote still hold? (current, history, undo)",
    ),
    ("rlconnect verify PATH", "does it still act as when it was saved?"),
    ("rlconnect verify PATH OTHER --report r.html", "do two do the same, stage by stage?"),
    ("rlconnect export PATH --to onnx --out FILE", "one file: raw observations in, actions out"),
    ("rlconnect codemod PATH", "your own sources: from ray.rllib to rlconnect"),
)
_PATHS: Final = (
    ("a folder", "that holds policy_state, module_state or such files"),
    ("a file", "named checkpoint-<n>, as Ray 2.0 and older wrote them"),
    ("what is left", "of either: a lost file does not stop the others"),
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
        _columns(_TOUR, "command"),
        Text(),
        Text("let it act, adapt it, prove it", "title"),
        _columns(_PROOF, "command"),
        Text(),
        Text("PATH is", "title"),
        _columns(_PATHS, "name"),
        Text(),
        Text("exit codes", "title"),
        _columns(_CODES, "number"),
        Text(),
        promise,
        Text("rlconnect COMMAND --help lists a command's options.", "label"),
    )


def _columns(lines: tuple[tuple[str, str], ...], style: str) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style=style, no_wrap=True)
    table.add_column()
    for left, right in lines:
        table.add_row(Text(f"  {left}"), Text(right))
    return table
