"""Which columns a policy looks at, and how far back: view requirements and the plan they make.

A view reads one data column at fixed distances from now. "obs" and "infos" of this step are known
when the policy is asked; every other column of this step is not, so there shift -1 is the newest
value, and shift 0 is zeros. What lies before the first step of an episode is the first observation
for "obs" and "infos", the initial state for "state_out_i", and zeros for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Space

from ...core.errors import PieceError
from ...core.limits.asking import check_count
from ...core.types import Array, Nest
from ..batches.step_rows import zeros_of

KNOWN_NOW: Final = frozenset({"obs", "infos", "t", "eps_id", "env_id", "agent_index", "unroll_id"})
"""Columns whose value of this step is known when the policy is asked."""


@dataclass(eq=False)
class ViewRequirement:
    """A column that a policy uses, and where it comes from.

    Args:
        data_col: The column to read; the view's own name where None.
        space: What one entry looks like; a scalar float where None.
        shift: Offset from the current step: a number, a list, or "first:last[:step]" with both
            ends included.
        index: Stored, but not used.
        batch_repeat_value: In training batches, one entry covers this many rows.
        used_for_compute_actions: Whether the policy needs it for inference.
        used_for_training: Whether the policy needs it to learn.

    Example:
        >>> ViewRequirement("obs", shift="-3:0").shift_arr
        array([-3, -2, -1,  0])
    """

    data_col: str | None = None
    space: Space[Any] | None = None
    shift: int | str | Sequence[int] = 0
    index: int | None = None
    batch_repeat_value: int = 1
    used_for_compute_actions: bool = True
    used_for_training: bool = True
    shift_arr: np.ndarray[Any, Any] = field(init=False)
    shift_from: int | None = field(init=False, repr=False, default=None)
    shift_to: int | None = field(init=False, repr=False, default=None)
    shift_step: int | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if self.space is None:
            self.space = Box(float("-inf"), float("inf"), (), np.float32)
        if isinstance(self.shift, str):
            self.shift_from, self.shift_to, self.shift_step = _parse_range(self.shift)
            self.shift_arr = np.arange(self.shift_from, self.shift_to + 1, self.shift_step)
            return
        shifts = np.atleast_1d(np.asarray(self.shift))
        if shifts.dtype.kind not in "iu" or shifts.ndim != 1 or not shifts.size:
            raise PieceError(
                "a view's shift cannot be understood",
                expected="a whole number, a list of them, or 'first:last[:step]'",
                found=repr(self.shift),
            )
        self.shift_arr = shifts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ViewRequirement):
            return NotImplemented
        mine, theirs = (
            (
                view.data_col,
                view.space,
                view.shift_arr.tolist(),
                view.index,
                view.batch_repeat_value,
                view.used_for_compute_actions,
                view.used_for_training,
            )
            for view in (self, other)
        )
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]  # views are mutable records

    def to_dict(self) -> dict[str, Any]:
        """The view as plain data."""
        from ...core.spaces.ray_layouts import gym_space_to_dict

        return {
            "data_col": self.data_col,
            "space": gym_space_to_dict(self.space),
            "shift": self.shift,
            "index": self.index,
            "batch_repeat_value": self.batch_repeat_value,
            "used_for_training": self.used_for_training,
            "used_for_compute_actions": self.used_for_compute_actions,
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> ViewRequirement:
        """The view that `to_dict` described; a missing space is a scalar float."""
        from ...core.spaces.ray_layouts import gym_space_from_dict

        values = dict(d)
        if values.get("space") is not None:
            values["space"] = gym_space_from_dict(values["space"])
        if isinstance(values.get("shift"), str):
            first, last, step = _parse_range(values["shift"])
            check_count("shift", (last - first) // step, "steps", "ViewRequirement(shift=...)")
        return cls(**values)


@dataclass(frozen=True)
class View:
    """One column to build for the policy.

    Attributes:
        name: What the policy calls it.
        column: The data column it reads.
        shifts: Distances from now.
        known_now: Whether the data column's value of this step is known.
        initial: A row `(1, ...)` of what lies before the first step; None where the first
            observation does.
        missing: A row `(1, ...)` of zeros, for a value that is not known yet.
        is_current: Whether it is this step's value of a column known now.
        is_previous: Whether it is the newest value of a column not known now.
        is_unknown: Whether it asks for this step's value of a column not known yet.
    """

    name: str
    column: str
    shifts: tuple[int, ...]
    known_now: bool
    initial: Nest
    missing: Nest
    is_current: bool = field(init=False)
    is_previous: bool = field(init=False)
    is_unknown: bool = field(init=False)

    def __post_init__(self) -> None:
        kind = (self.known_now, self.shifts)
        object.__setattr__(self, "is_current", kind == (True, (0,)))
        object.__setattr__(self, "is_previous", kind == (False, (-1,)))
        object.__setattr__(self, "is_unknown", kind == (False, (0,)))

    @property
    def offsets(self) -> tuple[int, ...]:
        """Distances from the newest value of the column, where a value of this step is unknown."""
        return self.shifts if self.known_now else tuple(min(s + 1, 0) for s in self.shifts)

    @property
    def unknown(self) -> tuple[int, ...]:
        """Positions among the shifts whose value is not known yet."""
        return () if self.known_now else tuple(at for at, s in enumerate(self.shifts) if s == 0)


@dataclass(frozen=True)
class ViewPlan:
    """The views of one policy, sorted by what it takes to build them.

    Attributes:
        views: All of them, in the order of the view requirements.
        kept: One view of each data column that needs a history.
        depth: The longest of these histories, 0 where none is needed.
    """

    views: tuple[View, ...]
    kept: tuple[View, ...]
    depth: int

    @staticmethod
    def for_inference(
        view_requirements: Mapping[str, Any],
        initial_states: Sequence[Any],
        *,
        flatten_actions: bool,
    ) -> ViewPlan:
        """Plan the columns needed to act."""
        views: list[View] = []
        columns: dict[str, View] = {}
        depth = 0
        needs = {k: v for k, v in view_requirements.items() if v.used_for_compute_actions}
        reach = max((_reach(need.data_col or k, need) for k, need in needs.items()), default=1)
        for name, need in needs.items():
            column = need.data_col or name
            shifts = tuple(int(shift) for shift in need.shift_arr)
            if max(shifts) > 0:
                raise PieceError(
                    f"view {name!r} looks into the future (shift {need.shift!r}), "
                    "but is needed to act.",
                    hint="set used_for_compute_actions=False on it.",
                )
            if column in ("actions", "rewards") and f"prev_{column}" in needs:
                shifts = shifted_as_ray(shifts, reach)
            is_known = column in KNOWN_NOW
            zeros = zeros_of(need.space, flatten=flatten_actions and column == "actions")
            initial = None if is_known else before_first_step(column, zeros, initial_states)
            view = View(name, column, shifts, is_known, initial, zeros)
            views.append(view)
            if not (view.is_current or view.is_previous or view.is_unknown):
                columns.setdefault(column, view)
                depth = max(depth, -min(shifts) + (1 if is_known else 0), 1)
        return ViewPlan(tuple(views), tuple(columns.values()), depth)


def shifted_as_ray(shifts: tuple[int, ...], reach: int) -> tuple[int, ...]:
    """Return the shifts that Ray uses if "prev_actions" or "prev_rewards" is a view.

    Ray then counts from one position too early in a history of `reach` steps, and wraps around at
    its start. This is correct if every view looks one step back. If one looks further back,
    previous actions and rewards come a step late. Policies were trained with these values.

    Example:
        >>> shifted_as_ray((-1,), 1), shifted_as_ray((-1,), 3), shifted_as_ray((-3, -2, -1), 3)
        ((-1,), (-2,), (-1, -3, -2))
    """
    return tuple((shift + reach - 1) % reach - reach for shift in shifts)


def _reach(column: str, need: Any) -> int:
    """Return how many steps a view makes Ray keep of every column."""
    first = int(min(need.shift_arr)) - (1 if column in ("obs", "infos") else 0)
    return max(1, -first)


def before_first_step(column: str, zeros: Nest, initial_states: Sequence[Any]) -> Nest:
    """Return the value of a column before the first step of an episode."""
    head, _, number = column.rpartition("_")
    if head != "state_out" or not number.isdigit():
        return zeros
    position = int(number)
    if position >= len(initial_states):
        raise PieceError(
            f"a view reads {column!r}, but the policy has {len(initial_states)} initial states.",
            hint="return them from the policy's get_initial_state().",
        )
    state = np.asarray(initial_states[position])
    return state.astype(np.float32 if state.dtype == np.float64 else state.dtype)[None]


def _parse_range(text: str) -> tuple[int, int, int]:
    try:
        first, last, *step = (int(part) for part in text.split(":"))
        if len(step) > 1 or (step and step[0] < 1) or last < first:
            raise ValueError(text)
    except ValueError:
        raise PieceError(
            "a view's shift cannot be understood", expected="'first:last[:step]'", found=repr(text)
        ) from None
    return first, last, step[0] if step else 1


_SCALARS = ("rewards", "terminateds", "truncateds", "infos", "eps_id", "unroll_id", "agent_index")
_MODULE_COLUMNS = ("prev_actions", "prev_rewards", "rewards", "terminateds", "truncateds")
_MODULE_NUMBERS = ("eps_id", "unroll_id", "agent_index", "t")


def default_views(
    observation_space: Space[Any],
    action_space: Space[Any],
    model_views: Mapping[str, Any],
    initial_state: Sequence[Array],
    *,
    max_seq_len: int = 20,
    for_module: bool = False,
) -> dict[str, ViewRequirement]:
    """Return the views of a policy by the name of the column.

    The model's views are `ViewRequirement`s or their arguments. One state covers `max_seq_len`
    steps in training. Policies of an RLModule require every column.

    Example:
        >>> views = default_views(Box(-1, 1, (2,)), Box(-1, 1, (1,)), {}, [])
        >>> [name for name, view in views.items() if view.used_for_compute_actions]
        ['obs']
    """
    views: dict[str, ViewRequirement] = {
        "obs": ViewRequirement(space=observation_space),
        "new_obs": ViewRequirement(
            "obs", observation_space, shift=1, used_for_compute_actions=False
        ),
        "actions": ViewRequirement(space=action_space, used_for_compute_actions=False),
        "prev_actions": ViewRequirement(
            "actions", action_space, shift=-1, used_for_compute_actions=False
        ),
        "prev_rewards": ViewRequirement("rewards", shift=-1, used_for_compute_actions=False),
        "t": ViewRequirement(used_for_compute_actions=False),
    }
    views.update({name: ViewRequirement(used_for_compute_actions=False) for name in _SCALARS})
    for name, view in model_views.items():
        views[name] = view if isinstance(view, ViewRequirement) else ViewRequirement(**view)
    for index, state in enumerate(initial_state):
        space = Box(-1.0, 1.0, np.shape(state), np.float32)
        if f"state_in_{index}" not in model_views:
            views[f"state_in_{index}"] = ViewRequirement(
                f"state_out_{index}", space, shift=-1, batch_repeat_value=max_seq_len
            )
        after = views.setdefault(f"state_out_{index}", ViewRequirement(space=space))
        after.used_for_compute_actions = False  # it is what acting gives, whatever the model says
    if for_module:
        for name in (*_MODULE_COLUMNS, *_MODULE_NUMBERS):
            views[name].used_for_compute_actions = True
    return views


def lstm_views(model_config: Mapping[str, Any], action_space: Space[Any]) -> dict[str, Any]:
    """Return the views of an LSTM wrapper, in addition to its state, from its settings."""
    views: dict[str, Any] = {}
    if model_config.get("lstm_use_prev_action"):
        views["prev_actions"] = {"data_col": "actions", "shift": -1, "space": action_space}
    if model_config.get("lstm_use_prev_reward"):
        views["prev_rewards"] = {"data_col": "rewards", "shift": -1}
    return views
