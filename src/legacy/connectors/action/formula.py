"""Base classes of action connectors that apply a formula, to one action or to a batch."""

from __future__ import annotations

from typing import Any

from typing_extensions import Self

from ....core.formulas.actions import ActionPlan
from ..connector import ActionConnector
from ..context import ConnectorContext
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


class BoundedActionConnector(FormulaActionConnector):
    """Base class of action connectors that take bounds from the context and have no state."""

    def __init__(self, ctx: ConnectorContext | None = None) -> None:
        super().__init__(ctx)
        if ctx is not None:
            self.bind(ctx)

    def bind(self, ctx: ConnectorContext) -> None:
        """Read the bounds off the action space of `ctx`."""
        super().bind(ctx)
        self.plan = ActionPlan(ctx.action_space)

    def to_state(self) -> tuple[str, Any]:
        """Its name; the bounds come from the context."""
        return type(self).__name__, None

    @classmethod
    def from_state(cls, ctx: ConnectorContext, params: Any) -> Self:
        """A connector for the action space of `ctx`."""
        return cls(ctx)
