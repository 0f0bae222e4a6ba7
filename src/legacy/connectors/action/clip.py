"""Cut actions off at the bounds of the action space."""

from __future__ import annotations

from ....core.step.part import NOTHING, Contribution, action_part
from ..types import PolicyOutputType
from .formula import BoundedActionConnector


class ClipActionsConnector(BoundedActionConnector):
    """Cut the Box leaves of an action off at their bounds.

    Example:
        >>> from gymnasium.spaces import Box
        >>> from rlconnect.legacy import ActionConnectorDataType, ConnectorContext
        >>> import numpy as np
        >>> connector = ClipActionsConnector(ConnectorContext(action_space=Box(0, 10, (1,))))
        >>> record = ActionConnectorDataType("env", "agent", {}, (np.float32([12]), [], {}))
        >>> connector(record).output[0]
        array([10.], dtype=float32)
    """

    @property
    def is_idle(self) -> bool:
        """Whether the action space has nothing to clip."""
        return not self.plan.clips

    def transform_all(self, output: PolicyOutputType) -> PolicyOutputType:
        """Clip the actions."""
        if not self.plan.clips:
            return output
        actions, states, fetches = output
        return self.plan.clip(actions), states, fetches

    def part(self) -> Contribution:
        """The cutting."""
        if self.is_idle:
            return NOTHING
        return Contribution(action=(action_part(type(self).__name__, self.plan, "clip"),))
