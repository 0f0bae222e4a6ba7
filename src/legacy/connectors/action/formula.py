"""What action connectors share that are a formula on an answer, for one agent or for many."""

from __future__ import annotations

from ..connector import ActionConnector
from ..types import ActionConnectorDataType


class FormulaActionConnector(ActionConnector):
    """An action connector that needs no more than the answer: override `transform_all`.

    Leading axes are free, so that the same formula serves one answer and a batch of them.

    Example:
        >>> class Double(FormulaActionConnector):
        ...     def transform_all(self, output):
        ...         actions, states, fetches = output
        ...         return 2 * actions, states, fetches
        >>> Double()(ActionConnectorDataType("env", "agent", {}, (4, [], {}))).output
        (8, [], {})
    """

    def transform(self, ac_data: ActionConnectorDataType) -> ActionConnectorDataType:
        """Transform one answer."""
        return ac_data.with_output(self.transform_all(ac_data.output))
