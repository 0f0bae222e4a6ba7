"""Legacy connectors given live or as data, and what of them belongs into a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...core.errors import PieceError
from ...legacy.connectors.connector import Connector
from ...legacy.connectors.context import ConnectorContext
from ...legacy.connectors.registry import get_connector
from .plain_context import context_from_data


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
