"""Stretch normalised actions over the bounds of the action space."""

from __future__ import annotations

from typing import Any

from ...core.actions import ActionPlan
from ..connector import ActionConnector
from ..context import ConnectorContext
from ..types import ActionConnectorDataType


class NormalizeActionsConnector(ActionConnector):
    """Stretch actions from [-1, 1] over the bounds of the action space, then clip.

    Integer boxes get their lower bound added; boxes with an unbounded component and spaces without
    bounds are left alone.

    Example:
        >>> from gymnasium.spaces import Box
        >>> import numpy as np
        >>> connector = NormalizeActionsConnector(ConnectorContext(action_space=Box(0, 10, (1,))))
        >>> record = ActionConnectorDataType("env", "agent", {}, (np.float32([0.5]), [], {}))
        >>> connector(record).output[0]
        array([7.5], dtype=float32)
    """

    def __init__(self, ctx: ConnectorContext | None = None) -> None:
        super().__init__(ctx)
        if ctx is not None:
            self.bind(ctx)

    def bind(self, ctx: ConnectorContext) -> None:
        """Read the bounds off the action space of `ctx`."""
        super().bind(ctx)
        self._plan = ActionPlan(ctx.action_space)

    def transform(self, ac_data: ActionConnectorDataType) -> ActionConnectorDataType:
        """Stretch the actions."""
        if not self._plan.unsquashes:
            return ac_data
        actions, states, fetches = ac_data.output
        output = (self._plan.unsquash(actions), states, fetches)
        return ActionConnectorDataType(ac_data.env_id, ac_data.agent_id, ac_data.input_dict, output)

    def to_state(self) -> tuple[str, Any]:
        """Its name; the bounds come from the context."""
        return "NormalizeActionsConnector", None

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> NormalizeActionsConnector:
        """A connector for the action space of `ctx`."""
        return NormalizeActionsConnector(ctx)
