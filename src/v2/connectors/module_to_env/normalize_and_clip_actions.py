"""Actions of a module into the bounds of the environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from typing_extensions import override

from ....core import nest
from ....core.columns import Columns
from ....core.errors import PieceError
from ....core.formulas.actions import ActionPlan
from ....core.types import Nest
from ..batch_items import UnknownColumnError, foreach_batch_item_change_in_place
from ..connector import ConnectorV2


class NormalizeAndClipActions(ConnectorV2):
    """Add `actions_for_env`: the actions, stretched from [-1, 1] over their bounds, or clipped.

    The column of actions stays as it is. With neither setting nothing is added.

    Args:
        input_observation_space: Of what comes in.
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

    @override
    def __call__(self, *, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        if not (self.normalize_actions or self.clip_actions):
            return batch
        if self.input_action_space is None:
            raise PieceError(
                f"{type(self).__name__} does not know the action space",
                hint="give it, or its pipeline, an input_action_space.",
            )
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

    def _for_env(self, action: Nest, eps_id: Any, agent_id: Any, module_id: Any) -> Nest:
        plan = self.plan_of(agent_id)
        own = nest.map_structure(_own, action)
        return plan.unsquash(own) if self.normalize_actions else plan.clip(own)

    def plan_of(self, agent_id: Any) -> ActionPlan:
        """How actions of an agent are bounded; None for a single agent."""
        if self._planned_for is not self.input_action_space:
            self._plans, self._planned_for = {}, self.input_action_space
        if agent_id not in self._plans:
            space = self.input_action_space
            self._plans[agent_id] = ActionPlan(space if agent_id is None else space[agent_id])
        return self._plans[agent_id]


def _own(leaf: Any) -> Any:
    """The leaf, or a copy: the environment may change what it is given."""
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf
