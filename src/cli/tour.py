"""Commands that show what there is to do, in an order in which they can be pasted."""

from __future__ import annotations

import shlex
from typing import Final

TOUR: Final = (
    ("rlconnect doctor", "is what is installed here fit to work?"),
    ("rlconnect sample .", "a checkpoint to try all of this with"),
    ("rlconnect scan .", "which checkpoints lie here, how whole?"),
    ("rlconnect inspect ppo-pendulum-ray-2.7", "what one is, needs and has lost; what to do next"),
    ("rlconnect inspect ppo-pendulum-ray-2.7 --weights", "every array, its shape and range"),
    ("rlconnect inspect ppo-pendulum-ray-2.7 --audit", "what would run if others opened it?"),
    ("rlconnect inspect ppo-pendulum-ray-2.7 --json", "all of it, config included, for a script"),
)
PROOF: Final = (
    ("rlconnect rollout ppo-pendulum-ray-2.7 --env Pendulum-v1", "let it play, see what it earns"),
    ("rlconnect adapt ppo-pendulum-ray-2.7 --env Pendulum-v1", "the environment changed?"),
    ("rlconnect graft ppo-pendulum-ray-2.7 --env Pendulum-v1", "the start of a better one"),
    ("rlconnect migrate ppo-pendulum-ray-2.7 --out migrated", "bring it to the new stack"),
    ("rlconnect verify ppo-pendulum-ray-2.7 migrated", "do two do the same, stage by stage?"),
    ("rlconnect migration check migrated", "does what migrate wrote still hold?"),
    ("rlconnect export ppo-pendulum-ray-2.7 --out policy.onnx", "one file for other programs"),
    ("rlconnect convert ppo-pendulum-ray-2.7 --out kept.zip", "a copy without a pickle in it"),
    ("rlconnect push kept.zip hf://me/pendulum --dry-run", "to the Hugging Face Hub, with a card"),
    ("rlconnect evaluate kept.zip --data my_samples", "what recorded data say of it"),
    ("rlconnect act kept.zip --data my_samples --out acts", "actions for recorded data"),
    ("rlconnect serve kept.zip --port 8000", "let it answer requests, with a page to look at"),
    ("rlconnect serve-admin http://127.0.0.1:8000", "which versions act there; try another one"),
    ("rlconnect teach my_policy --env CartPole-v1", "let what it knows reach another network"),
    ("rlconnect train --algo PPO --env CartPole-v1", "learn; Ctrl-C ends it, --resume goes on"),
    ("rlconnect runs ~/ray_results", "runs of train, and trials that Tune wrote, best first"),
    ("rlconnect codemod .", "your own sources: from ray.rllib to rlconnect"),
)
# Shown by `rlconnect help COMMAND` only.
MORE: Final = (
    ("rlconnect scan . --audit", "is any of them a program in disguise?"),
    (
        "rlconnect rollout ppo-pendulum-ray-2.7 --env Pendulum-v1 --episodes 20 --json",
        "more episodes, for a script",
    ),
    (
        "rlconnect adapt ppo-pendulum-ray-2.7 --env Pendulum-v1 --out adapted.zip",
        "keep it with the steps that absorb the change",
    ),
    ("rlconnect verify migrated", "does it still do what it did when it was written?"),
    ("rlconnect migration current migrated", "where does it stand?"),
    ("rlconnect migration history migrated", "which steps, made when and by what?"),
    ("rlconnect migration undo migrated --dry-run", "what would be taken back?"),
    ("rlconnect export ppo-pendulum-ray-2.7 --out policy.pt2", "a graph for torch alone"),
    ("rlconnect convert ppo-pendulum-ray-2.7 --out kept --dry-run", "what would be written?"),
    ("rlconnect serve kept.zip --port 8001 --record episodes", "another port, all kept"),
    (
        "rlconnect train --algo PPO --env CartPole-v1 --set lr=3e-4 --stop return=475",
        "a setting of yours, until it is good",
    ),
    ("rlconnect train --algo DQN --env CartPole-v1 --dry-run", "all settings, as a file"),
)


def examples_of(command: str) -> str:
    """Commands of one kind with what each is for, as the end of its help.

    Example:
        >>> print(examples_of("doctor").partition("Examples:")[2])
        <BLANKLINE>
          is what is installed here fit to work?
            rlconnect doctor
    """
    words = command.split()
    every = ((shlex.split(row[0])[1:], row) for row in (*TOUR, *PROOF, *MORE))
    rows = [row for typed, row in every if typed[: len(words)] == words]
    lines = [f"  {purpose}\n    {line}" for line, purpose in rows]
    # click leaves a paragraph as it is if it begins with \b
    return "\n".join(["\b", "Examples:", *lines]) if rows else ""
