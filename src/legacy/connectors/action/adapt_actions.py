"""Actions of a policy as a changed environment takes them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space

from ....core import nest
from ....core.adapters import AdapterChain, BoundChain
from ....core.errors import PieceError
from ....core.step.part import Contribution, Part
from ..context import ConnectorContext
from ..types import PolicyOutputType
from .formula import FormulaActionConnector


class AdaptActionsConnector(FormulaActionConnector):
    """Take actions through an adapter; it comes after those that unsquash and clip.

    Args:
        ctx: The context; its action space is what the policy gives.
        chain: The steps. Those on observations belong to `AdaptObservationsAgentConnector`.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> from rlconnect.core.adapters import MapActions
        >>> from rlconnect.legacy import ActionConnectorDataType
        >>> connector = AdaptActionsConnector(
        ...     ConnectorContext(action_space=Discrete(2)),
        ...     chain=AdapterChain(action=[MapActions([0, 2])]))
        >>> int(connector(ActionConnectorDataType("e", "a", {}, (1, [], {}))).output[0])
        2
    """

    def __init__(self, ctx: ConnectorContext | None = None, *, chain: AdapterChain) -> None:
        super().__init__(ctx)
        self.chain: Final = chain
        self._bound: BoundChain | None = None
        if ctx is not None:
            self.bind(ctx)

    def bind(self, ctx: ConnectorContext) -> None:
        """Fit the steps to the action space of `ctx`.

        Raises:
            SpaceError: They cannot work on it.
        """
        super().bind(ctx)
        space = ctx.action_space
        if space is None:
            raise self.lacks("action")
        self._bound = AdapterChain(action=self.chain.action).bind(space, space)

    @property
    def action_space(self) -> Space[Any]:
        """Action space of the environment."""
        return self.adapter.action_space

    def transform_all(self, output: PolicyOutputType) -> PolicyOutputType:
        """Adapt an action, or a batch of them."""
        actions, states, fetches = output
        return self.adapter.act(nest.map_structure(np.asarray, actions)), states, fetches

    def part(self) -> Contribution:
        """Its steps."""
        name = type(self).__name__
        return Contribution(action=tuple(Part.of(name, step) for step in self.adapter.actions))

    def to_state(self) -> tuple[str, Any]:
        """Its name and the steps as plain data."""
        return "AdaptActionsConnector", {"chain": self.chain.to_data()}

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> AdaptActionsConnector:
        """A connector with the saved steps; without any it lets everything pass."""
        return AdaptActionsConnector(
            ctx, chain=AdapterChain.from_data((params or {}).get("chain", {}))
        )

    @property
    def adapter(self) -> BoundChain:
        """Its steps, fitted to what the policy gives."""
        if self._bound is None:
            raise PieceError(
                f"{type(self).__name__} has no context yet.",
                hint="build it with one, or put it into a pipeline first.",
            )
        return self._bound
