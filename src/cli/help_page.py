"""The page `rlconnect --help` shows: a tour, not a grammar."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_TOUR: Final = (
    ("rlconnect sample .", "a checkpoint to try all of this with"),
    ("rlconnect scan .", "which checkpoints lie here, how whole?"),
    ("rlconnect inspect ppo-pendulum-ray-2.7", "what one is, needs and has lost; what to do next"),
    ("rlconnect inspect ppo-pendulum-ray-2.7 --weights", "every array, its shape and range"),
    ("rlconnect inspect ppo-pendulum-ray-2.7 --audit", "what would run if others opened it?"),
    ("rlconnect inspect ppo-pendulum-ray-2.7 --json", "all of it, config included, for a script"),
)
_PROOF: Final = (
    ("rlconnect rollout ppo-pendulum-ray-2.7 --env Pendulum-v1", "let it play, see what it earns"),
    ("rlconnect adapt ppo-pendulum-ray-2.7 --env Pendulum-v1", "the environment changed?"),
    ("rlconnect graft ppo-pendulum-ray-2.7 --env Pendulum-v1", "the start of a better one"),
    ("rlconnect migrate ppo-pendulum-ray-2.7 --out migrated", "bring it to the new stack"),
    ("rlconnect verify ppo-pendulum-ray-2.7 migrated", "do two do the same, stage by stage?"),
    ("rlconnect migration check migrated", "does what migrate wrote still hold?"),
    ("rlconnect export ppo-pendulum-ray-2.7 --out policy.onnx", "one file for other programs"),
    ("rlconnect convert ppo-pendulum-ray-2.7 --out kept.zip", "a copy without a pickle in it"),
    ("rlconnect evaluate kept.zip --data my_samples", "what recorded data say of it"),
    (
        "rlconnect act kept.zip --data my_samples --out acts",
        "actions for recorded data",
    ),
    ("rlconnect serve kept.zip --port 8000", "let it answer requests, with a page to look at"),
    ("rlconnect serve-admin http://127.0.0.1:8000", "which versions act there; try another one"),
    ("rlconnect train --algo PPO --env CartPole-v1", "learn; Ctrl-C ends it, --resume goes on"),
    ("rlconnect runs ~/ray_results", "runs of train, and trials that Tune wrote, best first"),
    ("rlconnect codemod .", "your own sources: from ray.rllib to rlconnect"),
)
_OPTIONS: Final = (
    ("--policy ID", "one policy of several, again for more; --all for all"),
    ("--env ENV", "an id of gymnasium's, MODULE:NAME or FILE.py:NAME of your own"),
    ("--env-config K=V", "its settings; the checkpoint's own if left out"),
    ("--map AGENT=ID", "who plays whom, where there are several agents"),
    ("--trust FILE.py:NAME", "code of yours that a checkpoint names; --import FILE.py"),
    ("--model FILE", "a network as data; --config FILE, --algorithm NAME, --trained-in ENV"),
    ("--out WHERE", "write; --dry-run does all but that, --yes asks nothing"),
    ("--json", "one document in place of a page, of what failed too"),
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
        _steps(_TOUR),
        Text(),
        Text("let it act, adapt it, prove it", "title"),
        _steps(_PROOF),
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
