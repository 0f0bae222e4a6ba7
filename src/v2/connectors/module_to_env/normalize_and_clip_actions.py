"""Actions of a module into the bounds of the environment."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium import spaces
from typing_extensions import override

from ....core import array_namespace as xp
from ....core import nest
from ....core.columns import Columns
from ....core.errors import PieceError
from ....core.formulas.actions import ActionPlan
from ....core.step.part import NOTHING, Contribution, Part, action_part
from ....core.types import Nest
from ..batch_items import UnknownColumnError, foreach_batch_item_change_in_place
from ..columnar import ColumnarPiece
from ..piece_plan import Call
from ..table import NotColumnar, Table, copied

_NO_ROWS: Final = "actions are single numbers, of several types, or missing"


class NormalizeAndClipActions(ColumnarPiece):
    """Add `actions_for_env`: the actions, stretched from [-1, 1] over their bounds, or clipped.

    The column of actions stays as it is. With neither setting nothing is added.

    Args:
        input_action_space: The environment's; by agent id for several agents.
        normalize_actions: Whether to stretch; comes before clipping.
        clip_actions: Whether to clip.

    Example:
        >>> box = spaces.Box(0.0, 10.0, (1,))
        >>> piece = NormalizeAndClipActions(None, box, normalize_actions=True, clip_actions=False)
        >>> batch = {"actions": {("e0",): [np.zeros(1, np.float32)]}}
        >>> piece(rl_module=None, batch=batch, episodes=[])["actions_for_env"]
        {('e0',): [array([5.], dtype=float32)]}
    """

    TAKES_ROWS = True

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        normalize_actions: bool,
        clip_actions: bool,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.normalize_actions = normalize_actions
        self.clip_actions = clip_actions
        self._plans: dict[Any, ActionPlan] = {}
        self._planned_for: Any = None
        self._ways: dict[Any, tuple[Any, Any, list[tuple[ActionPlan, list[int]]]]] = {}

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        if not (self.normalize_actions or self.clip_actions):
            return batch
        if self._input_action_space is None:
            raise PieceError(
                f"{type(self).__name__} does not know the action space",
                hint="give it, or its pipeline, an input_action_space.",
            )
        if type(batch) is Table:
            return self._bounded(batch)
        actions = batch.get(Columns.ACTIONS)
        if actions is None:
            raise UnknownColumnError(
                f"{type(self).__name__} needs a column 'actions'",
                found=f"columns {sorted(map(str, batch))}",
                hint="return actions or action_dist_inputs from the module's forward pass.",
            )
        is_dict = isinstance(actions, dict)
        batch[Columns.ACTIONS_FOR_ENV] = (
            {key: list(items) for key, items in actions.items()} if is_dict else list(actions)
        )
        foreach_batch_item_change_in_place(batch, Columns.ACTIONS_FOR_ENV, self._for_env)
        return batch

    def part(self) -> Contribution | None:
        """What it does to the actions of a single agent, as data."""
        if not (self.normalize_actions or self.clip_actions):
            return NOTHING
        if self.input_action_space is None:
            raise PieceError(
                f"{type(self).__name__} does not know the action space",
                hint="give its pipeline an input_action_space.",
            )
        plan, name = self.plan_of(None), type(self).__name__
        if not (plan.unsquashes if self.normalize_actions else plan.clips):
            return NOTHING
        how = "unsquash" if self.normalize_actions else "clip"
        return Contribution(action=(action_part(name, plan, how),))

    def _bounded(self, table: Table) -> Table:
        if table.is_by_module:
            raise NotColumnar(_NO_ROWS)
        if None in table.blocks:
            columns = table.blocks[None].columns
            if Columns.ACTIONS_FOR_ENV not in columns:
                table.added += (Columns.ACTIONS_FOR_ENV,)
            self.add_bounded(columns)
            return table
        actions = {
            module_id: self._rows_for_env(rows.columns[Columns.ACTIONS], module_id, rows.keys)
            for module_id, rows in table.blocks.items()
            if Columns.ACTIONS in rows.columns
        }
        if not actions:
            raise NotColumnar(_NO_ROWS)
        table.add(Columns.ACTIONS_FOR_ENV, actions)
        return table

    def add_bounded(self, columns: dict[str, Nest]) -> None:
        """Add a column of actions in their bounds to rows of a single agent.

        Raises:
            NotColumnar: There are no actions, no space is known, or they are single numbers.
        """
        if not (self.normalize_actions or self.clip_actions):
            return
        space, actions = self._input_action_space, columns.get(Columns.ACTIONS)
        if actions is None or space is None:
            raise NotColumnar(_NO_ROWS)
        plan = self._plans.get(None) if self._planned_for is space else None
        columns[Columns.ACTIONS_FOR_ENV] = self._in_bounds(plan or self.plan_of(None), actions)

    def _rows_for_env(self, actions: Nest, module_id: Any, keys: list[Any]) -> Nest:
        ways = self._ways_of(module_id, keys)
        if len(ways) == 1:
            return self._in_bounds(ways[0][0], actions)
        if type(actions) is not np.ndarray:
            raise NotColumnar(_NO_ROWS)
        parts = [(places, self._in_bounds(plan, actions[places])) for plan, places in ways]
        if len({part.dtype for _, part in parts}) > 1:
            raise NotColumnar(_NO_ROWS)
        rows_for_env = np.empty_like(actions, dtype=parts[0][1].dtype)
        for places, part in parts:
            rows_for_env[places] = part
        return rows_for_env

    def _in_bounds(self, plan: ActionPlan, actions: Nest) -> Any:
        """Rows of actions in their bounds; the environment gets arrays of its own."""
        writable: Any = actions.copy() if type(actions) is np.ndarray else copied(actions)
        if not (plan.unsquashes if self.normalize_actions else plan.clips):
            return writable
        if any(leaf.ndim < 2 for leaf in nest.flatten(writable)):  # rows and parts
            raise NotColumnar(_NO_ROWS)  # Numbers one by one are of other types than in an array.
        return plan.unsquash(writable) if self.normalize_actions else plan.clip(writable)

    def _ways_of(self, module_id: Any, keys: list[Any]) -> list[tuple[ActionPlan, list[int]]]:
        """How the actions of several agents are bounded, each way with its rows.

        Args:
            module_id: The module that gave them.
            keys: Ids of episode and agent; a list is looked at once.

        Returns:
            A single way is for all rows.
        """
        cached = self._ways.get(module_id)
        if cached is not None and cached[0] is keys and cached[1] is self.input_action_space:
            return cached[2]
        places: dict[Any, list[int]] = {}
        for place, (_, agent_id) in enumerate(keys):
            places.setdefault(agent_id, []).append(place)
        ways = [(self.plan_of(agent_id), at) for agent_id, at in places.items()]
        if not any(plan.unsquashes or plan.clips for plan, _ in ways):
            ways = ways[:1]
        self._ways[module_id] = keys, self.input_action_space, ways
        return ways

    def _for_env(self, action: Nest, eps_id: Any, agent_id: Any, module_id: Any) -> Nest:
        plan = self.plan_of(agent_id)
        writable = nest.map_structure(_own, action)
        return plan.unsquash(writable) if self.normalize_actions else plan.clip(writable)

    def plan_of(self, agent_id: Any) -> ActionPlan:
        """How actions of an agent are bounded; None for a single agent."""
        if self._planned_for is not self._input_action_space:
            self._plans, self._planned_for = {}, self._input_action_space
        if agent_id not in self._plans:
            space = self.input_action_space
            self._plans[agent_id] = ActionPlan(space if agent_id is None else space[agent_id])
        return self._plans[agent_id]


def _own(leaf: Any) -> Any:
    """The leaf, or a copy: the environment may change what it is given."""
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


class SquashGreedyActions(ColumnarPiece):
    """Bend actions into [-1, 1] by a hyperbolic tangent, where nothing was explored.

    `TorchSquashedGaussian` gives actions between -1 and 1 when it draws them, but its best action
    is the mean before squashing, in RLlib as here. The old stack's SAC squashed both.

    Example:
        >>> batch = {"actions": {("e0",): [np.array([100.0], np.float32)]}}
        >>> SquashGreedyActions()(rl_module=None, batch=batch, episodes=[], explore=False)
        {'actions': {('e0',): [array([1.], dtype=float32)]}}
    """

    TAKES_ROWS = True

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        if not call.explore:
            self.change_column(batch, Columns.ACTIONS, _squashed)
        return batch

    def part(self) -> Contribution:
        """What it does to actions, as data."""
        return Contribution(action=(Part(type(self).__name__, _squashed),))


def _squashed(actions: Nest) -> Nest:
    if type(actions) is np.ndarray:  # the usual case of what follows
        return np.tanh(actions)
    return nest.map_structure(lambda leaf: xp.namespace(leaf).tanh(leaf), actions)
