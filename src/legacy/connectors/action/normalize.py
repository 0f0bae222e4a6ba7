"""Stretch normalised actions over the bounds of the action space."""

from __future__ import annotations

from ....core.step.part import NOTHING, Contribution, action_part
from ..types import PolicyOutputType
from .formula import BoundedActionConnector


class NormalizeActionsConnector(BoundedActionConnector):
    """Stretch actions from [-1, 1] over the bounds of the action space, then clip.

    Integer boxes get their lower bound added; boxes with an unbounded component and spaces without
    bounds are left alone.

    Example:
        >>> from gymnasium.spaces import Box
        >>> from rlconnect.legacy import ActionConnectorDataType, ConnectorContext
        >>> import numpy as np
        >>> connector = NormalizeActionsConnector(ConnectorContext(action_space=Box(0, 10, (1,))))
        >>> record = ActionConnectorDataType("env", "agent", {}, (np.float32([0.5]), [], {}))
        >>> connector(record).output[0]
        array([7.5], dtype=float32)
    """

    @property
    def is_idle(self) -> bool:
        """Whether the action space has nothing to unsquash."""
        return not self.plan.unsquashes

    def transform_all(self, output: PolicyOutputType) -> PolicyOutputType:
        """Stretch the actions."""
        if not self.plan.unsquashes:
            return output
        actions, states, fetches = output
        return self.plan.unsquash(actions), states, fetches

    def part(self) -> Contribution:
        """The stretching."""
        if self.is_idle:
            return NOTHING
        return Contribution(action=(action_part(type(self).__name__, self.plan, "unsquash"),))
