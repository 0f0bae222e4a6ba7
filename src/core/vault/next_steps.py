"""What to do with a checkpoint now: commands that a shell takes as they are printed."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

import gymnasium as gym

from ..spaces.text import describe
from ..text.shell import shell_path
from .files.remote import is_url
from .proposed_networks import needs_network, proposed_network
from .records.records import Checkpoint, ModuleRecord, PolicyRecord
from .verdict import NOT_TRIED, Tried, environment_spaces, judge

# What environments that need no more than gymnasium give and take, as `describe` tells it.
_KNOWN: Final = {
    ("Box(4,) float32 within [-4.8, 4.8], 2 of 4 not bounded", "Discrete(2)"): "CartPole-v1",
    ("Box(3,) float32 within [-8, 8], bounds vary", "Box(1,) float32 in [-2, 2]"): "Pendulum-v1",
    ("Box(2,) float32 within [-1.2, 0.6], bounds vary", "Discrete(3)"): "MountainCar-v0",
    ("Box(6,) float32 within [-28.27, 28.27], bounds vary", "Discrete(3)"): "Acrobot-v1",
    ("Discrete(16)", "Discrete(4)"): "FrozenLake-v1",
}
# Packages that environments of gymnasium's need beside it, by the room their code is in.
_NEEDS: Final = {"box2d": "Box2D", "mujoco": "mujoco", "phys2d": "jax", "tabular": "jax"}


def next_steps(checkpoint: Checkpoint, tried: Tried = NOT_TRIED) -> list[dict[str, str]]:
    """Return commands, each with its purpose; those that only read come first."""
    path = shell_path(short_path(checkpoint.path))
    acting = {name: each for name, each in checkpoint.acting.items() if each.weights}
    named = [name for name in acting if name.isprintable()]
    one = f" --policy={shlex.quote(named[0])}" if len(checkpoint.acting) > 1 and named else ""
    steps: list[tuple[str, str]] = []
    if checkpoint.unsafe:
        purpose = "list everything an ordinary unpickler would call"
        steps.append((f"rlconnect inspect {path} --audit", purpose))
    if acting:
        purpose = "list every array with its shape and range"
        steps.append((f"rlconnect inspect {path}{one} --weights", purpose))
    judged = [judge(each, tried.get(name)) for name, each in acting.items()]
    acts = bool(acting) and all(each.level == "complete" for each in judged)
    if acts and (one or len(checkpoint.acting) == 1):
        steps += _verbs(checkpoint, path, one, tried)
    foreign = [each for each in acting.values() if needs_network(each)]
    if foreign:
        file = shlex.quote(free_name(checkpoint.path, "network.toml"))
        purpose = "write the network that its weights suggest, for you to look over"
        steps.append((f"rlconnect inspect {path} --write-model {file}", purpose))
        if len(acting) == 1 and _fits(foreign[0]):
            steps += _described_verbs(checkpoint, path, f" --model {file}")
    if acting and checkpoint.stack != "rlconnect":
        out = free_name(checkpoint.path, "kept.zip")
        purpose = "keep it without a pickle in it, as one file"
        steps.append((f"rlconnect convert {path} --out {shlex.quote(out)}", purpose))
    if acts:
        text = json.dumps(short_path(checkpoint.path), ensure_ascii=False)
        code = shlex.quote(f"import rlconnect; print(rlconnect.load({text}))")
        steps.append((f"python -c {code}", "load it in Python, without Ray"))
    purpose = "everything, the whole config included, for a script"
    steps.append((f"rlconnect inspect {path} --json", purpose))
    return [{"command": text, "purpose": purpose} for text, purpose in steps]


def describe_hint(path: str) -> str:
    """The hint for a network whose code is not here."""
    shown, file = shell_path(short_path(path)), shlex.quote(free_name(path, "network.toml"))
    return (
        f"describe it as data: `rlconnect inspect {shown} --write-model {file}` writes what its "
        f"weights tell, for you to look over. Load it with model={json.dumps(file)}."
    )


def _fits(record: PolicyRecord | ModuleRecord) -> bool:
    """True if names and shapes suggest a network, and it has spaces to act in."""
    has_spaces = record.observation_space is not None and record.action_space is not None
    return has_spaces and proposed_network(record) is not None


def _described_verbs(checkpoint: Checkpoint, path: str, model: str) -> list[tuple[str, str]]:
    env = environment_of(checkpoint)
    if env:
        return [(f"rlconnect rollout {path}{model} --env {env}", f"then let it play {env}")]
    if checkpoint.stack == "old":
        out = shlex.quote(free_name(checkpoint.path, "migrated"))
        return [(f"rlconnect migrate {path}{model} --out {out}", "then bring it to the new stack")]
    return []


def _verbs(checkpoint: Checkpoint, path: str, one: str, tried: Tried) -> list[tuple[str, str]]:
    steps = []
    env = "" if one else environment_of(checkpoint, tried)
    if env:
        steps.append((f"rlconnect rollout {path} --env {env}", f"let it play {env}"))
        purpose = "what would absorb a change of its environment?"
        steps.append((f"rlconnect adapt {path} --env {env}", purpose))
    if checkpoint.stack == "old":
        out = shlex.quote(free_name(checkpoint.path, "migrated"))
        steps += [
            (f"rlconnect migrate {path}{one} --out {out}", "bring it to the new stack"),
            (f"rlconnect verify {path} {out}{one}", "prove that what was written does the same"),
        ]
    elif checkpoint.stack == "rlconnect" and checkpoint.policies:
        steps.append((f"rlconnect verify {path}{one}", "does it act as when it was saved?"))
    if find_spec("onnx") and find_spec("onnxscript"):
        out = shlex.quote(free_name(checkpoint.path, "policy.onnx"))
        purpose = "one file for other programs: raw observations in, actions out"
        steps.append((f"rlconnect export {path}{one} --out {out}", purpose))
    return steps


def environment_of(checkpoint: Checkpoint, tried: Tried = NOT_TRIED) -> str:
    """An environment that is installed and that a checkpoint's one policy can play; or nothing.

    The one it names, if gymnasium has it; else one of gymnasium's own whose spaces it has. An
    adapted policy is for another environment than the one it names.
    """
    ((name, record),) = checkpoint.acting.items()
    spaces = environment_spaces(record, tried.get(name))
    named = checkpoint.environment.rpartition(":")[2]
    if named and _is_installed(named) and spaces == environment_spaces(record):
        return named
    if spaces[0] is None or spaces[1] is None:
        return ""
    return _KNOWN.get((describe(spaces[0]), describe(spaces[1])), "")


def _is_installed(name: str) -> bool:
    """True if gymnasium has an environment of this name, and its packages are installed."""
    spec = gym.registry.get(name)
    where: str | Callable[..., Any] | None = spec.entry_point if spec is not None else None
    if not isinstance(where, str) or spec is None or spec.id.isspace():
        return False
    home, *rooms = where.partition(":")[0].split(".")
    needed = {_NEEDS[room] for room in rooms if room in _NEEDS} | {home}
    return all(find_spec(each) is not None for each in needed)


def free_name(path: str, word: str) -> str:
    """An unused name in this folder, for the result of a command.

    `word` is what it becomes, such as "adapted"; an ending is kept.
    """
    stem, dot, ending = word.partition(".")
    base = os.path.basename(os.path.normpath(path)).removesuffix(".zip")
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", base).strip("-.") or "checkpoint"
    bare = re.sub(rf"(^|-){stem}(-\d+)?$", "", plain)  # the result of such a command already
    start = f"{bare}-{stem}" if bare else stem
    numbers = ("", *(f"-{number}" for number in range(2, 1000)))
    names = [f"{start}{number}{dot}{ending}" for number in numbers]
    return next((name for name in names if not os.path.lexists(name)), names[-1])


def short_path(path: str) -> str:
    """A path as one would type it here; never mistaken for an option."""
    if is_url(path):
        return path
    try:
        here = os.path.relpath(path)
    except (OSError, ValueError):  # another drive, or the working folder is gone
        return path
    if here.startswith(os.pardir):
        return path
    return f"./{here}" if here.startswith("-") else here
