"""The base of connectors whose statistics several workers share."""

from __future__ import annotations

from typing import Any

from ....core.errors import PieceError
from ..connector import AgentConnector
from ..context import ConnectorContext
from .columns import ColumnsAgentConnector


class SyncedFilterAgentConnector(ColumnsAgentConnector):
    """An agent connector that learns from what passes and can be merged with its twins.

    Args:
        ctx: The context.
        *args: Taken for subclasses that hand theirs on, as Ray's do.
        **kwargs: Likewise.
    """

    def __init__(self, ctx: ConnectorContext | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(ctx)

    def apply_changes(self, other: Any, *args: Any, **kwargs: Any) -> None:
        """Take over what `other` learned since it was last asked."""
        raise self._lacks("apply_changes")

    def copy(self) -> Any:
        """An independent twin of the filter."""
        raise self._lacks("copy")

    def sync(self, other: AgentConnector) -> None:
        """Become equal to `other`."""
        raise self._lacks("sync")

    def reset_state(self) -> None:
        """Count what is learned from now on as new."""
        raise self._lacks("reset_state")

    def as_serializable(self) -> Any:
        """A twin of the filter without locks."""
        return self.copy()

    def _lacks(self, method: str) -> PieceError:
        return PieceError(f"{type(self).__name__} has no {method}().", hint="override it.")
