"""What both kinds of wrapped legacy connectors share: the connector, its slots, its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from gymnasium.spaces import Space
from typing_extensions import override

from ...core.data.damage import at
from ...core.trust import Names
from ...legacy.connectors.connector import Connector
from ...v2.connectors.connector import ConnectorV2
from ...v2.saving.checkpointable import Components
from .connector_state import learnt_by, live_connector, reset_of, restored
from .plain_context import context_from_data, context_to_data
from .slots import Slots


class WrappedConnector(ConnectorV2):
    """A piece that runs a legacy connector, each running episode as an environment of its own.

    Args:
        input_observation_space: Of what comes in.
        input_action_space: Of what comes in.
        connector: The connector or pipeline, or its `to_state()`.
        context: What it is built with, live or as plain data; its own if None.
        module_id: Only what is of this module; all if None.
    """

    kind: ClassVar[type[Connector]] = Connector
    """What the connector has to be."""

    settings: ClassVar[tuple[str, ...]] = ("module_id",)
    """The arguments of the constructor that are attributes of the same name."""

    def __init__(
        self,
        input_observation_space: Space[Any] | None,
        input_action_space: Space[Any] | None,
        connector: Any,
        context: Any,
        module_id: str | None,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.connector, self.context = live_connector(connector, context, self.kind)
        self.module_id = module_id
        self._slots = Slots(reset_of(self.connector))

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Give what the connector has learnt; running episodes hold the rest."""
        return learnt_by(self.connector)

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `get_state` gave; running episodes begin anew."""
        if state:
            with at("connector"):
                connector = restored(state, self.context)
            self._slots.clear()
            self.connector = connector
            self._slots = Slots(reset_of(self.connector))

    @override
    def reset_state(self) -> None:
        """Forget running episodes."""
        self._slots.clear()

    @classmethod
    @override
    def _live_arguments(
        cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], names: Names
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        made, by_name = super()._live_arguments(args, kwargs, names)
        if isinstance(by_name.get("context"), Mapping):
            by_name["context"] = context_from_data(by_name["context"], names.trust)
        return made, by_name

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Give the arguments as plain data.

        Raises:
            PieceError: A connector of the user's own does not say how to save it.
        """
        return (), {
            "input_observation_space": self.input_observation_space,
            "input_action_space": self.input_action_space,
            "connector": list(self.connector.to_state()),
            "context": context_to_data(self.context),
            **{name: getattr(self, name) for name in self.settings},
        }
