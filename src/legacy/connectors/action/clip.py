"""Cut actions off at the bounds of the action space."""

from __future__ import annotations

from ..types import PolicyOutputType
from .bounded import BoundedActionConnector


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

    def transform_all(self, output: PolicyOutputType) -> PolicyOutputType:
        """Clip the actions."""
        if not self.plan.clips:
            return output
        actions, states, fetches = output
        return self.plan.clip(actions), states, fetches
