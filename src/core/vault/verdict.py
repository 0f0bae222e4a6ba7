"""What can be done with a checkpoint, in one word and one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ..nets.setting import NETWORK
from .names import CONNECTORS
from .records.records import Checkpoint, ModuleRecord, PolicyRecord, unsafe_line
from .shape_hints import space_hint

_MOST_NAMED: Final = 4
_OURS: Final = ("ray.rllib.", "rlconnect.")

Level = Literal[
    "complete", "needs code", "weights only", "no weights", "state only", "damaged", "unsafe"
]


@dataclass(frozen=True)
class Verdict:
    """What a checkpoint can be used for by itself.

    Args:
        level: One of "complete" (spaces, config, weights: nothing is missing), "needs code" (it
            names a model class of its author), "weights only" (config or spaces are lost), "no
            weights", "state only" (a pipeline, runner or piece; it never held weights), "damaged"
            (files cannot be read) and "unsafe" (opened by an ordinary unpickler, it runs programs).
        reason: Why, in one line.
    """

    level: Level
    reason: str


def verdict(checkpoint: Checkpoint) -> Verdict:
    """The verdict on a whole checkpoint: that of its weakest policy or module.

    What would run programs elsewhere goes first, whatever else is there.
    """
    beside = _verdict(checkpoint)
    if checkpoint.unsafe:
        return Verdict("unsafe", f"{unsafe_line(checkpoint.unsafe)}. Beside that: {beside.level}")
    return beside


def _verdict(checkpoint: Checkpoint) -> Verdict:
    lost = [problem for problem in checkpoint.problems if problem.kind != "note"]
    judged = [(name, judge(record)) for name, record in checkpoint.acting.items()]
    if lost and all(each.level == "complete" for _, each in judged):
        return Verdict("damaged", str(lost[0]))
    if not judged:
        if checkpoint.kind == "component":
            return Verdict("state only", "a part of the new stack without a module of its own")
        return Verdict("no weights", "no policy or module lies in it")
    order: list[Level] = ["no weights", "weights only", "needs code", "complete"]
    name, worst = min(judged, key=lambda pair: order.index(pair[1].level))
    if len(judged) == 1:
        return worst
    if worst.level == "complete":
        return Verdict("complete", f"spaces, config and weights of all {len(judged)} are there")
    return Verdict(worst.level, f"{name}: {worst.reason}")


def judge(record: PolicyRecord | ModuleRecord) -> Verdict:
    """The verdict on one policy or module."""
    if not record.weights:
        return Verdict("no weights", "its weights are lost")
    author_class = own_class(record)
    if author_class:
        return Verdict("needs code", f"its network is its author's own class {author_class}")
    pieces = own_connectors(record)
    if pieces:
        named = ", ".join(pieces[:_MOST_NAMED])
        return Verdict("needs code", f"connectors of its author's own stand in its way: {named}")
    has_config = bool(
        record.model_config if isinstance(record, PolicyRecord) else record.module_class
    )
    if record.observation_space is None or record.action_space is None or not has_config:
        lost = "spaces are" if has_config else "config is"
        hint = space_hint(record) if None in (record.observation_space, record.action_space) else ""
        rest = hint or "names and shapes are readable"
        return Verdict("weights only", f"its {lost} lost; {rest}")
    return Verdict("complete", "spaces, config and weights are all there")


def own_connectors(record: PolicyRecord | ModuleRecord) -> tuple[str, ...]:
    """Connectors of the author's own that an old policy needs to act."""
    if not isinstance(record, PolicyRecord):
        return ()
    pipelines = (record.agent_connectors, record.action_connectors)
    names = [piece.name for each in pipelines if each is not None for piece in each.children]
    return tuple(dict.fromkeys(name for name in names if name not in CONNECTORS))


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
