"""What can be done with a checkpoint, in one word and one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from gymnasium import Space

from ..nets.setting import NETWORK
from .records.records import Checkpoint, ModuleRecord, PolicyRecord, unsafe_line
from .shape_hints import space_hint

_OURS: Final = ("ray.rllib.", "rlconnect.")

Level = Literal[
    "complete",
    "not runnable",
    "not loadable",
    "needs code",
    "weights only",
    "no weights",
    "state only",
    "damaged",
    "unsafe",
]
_ORDER: Final[tuple[Level, ...]] = (
    *("no weights", "weights only", "needs code", "not loadable", "not runnable", "complete"),
)
_LACKS_FILES: Final = ("no weights", "weights only", "damaged")


@dataclass(frozen=True)
class Verdict:
    """What a checkpoint can be used for by itself.

    Args:
        level: One of "complete" (all files are present and, if that was tried, it loads and runs),
            "not runnable" (it loads, and computes no action), "not loadable" (the loader refuses
            it), "needs code" (it needs a class of its author's), "weights only" (config or spaces
            are lost), "no weights", "state only" (a pipeline, runner or piece; it never held
            weights), "damaged" (files cannot be read) and "unsafe" (opened by an ordinary
            unpickler, it runs programs).
        reason: Why, in one line.
    """

    level: Level
    reason: str


@dataclass(frozen=True)
class Attempt:
    """Result of loading and running a policy.

    `spaces` are the observations and actions of its environment; None if it does not load.
    """

    verdict: Verdict
    spaces: tuple[Space[Any], Space[Any]] | None = None


Tried = Mapping[str, Attempt]
"""Results of loading and running the policies of a checkpoint, by id."""

NOT_TRIED: Final[Tried] = MappingProxyType({})


def verdict(checkpoint: Checkpoint, tried: Tried = NOT_TRIED) -> Verdict:
    """The verdict on a whole checkpoint: that of its weakest policy or module.

    What would run programs elsewhere goes first, whatever else is there.
    """
    beside = apart_from_safety(checkpoint, tried)
    if checkpoint.unsafe:
        return Verdict("unsafe", f"{unsafe_line(checkpoint.unsafe)}. Beside that: {beside.level}")
    return beside


def apart_from_safety(checkpoint: Checkpoint, tried: Tried = NOT_TRIED) -> Verdict:
    """The verdict on a checkpoint, whatever an ordinary unpickler would do with it."""
    lost = [problem for problem in checkpoint.problems if problem.kind != "note"]
    judged = [(name, judge(each, tried.get(name))) for name, each in checkpoint.acting.items()]
    if lost and all(each.level == "complete" for _, each in judged):
        return Verdict("damaged", str(lost[0]))
    if not judged:
        if "" in tried and tried[""].verdict.level != "complete":
            return tried[""].verdict
        if checkpoint.kind == "component":
            return Verdict("state only", "a part of the new stack without a module of its own")
        return Verdict("no weights", "no policy or module lies in it")
    name, worst = min(judged, key=lambda pair: _ORDER.index(pair[1].level))
    if len(judged) == 1:
        return worst
    if worst.level == "complete":
        return Verdict("complete", f"all {len(judged)} policies: {worst.reason}")
    return Verdict(worst.level, f"{name}: {worst.reason}")


def judge(record: PolicyRecord | ModuleRecord, attempt: Attempt | None = None) -> Verdict:
    """The verdict on one policy or module; `attempt` is the result of loading and running it."""
    if attempt is not None and attempt.verdict.level == "complete":
        return attempt.verdict
    by_files = _judged_by_files(record)
    return by_files if attempt is None or by_files.level != "complete" else attempt.verdict


def environment_spaces(
    record: PolicyRecord | ModuleRecord, attempt: Attempt | None = None
) -> tuple[Space[Any] | None, Space[Any] | None]:
    """The spaces of the environment that a policy or module is for, or was adapted to."""
    if attempt is not None and attempt.spaces is not None:
        return attempt.spaces
    sees = record.environment_space if isinstance(record, PolicyRecord) else None
    return sees or record.observation_space, record.action_space


def claims(found: Verdict, tried: Tried) -> dict[str, bool | None]:
    """Whether all files are present, all policies load, and all run; None if not tried."""
    levels = [each.verdict.level for each in tried.values()]
    is_loadable = all(level in ("complete", "not runnable") for level in levels)
    is_runnable = all(level == "complete" for level in levels)
    return {
        "complete": found.level not in _LACKS_FILES,
        "loadable": is_loadable if levels else None,
        "runnable": is_runnable if levels and "" not in tried else None,
    }


def _judged_by_files(record: PolicyRecord | ModuleRecord) -> Verdict:
    if not record.weights:
        return Verdict("no weights", "its weights are lost")
    author_class = own_class(record)
    if author_class:
        return Verdict("needs code", f"its network is its author's own class {author_class}")
    has_config = bool(
        record.model_config if isinstance(record, PolicyRecord) else record.module_class
    )
    if record.observation_space is None or record.action_space is None or not has_config:
        lost = "spaces are" if has_config else "config is"
        hint = space_hint(record) if None in (record.observation_space, record.action_space) else ""
        rest = hint or "names and shapes are readable"
        return Verdict("weights only", f"its {lost} lost; {rest}")
    return Verdict("complete", "all files are present")


def own_class(record: PolicyRecord | ModuleRecord) -> str:
    """The class of the author's own that is needed to run the network; empty for RLlib's."""
    if NETWORK in record.model_config:
        return ""
    if isinstance(record, PolicyRecord):
        if record.custom_model:
            return record.custom_model
        path = record.policy_class
        return "" if "." not in path or path.startswith(_OURS) else path
    return "" if record.module_class.startswith(_OURS) else record.module_class
