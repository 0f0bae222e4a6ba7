"""Cut actions off at the bounds of the action space."""

from __future__ import annotations

from typing import Any

from ...core.actions import ActionPlan
from ..connector import ActionConnector
from ..context import ConnectorContext
from ..types import ActionConnectorDataType


class ClipActionsConnector(ActionConnector):
    """Cut the Box leaves of an action off at their bounds.

    Example:
        >>> from gymnasium.spaces import Box
        >>> import numpy as np
        >>> connector = ClipActionsConnector(ConnectorContext(action_space=Box(0, 10, (1,))))
        >>> record = ActionConnectorDataType("env", "agent", {}, (np.float32([12]), [], {}))
        >>> connector(record).output[0]
        array([10.], dtype=float32)
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
        """Clip the actions."""
        if not self._plan.clips:
            return ac_data
        actions, states, fetches = ac_data.output
        output = (self._plan.clip(actions), states, fetches)
        return ActionConnectorDataType(ac_data.env_id, ac_data.agent_id, ac_data.input_dict, output)

    def to_state(self) -> tuple[str, Any]:
        """Its name; the bounds come from the context."""
        return "ClipActionsConnector", None

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> ClipActionsConnector:
        """A connector for the action space of `ctx`."""
        return ClipActionsConnector(ctx)
