"""What connectors share that need the bounds of the action space and nothing else."""

from __future__ import annotations

from typing import Any

from typing_extensions import Self

from ....core.formulas.actions import ActionPlan
from ..context import ConnectorContext
from .formula import FormulaActionConnector


class BoundedActionConnector(FormulaActionConnector):
    """An action connector that reads its bounds off the context; it has no state of its own."""

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
