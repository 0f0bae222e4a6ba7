"""Clip rewards, or keep only their sign."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....core import array_namespace as xp
from ....core.errors import PieceError
from ....core.step.part import NOTHING, Contribution, Part
from ..context import ConnectorContext
from ..rows import Rows
from .columns import ColumnsAgentConnector


class ClipRewardAgentConnector(ColumnsAgentConnector):
    """Clip "rewards" to plus or minus a limit, or to their sign.

    A record without rewards, such as the first one of an episode, passes.

    Args:
        ctx: The context.
        sign: Keep only -1, 0 or 1.
        limit: Clip to [-limit, limit]; excludes `sign`.

    Example:
        >>> from rlconnect.legacy import AgentConnectorDataType
        >>> record = AgentConnectorDataType("env", "agent", {"rewards": 5.8})
        >>> float(ClipRewardAgentConnector(limit=1.0)([record])[0].data["rewards"])
        1.0
    """

    def __init__(
        self, ctx: ConnectorContext | None = None, sign: bool = False, limit: float | None = None
    ) -> None:
        super().__init__(ctx)
        if sign and limit:
            raise PieceError(
                "ClipRewardAgentConnector cannot clip to the sign and to a limit.",
                hint="pass either sign=True or limit=...",
            )
        self.sign: Final = sign
        self.limit: Final = limit

    def transform_all(self, rows: Rows) -> None:
        """Clip the rewards."""
        if "rewards" in rows and (self.sign or self.limit):
            rows.set("rewards", self._clip(np.asarray(rows.entries("rewards"))))

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Clip the reward."""
        if "rewards" not in columns or not (self.sign or self.limit):
            return columns
        return {**columns, "rewards": self._clip(np.asarray(columns["rewards"])[np.newaxis])[0]}

    def part(self) -> Contribution:
        """The clipping."""
        if not (self.sign or self.limit):
            return NOTHING
        return Contribution(reward=(Part(type(self).__name__, self._clip),))

    def to_state(self) -> tuple[str, Any]:
        """Its name and the two settings."""
        return "ClipRewardAgentConnector", {"sign": self.sign, "limit": self.limit}

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> ClipRewardAgentConnector:
        """A connector with the saved settings."""
        return ClipRewardAgentConnector(ctx, **(params or {}))

    def _clip(self, rewards: Any) -> Any:
        if self.sign:
            return xp.namespace(rewards).sign(rewards)
        limit = float(self.limit or 0)
        return xp.clip(rewards, -limit, limit)
