"""Base classes of agent connectors that transform columns, of one agent or of a batch."""

from __future__ import annotations

from typing import Any, ClassVar

from ....core.errors import PieceError
from ..connector import AgentConnector, offers
from ..rows import Rows
from ..types import AgentConnectorDataType


class ColumnsAgentConnector(AgentConnector):
    """An agent connector that changes columns: override `transform_all`.

    One agent's columns are rows, too; `transform_columns` may do the same to them more quickly.

    Example:
        >>> class Halve(ColumnsAgentConnector):
        ...     def transform_all(self, rows):
        ...         rows.set("rewards", [reward / 2 for reward in rows.entries("rewards")])
        >>> Halve()([AgentConnectorDataType("env", "agent", {"rewards": 4.0})])[0].data
        {'rewards': 2.0}
    """

    takes_columns: ClassVar[bool] = False
    """Whether to call a connector of the class on one record is its `transform_columns`."""
    has_builder: ClassVar[bool] = False
    """Whether its `transform_columns` is to let its `builder` build what the policy looks at."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        is_called = cls.__call__ is AgentConnector.__call__
        cls.takes_columns = is_called and cls.transform is ColumnsAgentConnector.transform
        cls.has_builder = offers(cls, "builder", ("transform_columns",))

    def transform(self, ac_data: AgentConnectorDataType) -> AgentConnectorDataType:
        """Transform the record of one agent."""
        columns = ac_data.data
        if not isinstance(columns, dict):
            raise self.no_columns(columns)
        changed = self.transform_columns(ac_data.env_id, ac_data.agent_id, columns)
        if changed is columns:
            return ac_data
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, changed)

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Transform the columns of one agent; return them unchanged if there is nothing to do.

        Args:
            env_id: The environment.
            agent_id: The agent.
            columns: Columns by name; not modified.
        """
        rows = Rows([(env_id, agent_id)], {name: [value] for name, value in columns.items()})
        self.transform_all(rows)
        return rows.raw()[0]

    def transform_all(self, rows: Any) -> None:
        """Change the columns of all agents of a step, in place."""
        raise PieceError(
            f"{type(self).__name__} does nothing.",
            hint="override transform_all(), transform_columns(), transform() or __call__().",
        )

    def no_columns(self, data: Any) -> PieceError:
        """The error for a record that holds something else than columns."""
        return PieceError(
            f"{type(self).__name__} cannot read this record",
            expected="a dict of columns",
            found=type(data).__name__,
        )
