"""History of one agent, and the batches for inference and training built from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, Final

import numpy as np

from ...core import nest
from ...core.errors import PieceError
from ...core.formulas.actions import flatten_to_single_ndarray
from ...core.types import Array, Nest
from ..batches.sample_batch import SampleBatch
from ..batches.step_rows import to_array, zeros_of
from .views import KNOWN_NOW, before_first_step


class GrowingColumn:
    """Rows of one column, one array per leaf.

    `is_object` keeps values whole, infos for instance.

    Example:
        >>> column = GrowingColumn(1.0)
        >>> column.append(2.0)
        >>> column.rows()
        array([1., 2.], dtype=float32)
    """

    def __init__(self, first: Nest, *, is_object: bool = False) -> None:
        self._is_object = is_object
        self._form: Nest = 0 if is_object else first
        leaves = self._leaves(first)
        self._arrays: list[Array] = [np.zeros((8, *leaf.shape), leaf.dtype) for leaf in leaves]
        self._length = 0
        self.append(first)

    def __len__(self) -> int:
        return self._length

    def append(self, value: Nest, times: int = 1) -> None:
        """Add one value, or the same one several times."""
        leaves = self._leaves(value)
        end = self._length + times
        for position, (array, leaf) in enumerate(zip(self._arrays, leaves, strict=True)):
            dtype = np.promote_types(array.dtype, leaf.dtype)
            if end > len(array) or dtype != array.dtype:
                grown = np.zeros((max(2 * len(array), end), *array.shape[1:]), dtype)
                grown[: self._length] = array[: self._length]
                self._arrays[position] = array = grown
            array[self._length : end] = leaf
        self._length = end

    def rows(self) -> Nest:
        """All rows; views that later appends may leave behind."""
        return self.mapped(lambda array: array)

    def at(self, places: Array) -> Nest:
        """Copies of the rows at `places`; zeros, or empty infos, beyond the last one."""
        beyond = places >= self._length
        inside = np.clip(places, 0, max(self._length - 1, 0))

        def picked(array: Array) -> Array:
            rows: Array = array[inside]
            if beyond.any():
                rows[beyond] = 0
            return rows

        return self.mapped(picked)

    def keep_last(self, count: int) -> None:
        """Drop all rows but the last `count`."""
        count = min(count, self._length)
        start = self._length - count
        for array in self._arrays:
            array[:count] = array[start : self._length].copy()
        self._length = count

    def leaves(self) -> list[Array]:
        """The rows of each leaf."""
        return [array[: self._length] for array in self._arrays]

    def mapped(self, function: Any) -> Nest:
        """The column's form with `function` of each leaf's rows in it."""
        return nest.unflatten_as(self._form, [function(leaf) for leaf in self.leaves()])

    def _leaves(self, value: Nest) -> list[Array]:
        if self._is_object:
            cell = np.empty((), object)
            cell[()] = value
            return [cell]
        return [to_array(leaf) for leaf in nest.flatten(value)]


_ZERO_BEFORE: Final = {"prev_actions": "actions", "prev_rewards": "rewards"}


class AgentCollector:
    """The history of one agent, from which views are built.

    Args:
        view_reqs: What the policy looks at, by the name it sees.
        max_seq_len: Length of the sequences that a recurrent policy learns from.
        disable_action_flattening: Keep nested actions instead of making one vector of each.
        intial_states: Recurrent states before the first step; RLlib spells it so.
        is_policy_recurrent: Whether batches say how long their sequences are.
        is_training: Keep everything; otherwise only as much as some view looks back.
        _enable_new_api_stack: Accepted for compatibility with Ray.

    Example:
        >>> from rlconnect.legacy.views.views import ViewRequirement
        >>> views = {"obs": ViewRequirement(), "last": ViewRequirement("rewards", shift=-1)}
        >>> collector = AgentCollector(views)
        >>> collector.add_init_obs(0, 0, 0, init_obs=1.0)
        >>> collector.build_for_inference()["last"]
        array([0.], dtype=float32)
        >>> collector.add_action_reward_next_obs({"new_obs": 2.0, "rewards": 5.0})
        >>> collector.build_for_inference()["last"]
        array([5.], dtype=float32)
    """

    _next_unroll_id: ClassVar[count[int]] = count()

    def __init__(
        self,
        view_reqs: Mapping[str, Any],
        *,
        max_seq_len: int = 1,
        disable_action_flattening: bool = True,
        intial_states: Sequence[Any] | None = None,
        is_policy_recurrent: bool = False,
        is_training: bool = True,
        _enable_new_api_stack: bool = False,
    ) -> None:
        self.view_requirements = view_reqs
        self.max_seq_len = max_seq_len
        self.disable_action_flattening = disable_action_flattening
        self.initial_states: list[Any] = list(intial_states or [])
        self.is_policy_recurrent = is_policy_recurrent
        self._is_training = is_training
        self.shift_before: int = max([1, *(_reach(name, v) for name, v in view_reqs.items())])
        self._columns: dict[str, GrowingColumn] = {}
        self.episode_id: Any = None
        self.unroll_id: Any = None
        self.agent_steps = 0

    @property
    def training(self) -> bool:
        """Whether everything is kept to learn from."""
        return self._is_training

    def is_training(self, is_training: bool) -> None:
        """Say whether everything is to be kept."""
        self._is_training = is_training

    def is_empty(self) -> bool:
        """Whether nothing was added yet."""
        return not self._columns

    @property
    def buffers(self) -> dict[str, list[Array]]:
        """The rows of each column, one array per leaf."""
        return {name: column.leaves() for name, column in self._columns.items()}

    def add_init_obs(
        self,
        episode_id: Any,
        agent_index: Any,
        env_id: Any,
        init_obs: Nest,
        init_infos: Any = None,
        t: int = -1,
    ) -> None:
        """Start with the first observation of an episode; it fills the time before, too.

        Args:
            episode_id: Of the episode.
            agent_index: Number of the agent.
            env_id: Of the environment.
            init_obs: The observation.
            init_infos: The environment's info dict.
            t: Number of the step.
        """
        self.episode_id = episode_id
        if self.unroll_id is None:
            self.unroll_id = next(AgentCollector._next_unroll_id)
        row = {
            "obs": init_obs,
            "infos": init_infos or {},
            "agent_index": agent_index,
            "env_id": env_id,
            "t": t,
            "eps_id": episode_id,
            "unroll_id": self.unroll_id,
        }
        for name, value in row.items():
            if name not in self._columns:
                self._open(name, value, self.shift_before - 1)
            else:
                self._columns[name].append(value)

    def add_action_reward_next_obs(self, input_values: Mapping[str, Any]) -> None:
        """Add one step: the action, its results, and "new_obs".

        Args:
            input_values: Columns by name.

        Raises:
            PieceError: A column that was there before is missing.
        """
        if self.unroll_id is None:
            self.unroll_id = next(AgentCollector._next_unroll_id)
        values = dict(input_values)
        values["obs"] = values.pop("new_obs", values.get("obs"))
        values["eps_id"], values["unroll_id"] = self.episode_id, self.unroll_id
        for name in ("agent_index", "env_id"):
            if name in self._columns:
                values[name] = self._columns[name].leaves()[0][-1]
        if "t" in self._columns:
            values.setdefault("t", int(self._columns["t"].leaves()[0][-1]) + 1)
        if "infos" in self._columns:
            values.setdefault("infos", {})
        missing = [name for name in self._columns if name not in values]
        if missing and self._is_training:
            raise PieceError(
                f"this step lacks columns that earlier ones had: {missing}",
                expected=str(list(self._columns)),
                found=str(list(input_values)),
            )
        for name, value in values.items():
            if name == "actions" and not self.disable_action_flattening:
                value = flatten_to_single_ndarray(value)
            if name in self._columns:
                self._columns[name].append(value)
            elif name in KNOWN_NOW:
                self._open(name, value, self.shift_before - 1)
            else:
                before = self._before(name, value)
                self._open(name, before, self.shift_before - 1)
                self._columns[name].append(value)
        self.agent_steps += 1
        if not self._is_training:
            for column in self._columns.values():
                column.keep_last(self.shift_before)

    def build_for_inference(self) -> SampleBatch:
        """One row of the columns needed to act now.

        Raises:
            PieceError: A view needed to act looks into the future.
        """
        built: dict[str, Any] = {}
        for name, view in self.view_requirements.items():
            if not view.used_for_compute_actions:
                continue
            if view.shift_arr.max() > 0:
                raise PieceError(
                    f"view {name!r} looks into the future, but is needed to act.",
                    hint="set used_for_compute_actions=False on it.",
                )
            column_name = view.data_col or name
            zeros = self._zeros(column_name, view)
            if column_name not in self._columns:
                if column_name in KNOWN_NOW:
                    continue
                first = before_first_step(column_name, zeros, self.initial_states)
                value = nest.taken(first, 0)
                self._open(column_name, value, self.shift_before - 1)
            column = self._columns[column_name]
            is_known = column_name in KNOWN_NOW
            # A step that is not over yet has no action: one place beyond the last row, zeros.
            places = len(column) - (1 if is_known else 0) + view.shift_arr
            rows = column.at(np.maximum(places, 0))
            is_single = len(view.shift_arr) == 1
            if is_single and not is_known and view.shift_arr[0] == 0:
                built[name] = zeros
            else:
                built[name] = (
                    rows if is_single else nest.map_structure(lambda leaf: leaf[None], rows)
                )
        batch = SampleBatch.of(built)
        if self.is_policy_recurrent:
            dict.__setitem__(batch, "seq_lens", np.array([1], np.int64))
        return batch

    def build_for_training(self, view_requirements: Mapping[str, Any]) -> SampleBatch:
        """All steps since the last time as one batch; what views look back to is kept.

        After the last step of an episode everything is kept: it can be built again.

        Args:
            view_requirements: The columns to build. Those of unknown data are left out.
        """
        steps = self.agent_steps
        built: dict[str, Any] = {}
        for name, view in view_requirements.items():
            column_name = view.data_col or name
            column = self._columns.get(column_name)
            if column is None:
                continue
            every = np.arange(0, steps, max(int(view.batch_repeat_value), 1))
            # The number of a step, "t", came with the step; only these two came before it.
            now = self.shift_before - (1 if column_name in ("obs", "infos") else 0)
            places = every[:, None] + view.shift_arr + now
            rows = column.at(np.maximum(places, 0))
            is_single = len(view.shift_arr) == 1
            built[name] = nest.map_structure(lambda leaf: leaf[:, 0], rows) if is_single else rows
        batch = SampleBatch.of(built)
        if self.is_policy_recurrent and steps:
            lens = np.full(-(-steps // self.max_seq_len), self.max_seq_len)
            lens[-1] = steps - self.max_seq_len * (len(lens) - 1)
            dict.__setitem__(batch, "seq_lens", lens)
            batch.max_seq_len = self.max_seq_len
        if not self._has_ended():
            for column in self._columns.values():
                column.keep_last(self.shift_before)
            self.agent_steps = 0
        self.unroll_id = None
        return batch

    def _has_ended(self) -> bool:
        """Return True if the last step ended the episode, so that nothing can be added."""
        ends = [self._columns.get(name) for name in ("terminateds", "truncateds")]
        return any(bool(column.leaves()[0][-1]) for column in ends if column is not None)

    def _open(self, name: str, value: Nest, times_before: int) -> None:
        """Start a column with `value`, repeated as far as views look back."""
        if name == "actions" and not self.disable_action_flattening:
            value = flatten_to_single_ndarray(value)
        column = GrowingColumn(value, is_object=name == "infos")
        if times_before:
            column.append(value, times_before)
        self._columns[name] = column

    def _before(self, name: str, value: Nest) -> Nest:
        """Return the value before the first value of a column.

        As in RLlib: the initial state for states, zeros if the policy uses views named
        "prev_actions" or "prev_rewards", else the value itself.
        """
        if name.startswith("state_out_") and self.initial_states:
            number = int(name.rpartition("_")[2])
            return self.initial_states[number]
        is_looked_at = any(
            view in self.view_requirements
            for view, column in _ZERO_BEFORE.items()
            if column == name
        )
        return (
            nest.map_structure(lambda leaf: np.zeros_like(leaf), value) if is_looked_at else value
        )

    def _zeros(self, column: str, view: Any) -> Nest:
        flattens = column == "actions" and not self.disable_action_flattening
        return zeros_of(view.space, flatten=flattens)


def _reach(name: str, view: Any) -> int:
    newest = 1 if (view.data_col or name) in ("obs", "infos") else 0
    return newest - int(np.min(view.shift_arr))
