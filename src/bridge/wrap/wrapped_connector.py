"""What both kinds of wrapped legacy connectors share: the connector, its slots, its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from gymnasium.spaces import Space
from typing_extensions import override

from ...core.data.damage import at
from ...core.errors import PieceError
from ...core.trust import Names
from ...legacy.connectors.connector import Connector
from ...legacy.connectors.context import ConnectorContext
from ...legacy.connectors.registry import get_connector
from ...v2.connectors.connector import ConnectorV2
from ...v2.saving.checkpointable import Components
from .plain_policy import context_from_data, context_to_data
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
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        connector: Any,
        context: Any = None,
        module_id: str | None = None,
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
        in_order, by_name = super()._live_arguments(args, kwargs, names)
        if isinstance(by_name.get("context"), Mapping):
            by_name["context"] = context_from_data(by_name["context"], names.trust)
        return in_order, by_name

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


def live_connector(
    connector: Any, context: Any, kind: type[Connector]
) -> tuple[Any, ConnectorContext]:
    """The connector and its context.

    Args:
        connector: One, or the `(name, params)` of its `to_state()`.
        context: A `ConnectorContext`, plain data of one, or None for the connector's own.
        kind: What it has to be.

    Raises:
        PieceError: It is something else, or has no context.
    """
    ctx = context_from_data(context) if isinstance(context, Mapping) else context
    if isinstance(connector, (tuple, list)) and len(connector) == 2:
        if ctx is None:
            raise PieceError(
                f"connector {connector[0]!r} cannot be built without a context",
                hint="give context=ConnectorContext.from_policy(policy).",
            )
        connector = get_connector(connector[0], ctx, connector[1])
    if not isinstance(connector, kind):
        raise PieceError(
            "this cannot be wrapped",
            expected=f"an {kind.__name__}, or what its to_state() gave",
            found=type(connector).__name__,
        )
    if ctx is None:
        ctx = connector.ctx
    elif not connector.is_bound:
        connector.bind(ctx)
    return connector, ctx


def reset_of(connector: Connector) -> Callable[[Any], None]:
    """What makes a connector forget an environment; many action connectors have nothing to."""
    reset: Callable[[Any], None] | None = getattr(connector, "reset", None)
    return (lambda env_id: None) if reset is None else reset


def learnt_by(connector: Connector) -> dict[str, Any]:
    """What a connector has learnt, under "connector"; empty if nothing."""
    try:
        pair = _without_answers(connector.to_state())
    except PieceError:  # a user's own that cannot be saved says so where it has to be
        return {}
    return {"connector": pair} if _holds_something(pair) else {}


def restored(state: Mapping[str, Any], ctx: ConnectorContext) -> Any:
    """The connector that `learnt_by` described."""
    name, params = state["connector"]
    return get_connector(name, ctx, params)


def _without_answers(pair: Any) -> list[Any]:
    """The pair without the last answers of running episodes: these lie in the episodes."""
    name, params = pair
    if name.endswith("ConnectorPipeline") and isinstance(params, (list, tuple)):
        return [name, [_without_answers(child) for child in params]]
    return [name, None if name == "StateBufferConnector" else params]


def _holds_something(pair: list[Any]) -> bool:
    name, params = pair
    if name.endswith("ConnectorPipeline"):
        return any(_holds_something(child) for child in params)
    return params not in (None, {}, ())
