"""Commands and code to use a written migration, to be pasted."""

from __future__ import annotations

import os
import shlex
from typing import Any

import gymnasium

from ...core.algorithms import family_of
from ...core.vault.file_names import LEARNER_GROUP, MODULE
from ...legacy.policy.policy import Policy

_TRAINS = {"BC": "BCConfig", "MARWIL": "MARWILConfig"}


def ways_on(
    policy: Policy, folder: str | os.PathLike[str], to: str = "v2"
) -> list[tuple[str, str]]:
    """How to load what was written, to train on it, to prove it, and to open it in Ray.

    For each there is a word and a line of Python, or of a shell. `to` is "v2", or "ray" for a
    folder that Ray loads.
    """
    path = os.fspath(folder)
    if to == "ray":
        module = repr(os.path.join(path, MODULE))
        whole_algorithm = f"ray.rllib.algorithms.algorithm.Algorithm.from_checkpoint({path!r})"
        part = f"ray.rllib.core.rl_module.RLModule.from_checkpoint({module})"
        is_whole = os.path.isdir(os.path.join(path, LEARNER_GROUP))
        return [
            ("load", f"rlconnect.load({path!r})"),
            ("in Ray", whole_algorithm if is_whole else part),
        ]
    learns = family_of(policy.algorithm) in ("actor", "actor_critic")
    config = _TRAINS.get(policy.algorithm, "PPOConfig")
    env: Any = policy.config.get("env")
    named = repr(env) if isinstance(env, str) and env in gymnasium.registry else "ENV"
    training = f"rlconnect.v2.{config}().from_migrated({path!r}).environment({named}).build_algo()"
    again = shlex.join(["rlconnect", "migrate", path, "--out"])
    return [
        ("load", f"rlconnect.load({path!r})"),
        *([("train", training)] if learns else []),
        ("check", shlex.join(["rlconnect", "migration", "check", path])),
        ("in Ray", f"{again} DIR --to ray"),
    ]
