"""What a teacher would do at each step, as the inputs of its student's distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space

from ...core.arrays.batching import batch as batched
from ...core.columns import Columns
from ...core.data.teachers import TEACHER_INPUTS, TEACHER_VALUES
from ...core.errors import PieceError, SpaceError
from ...core.formulas.actions import normalize_action
from ...core.spaces.text import describe
from ...core.types import Array
from ..actor.actor import Actor
from ..adapting.space_diff import diff_spaces
from ..loading.natives import Source

_SHARPNESS: Final = 0.01
"""What action values are divided by, so that the best action has nearly all of the probability."""

_SURE: Final = 100.0
"""The input of the one choice of a teacher that gives actions alone."""

_STEADY: Final = float(np.log(0.1))
"""The logarithm of the deviation of one that gives numbers alone."""

_Q_VALUES: Final = ("q_values", "qf_preds")


def teacher_of(
    source: Any,
    *,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
    is_stretched: bool = True,
) -> PolicyTeacher:
    """A teacher of a policy.

    Args:
        source: Any policy, or its path; several by module id; what this has given before.
        observation_space: What it is to see; whatever it knows if None.
        action_space: What it is to do, likewise.
        is_stretched: Whether numbers of the student's actions are in [-1, 1].

    Raises:
        SpaceError: It sees or does other things.
    """
    teacher = source if isinstance(source, PolicyTeacher) else PolicyTeacher(source)
    teacher.is_stretched = is_stretched
    teacher.check(observation_space, action_space)
    return teacher


class PolicyTeacher:
    """Policies that say what they would do; see `core.data.teachers.Teacher`.

    Args:
        source: Any policy, or its path: the teacher of all modules; several are by module id, and
            a module that none is named after has no teacher.

    Attributes:
        actors: The teachers, by the ids of their policies.
        is_stretched: Whether numbers of the student's actions are in [-1, 1].
        has_values: Whether it says what steps are worth; None before the first answer.
    """

    def __init__(self, source: Source | Actor) -> None:
        actor = source if isinstance(source, Actor) else Actor.from_policy(source)
        policies = actor.natives.policies
        self.actors = {name: Actor.from_policy(policy) for name, policy in policies.items()}
        self.is_stretched = True
        self.has_values: bool | None = None

    def of(self, module_id: str) -> Actor | None:
        """A module's teacher."""
        if len(self.actors) == 1:
            return next(iter(self.actors.values()))
        return self.actors.get(module_id)

    def check(self, sees: Space[Any] | None, takes: Space[Any] | None, module_id: str = "") -> None:
        """Check that it fits an environment.

        Args:
            sees: What is seen there; whatever it knows if None.
            takes: What is done there, likewise.
            module_id: Whose teacher; all of them if there is no such.

        Raises:
            SpaceError: It sees or does other things.
        """
        mine = self.actors.get(module_id)
        for actor in self.actors.values() if mine is None else (mine,):
            for what, teachers, other in (
                ("sees", actor.observation_space, sees),
                ("does", actor.action_space, takes),
            ):
                if other is not None and not _is_like(teachers, other):
                    kind = "observation" if what == "sees" else "action"
                    raise SpaceError(
                        f"the teacher {what} other things than the environment has",
                        expected=describe(other),
                        found=f"{describe(teachers)}: {_difference(teachers, other, kind)}",
                        hint="adapt it first: rlconnect.adapt(teacher, env=...).",
                    )

    def answer(
        self,
        module_id: str,
        observations: Any,
        env_ids: Sequence[int],
        *,
        agent_ids: Sequence[Any] | None = None,
        reward: Any = None,
    ) -> dict[str, Array] | None:
        """What it would do, and what it thinks that is worth.

        Raises:
            PieceError: It does not say how likely its actions are, nor can that be told of them.
        """
        actor = self.of(module_id)
        if actor is None:
            return None
        rows = observations if isinstance(observations, np.ndarray) else batched([*observations])
        actions, fetches = actor.act_and_fetch(
            rows, env_ids=[*env_ids], agent_ids=agent_ids and [*agent_ids], reward=reward
        )
        values = fetches.get(Columns.VF_PREDS)
        self.has_values = values is not None
        worth = np.zeros(len(env_ids), np.float32) if values is None else np.asarray(values)
        inputs = _inputs(actions, fetches, actor.action_space, is_stretched=self.is_stretched)
        return {TEACHER_INPUTS: inputs, TEACHER_VALUES: np.asarray(worth, np.float32).reshape(-1)}

    def forget(self, env_ids: Sequence[int] | None = None) -> None:
        """Forget environments whose episodes are over; all of them if None."""
        for actor in self.actors.values():
            if actor.remembers:
                actor.reset(env_ids)

    def get_state(self) -> dict[str, Any]:
        """What it remembers, as plain data."""
        return {name: actor.state_dict() for name, actor in self.actors.items()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `get_state` gave."""
        for name in self.actors.keys() & state.keys():
            self.actors[name].load_state_dict(state[name])


def _inputs(actions: Any, fetches: dict[str, Any], space: Any, *, is_stretched: bool) -> Array:
    """Inputs of the distribution that a student of these actions has.

    Raises:
        PieceError: There is none for such actions.
    """
    inputs = fetches.get(Columns.ACTION_DIST_INPUTS)
    if isinstance(space, Box):
        return _of_numbers(np.asarray(actions), inputs, space, is_stretched)
    if inputs is not None and _is_chosen(inputs, actions, space):
        return np.asarray(inputs, np.float32)
    for name in _Q_VALUES:
        if name in fetches:
            values = np.asarray(fetches[name], np.float32)
            return np.asarray((values - values.max(-1, keepdims=True)) / np.float32(_SHARPNESS))
    if not isinstance(space, (Discrete, MultiDiscrete)):
        raise PieceError(
            "the teacher does not say how likely its actions are",
            expected="inputs of a distribution, action values, or actions that are numbers "
            "or choices",
            found=f"actions of {describe(space)} alone",
            hint="teach by the checkpoint that it was exported from.",
        )
    sizes = np.ravel(_choices(space)).tolist()
    first = np.ravel(np.asarray(space.start))
    chosen = np.asarray(actions).reshape(len(actions), -1) - first
    return np.concatenate(
        [_SURE * np.eye(size, dtype=np.float32)[chosen[:, at]] for at, size in enumerate(sizes)],
        axis=-1,
    )


def _is_chosen(inputs: Any, actions: Any, space: Any) -> bool:
    """Whether likely choices are those that are taken: an adapter may give them other numbers."""
    if not isinstance(space, Discrete) or np.shape(inputs)[-1] != space.n:
        return True
    return bool(np.array_equal(np.argmax(inputs, axis=-1) + space.start, actions))


def _of_numbers(actions: Array, inputs: Any, space: Any, is_stretched: bool) -> Array:
    """Means and logarithms of deviations, as the student has them.

    Where the teacher's means are not what it does there (it is squashed, or not stretched), its
    actions are the means.
    """
    means = normalize_action(actions, space) if is_stretched else actions
    means = np.asarray(means, np.float32).reshape(len(actions), -1)
    width = means.shape[-1]
    if inputs is None or np.shape(inputs)[-1] != 2 * width:
        return np.concatenate([means, np.full_like(means, _STEADY)], axis=-1)
    numbers: Array = np.asarray(inputs, np.float32)
    own_means, deviations = numbers[:, :width], numbers[:, width:]
    bounds = (-1.0, 1.0) if is_stretched else (space.low.reshape(-1), space.high.reshape(-1))
    if np.allclose(np.clip(own_means, *bounds), np.clip(means, *bounds), atol=1e-4):
        return numbers
    if np.allclose(
        np.clip(own_means, space.low.reshape(-1), space.high.reshape(-1)),
        actions.reshape(means.shape),
        atol=1e-4,
    ):  # as the environment takes them
        return np.concatenate([means, deviations + _log_scale(space)], axis=-1)
    return np.concatenate([means, np.full_like(means, _STEADY)], axis=-1)


def _log_scale(space: Any) -> Array:
    """What brings logarithms of deviations from an environment's numbers to [-1, 1]."""
    low, high = space.low.reshape(-1), space.high.reshape(-1)
    is_bounded = np.isfinite(low) & np.isfinite(high)
    return np.asarray(np.where(is_bounded, np.log(2 / np.where(is_bounded, high - low, 2.0)), 0.0))


def _difference(teacher_space: Any, other: Any, kind: str) -> str:
    """What differs, in words: which columns."""
    diff = diff_spaces(teacher_space, other, kind=kind)
    return "; ".join(change.text for change in diff.changes) or "of another form"


def _is_like(mine: Any, other: Any) -> bool:
    """Whether values of one space fit the other, bounds aside."""
    if type(mine) is not type(other) or getattr(mine, "shape", None) != getattr(
        other, "shape", None
    ):
        return False
    if hasattr(mine, "spaces"):
        ours, theirs = ({str(k): v for k, v in _parts(space)} for space in (mine, other))
        return ours.keys() == theirs.keys() and all(_is_like(ours[k], theirs[k]) for k in ours)
    return bool(np.array_equal(_choices(mine), _choices(other)))


def _choices(space: Any) -> Any:
    return getattr(space, "n", getattr(space, "nvec", 0))


def _parts(space: Any) -> Any:
    inner = space.spaces
    return inner.items() if isinstance(inner, Mapping) else enumerate(inner)
