"""A mark where a pipeline samples environments."""

from __future__ import annotations

from typing import Any

from ....core.step.part import NOTHING, Contribution
from ..context import ConnectorContext
from ..rows import Rows
from .columns import ColumnsAgentConnector


class EnvSamplingAgentConnector(ColumnsAgentConnector):
    """Return data unchanged; Ray 2.3 and later add this connector to sampling pipelines.

    Args:
        ctx: The context.
        sign: Accepted for compatibility; has no effect in Ray either.
        limit: Accepted for compatibility; has no effect in Ray either.

    Example:
        >>> from rlconnect.legacy import AgentConnectorDataType
        >>> record = AgentConnectorDataType("env", "agent", {"rewards": 4.0})
        >>> EnvSamplingAgentConnector()([record])[0] is record
        True
    """

    is_idle = True

    def __init__(
        self, ctx: ConnectorContext | None = None, sign: bool = False, limit: float | None = None
    ) -> None:
        super().__init__(ctx)

    def transform_all(self, rows: Rows) -> None:
        """Hand the rows on."""

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Hand the columns on."""
        return columns

    def part(self) -> Contribution:
        """Nothing."""
        return NOTHING

    def to_state(self) -> tuple[str, Any]:
        """Its name and no params."""
        return "EnvSamplingAgentConnector", {}

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> EnvSamplingAgentConnector:
        """A connector in the context `ctx`; `params` may hold Ray's two ignored settings."""
        return EnvSamplingAgentConnector(ctx, **(params or {}))
