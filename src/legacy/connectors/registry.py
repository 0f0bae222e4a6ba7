"""The durable names of legacy connectors: what a checkpoint calls them.

The built-ins sit in one table and are imported when first asked for. Users add their own with
`register_connector`, or as plain functions with the calls of lambdas.py.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ...core.data.damage import at, calling
from ...core.errors import DuplicateNameError, PieceError, UnknownNameError
from ...core.text.near_names import near_names
from ...core.trust import NOTHING, Slot, Trust, find
from ...core.trust.names import words
from ...names import front_tables
from ...names.legacy import LEGACY
from .connector import Connector
from .context import ConnectorContext

_LEGACY: Final = __name__.rpartition(".connectors")[0]
_ROOMS: Final = (".connectors.action.", ".connectors.agent.", ".connectors.pipeline")
_BASES: Final = frozenset({"ConnectorPipeline", "SyncedFilterAgentConnector"})
BUILT_INS: Final = {
    name: home
    for name, home in front_tables(LEGACY)[0].items()
    if home.startswith(_ROOMS) and name[0].isupper() and name not in _BASES
}
"""Name -> the module of the old stack that holds the class of that name."""

CONNECTOR: Final = Slot(
    "a connector",
    fits=lambda thing: isinstance(thing, type) and issubclass(thing, Connector),
    register="register_connector(name, cls)",
)

_ADDED: Final[dict[str, type[Connector]]] = {}


class UnknownConnectorError(UnknownNameError, NameError):
    """No connector is registered under that name."""


class NotAConnectorError(PieceError, TypeError):
    """Something else than a subclass of Connector was to be registered."""


def register_connector(name: str, cls: type[Connector]) -> type[Connector]:
    """Register a connector class under the name used in saved pipelines.

    Args:
        name: The durable name, usually the class's own.
        cls: A subclass of `AgentConnector` or `ActionConnector`. Registering the same class
            again is harmless. A class of the same module and name takes the place of the first,
            so a notebook cell may be run twice.

    Returns:
        The class, so the call can decorate: `@partial(register_connector, "Name")`.

    Raises:
        NotAConnectorError: `cls` is no connector class. Also a TypeError.
        DuplicateNameError: The name is registered for another class.
    """
    _check_is_connector(name, cls)
    registered = _lookup(name)
    if registered is not None and registered is not cls and _origin(registered) != _origin(cls):
        raise DuplicateNameError(
            f"connector name {name!r} is taken",
            expected="one class for one name",
            found=f"{'.'.join(_origin(cls))} and {'.'.join(_origin(registered))}",
            hint="register it under another name.",
            name=name,
        )
    if name not in BUILT_INS:
        _ADDED[name] = cls
    return cls


def replace_connector(name: str, cls: type[Connector]) -> None:
    """Replace the class registered under `name`, unless it is the name of a built-in."""
    _check_is_connector(name, cls)
    if name in BUILT_INS:
        raise DuplicateNameError(
            f"connector name {name!r} is taken by a built-in.",
            hint="register it under another name.",
            name=name,
        )
    _ADDED[name] = cls


def registered_class(name: str) -> type[Connector] | None:
    """Return the class registered under `name`, or None."""
    return _lookup(name)


def get_connector(name: Any, ctx: Any, params: Any = None) -> Connector:
    """Build the connector that a checkpoint calls `name`.

    Ray 2.0 to 2.2 called it as `get_connector(ctx, name, params)`; that order works too.

    Args:
        name: The durable name.
        ctx: What the connector may know of its policy.
        params: What its `to_state` gave.

    Raises:
        UnknownConnectorError: Nothing is registered under that name. Also a NameError.
    """
    if isinstance(name, ConnectorContext) or isinstance(ctx, str):
        name, ctx = ctx, name
    cls = None
    if isinstance(name, str):
        cls = _lookup(name) or find(name, CONNECTOR, ctx.trust)
    if cls is None:
        all_names = [*BUILT_INS, *_ADDED]
        near = near_names(str(name), all_names, n=1)
        raise UnknownConnectorError(
            f"no connector named {name!r} among the {len(all_names)} registered.",
            hint=(f"did you mean {near[0]!r}? If it is your own, " if near else "")
            + "call register_connector() or register_lambda_agent_connector() first, or pass it: "
            f"{words([str(name)])}.",
            kind="connector",
            suggestion=near[0] if near else None,
        )
    with at(name), calling(cls):
        return cls.from_state(ctx, params)


def unknown_connectors(pairs: Any, trust: Trust = NOTHING) -> list[str]:
    """Return the names of unregistered connectors in saved ones, including nested pipelines.

    Entries that are not `(name, params)` pairs are ignored.
    """
    unknown: dict[str, None] = {}
    todo = [pairs]
    while todo:
        for each in todo.pop():
            if not (isinstance(each, (list, tuple)) and len(each) == 2):
                continue
            name, params = each
            if not isinstance(name, str):
                continue
            if _lookup(name) is None and find(name, CONNECTOR, trust) is None:
                unknown[name] = None
            if name.endswith("ConnectorPipeline") and isinstance(params, (list, tuple)):
                todo.append(params)
    return list(unknown)


def _lookup(name: Any) -> type[Connector] | None:
    if name in _ADDED:
        return _ADDED[name]
    if name in BUILT_INS:
        connector: type[Connector] = getattr(import_module(BUILT_INS[name], _LEGACY), name)
        return connector
    return None


def _origin(cls: type[Connector]) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _check_is_connector(name: str, cls: Any) -> None:
    if not (isinstance(cls, type) and issubclass(cls, Connector)):
        raise NotAConnectorError(
            f"{name!r} cannot be registered as a connector",
            expected="a subclass of AgentConnector or ActionConnector",
            found=repr(cls),
        )
