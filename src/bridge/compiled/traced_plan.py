"""The plan of an old policy whose users' connectors are traced."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ...core import nest
from ...core.arrays.batching import batch
from ...core.spaces.values import corners, sample
from ...core.step.part import Part
from ...core.step.plan import ActPlan, Running, narrowed, run_step
from ...core.text.first_line import first_line
from ...core.types import Nest
from ...legacy.batches.step_rows import zero_of
from ...legacy.connectors.adapted import acted_space, seen_space
from ...legacy.policy.policy import Policy
from ..actor.legacy_plan import legacy_plan
from ..actor.module_brain import as_int32
from .numpy_functions import Untraceable
from .user_connectors import TRACED, traced_action, traced_observation

_DRAWN: Final = 24
_WIDER: Final = 64
_LARGEST: Final = 1e6


def traced_plan(policy: Policy, observation_space: spaces.Space[Any] | None = None) -> ActPlan:
    """The plan of a policy; what has no batched form although it was traced is in `missing`.

    Without a space it is what the policy was trained on, or the one width of vectors that its
    connectors turn into that.
    """
    space = seen_space(policy) if observation_space is None else observation_space
    tracing = Tracing(policy, space)
    plan = legacy_plan(policy, tracing)
    shape = space.shape if isinstance(space, spaces.Box) else ()
    if tracing.is_lost and observation_space is None and len(shape) == 1:
        wides = [_any_like(np.zeros(n, space.dtype)) for n in range(1, shape[0] + _WIDER)]
        fitting = [wide for wide in wides if not _is_lost(policy, wide)]
        if len(fitting) == 1:
            plan = legacy_plan(policy, Tracing(policy, fitting[0]))
    return plan if plan.missing else _checked(plan)


def _checked(plan: ActPlan) -> ActPlan:
    """A plan once its network has taken what the traced parts make."""
    names = [part.name for part in plan.obs if part.name.endswith(TRACED)]
    if not names:
        return plan
    rows = _rows_of(plan.observation_space, 1)
    count = len(nest.a_leaf(rows))
    constants = [part.constants for part in (*plan.obs, *plan.reward, *plan.action)]
    how = Running(plan.brain.run, plan.brain.greedy, constants, plan.start)
    memory = tuple(np.repeat(row[None], count, 0) for row in plan.start)
    try:
        run_step(plan, how, rows, np.zeros(count, np.float32), np.ones(count, bool), memory)
    except Exception as error:  # whatever a network says of what is not its own
        reason = f"{', '.join(names)} (makes what the network cannot take: {first_line(error)})"
        return replace(plan, missing=(reason,))
    return plan


class Tracing:
    """What connectors meet on samples of the spaces, and their traces.

    Beside the corners, `drawn` random samples are. It `is_lost` where observations of this space do
    not lead to what the network takes.
    """

    def __init__(self, policy: Policy, space: spaces.Space[Any], drawn: int = _DRAWN) -> None:
        self.space, self.is_lost = space, False
        self._policy, self._drawn = policy, drawn
        self._changed: dict[str, frozenset[str]] = {}

    def observation(
        self, connector: Any, parts: Sequence[Part], beside: Sequence[str]
    ) -> Part | str:
        """An agent connector as a part, or why it is none."""
        try:
            try:
                rows = _through(parts, _rows_of(self.space, self._drawn))
            except Exception as error:  # whatever a formula says of a shape that is not its own
                raise Untraceable("gets what the connectors before it cannot make") from error
            part, changed = traced_observation(connector, rows, beside, is_probe=not self._drawn)
        except Untraceable as error:
            self.is_lost = True
            return str(error)
        self._changed[part.name] = changed
        return part

    def action(self, connector: Any, parts: Sequence[Part]) -> Part | str:
        """An action connector as a part, or why it is none."""
        if not self._drawn:
            return "not looked at"
        try:
            return traced_action(connector, _through(parts, self._actions()))
        except Untraceable as error:
            return str(error)

    def misfits(self, parts: Sequence[Part], columns: Sequence[str]) -> list[str]:
        """What stands against a plan of these parts."""
        misfits = [
            f"{name} (changes {', '.join(sorted(changed.intersection(columns)))})"
            for name, changed in self._changed.items()
            if changed.intersection(columns)
        ]
        leading = list(itertools.takewhile(lambda part: part.name in self._changed, parts))
        if leading and not self.is_lost:
            rows = _through(leading, _rows_of(self.space, 1))
            made_form = _form(nest.taken(rows, 0))
            expected_form = _form(zero_of(seen_space(self._policy)))
            if made_form != expected_form:
                self.is_lost = True
                names, shapes = ", ".join(self._changed), [shape for _, shape in made_form]
                misfits.append(f"{names} (makes {shapes} of {self.space}: say observation_space=)")
        return misfits

    def acted(self, parts: Sequence[Part]) -> spaces.Space[Any]:
        """What the environment takes: the policy's space, or any of the form that comes out."""
        space = acted_space(self._policy)
        if not any(part.name.endswith(TRACED) for part in parts):
            return space
        item = nest.taken(_through(parts, self._actions()), 0)
        return space if _form(item) == _form(zero_of(space)) else _any_like(item)

    def _actions(self) -> Nest:
        rows = _rows_of(self._policy.action_space, self._drawn)
        return nest.map_structure(narrowed, as_int32(rows))


def _is_lost(policy: Policy, space: spaces.Space[Any]) -> bool:
    tracing = Tracing(policy, space, 0)
    legacy_plan(policy, tracing)
    return tracing.is_lost


def _rows_of(space: spaces.Space[Any], drawn: int) -> Nest:
    """Random values of a space and its corners, a row each."""
    rng = np.random.default_rng(0)
    items = [sample(space, rng) for _ in range(drawn)] + [item for _, item in corners(space)][:3]
    # Sums of very large numbers overflow in one order and not in another.
    return nest.map_structure(
        lambda leaf: (
            np.where(abs(leaf) > _LARGEST, leaf % 10, leaf) if leaf.dtype.kind == "f" else leaf
        ),
        batch(items),
    )


def _through(parts: Sequence[Part], rows: Nest) -> Nest:
    """What parts make of rows that begin an episode."""
    count = len(nest.a_leaf(rows))
    for part in parts:
        if part.memory is None:
            rows = part.formula(rows, *part.constants)
        else:
            memory = np.repeat(part.memory[None], count, 0)
            rows, _ = part.formula(rows, memory, np.ones(count, bool), *part.constants)
    return rows


def _form(item: Nest) -> list[Any]:
    return [(path, np.shape(leaf)) for path, leaf in nest.flatten_with_path(item)]


def _any_like(item: Nest) -> spaces.Space[Any]:
    if isinstance(item, dict):
        return spaces.Dict({key: _any_like(part) for key, part in item.items()})
    if isinstance(item, (tuple, list)):
        return spaces.Tuple([_any_like(part) for part in item])
    dtype: Any = item.dtype
    if dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, item.shape, dtype.type)
    if dtype.kind == "b":
        return spaces.MultiBinary(item.shape)
    ends = np.iinfo(dtype)
    return spaces.Box(ends.min, ends.max, item.shape, dtype.type)
