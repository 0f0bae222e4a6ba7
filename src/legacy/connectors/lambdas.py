"""A plain function as a connector, saved by name.

Code never enters a checkpoint: a pipeline that holds such a connector loads once the same name
has been registered again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.errors import DuplicateNameError, PieceError
from .connector import ActionConnector, AgentConnector, Connector
from .context import ConnectorContext
from .registry import registered_class, replace_connector
from .types import ActionConnectorDataType, AgentConnectorDataType


class LambdaData(dict[str, Any]):
    """The columns a lambda connector's function gets: a dict that also answers to `.data`.

    Ray hands its functions the columns; its documentation writes `del d.data[SampleBatch.INFOS]`.
    Both run here, on a copy of the record's dict.

    Example:
        >>> columns = LambdaData(infos={}, new_obs=3)
        >>> del columns.data["infos"]
        >>> columns
        {'new_obs': 3}
    """

    __slots__ = ()

    @property
    def data(self) -> LambdaData:
        """The columns themselves."""
        return self


class _LambdaAgentConnector(AgentConnector):
    fn: Callable[[Any], Any]

    def transform(self, ac_data: AgentConnectorDataType) -> AgentConnectorDataType:
        data = ac_data.data
        result = type(self).fn(LambdaData(data) if isinstance(data, dict) else data)
        if result is None:
            raise PieceError(
                f"{type(self).__name__} returned nothing",
                expected="the changed columns",
                found="None",
                hint="end the function with `return data`.",
            )
        if isinstance(result, LambdaData):
            result = dict(result)
        elif isinstance(result, AgentConnectorDataType):
            result = result.data
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, result)

    def to_state(self) -> tuple[str, Any]:
        return type(self).__name__, None


class _LambdaActionConnector(ActionConnector):
    fn: Callable[[Any, Any, Any], Any]

    def transform(self, ac_data: ActionConnectorDataType) -> ActionConnectorDataType:
        actions, states, fetches = ac_data.output
        result = type(self).fn(actions, states, fetches)
        if not (isinstance(result, tuple) and len(result) == 3):
            raise PieceError(
                f"{type(self).__name__} returned something unusable",
                expected="(actions, states, fetches)",
                found=f"a {type(result).__name__}",
                hint="return the triple, with those parts unchanged that need no change.",
            )
        return ActionConnectorDataType(ac_data.env_id, ac_data.agent_id, ac_data.input_dict, result)

    def to_state(self) -> tuple[str, Any]:
        return type(self).__name__, None


def register_lambda_agent_connector(name: str, fn: Callable[[Any], Any]) -> type[AgentConnector]:
    """Make an agent connector class of `fn` and register it.

    Registering the same name again replaces the class, so that a notebook cell may be run twice;
    pipelines loaded from then on hold the new one.

    Args:
        name: Name of the class, and what checkpoints call it.
        fn: Gets a copy of the columns of one record (see `LambdaData`), returns the new columns.

    Raises:
        DuplicateNameError: The name belongs to a connector that is not a lambda.

    Example:
        >>> Shout = register_lambda_agent_connector("Shout", lambda data: {**data, "loud": True})
        >>> Shout(ConnectorContext())([AgentConnectorDataType("e", "a", {})])[0].data
        {'loud': True}
    """
    return _registered(name, fn, _LambdaAgentConnector)


def register_lambda_action_connector(
    name: str, fn: Callable[[Any, Any, Any], Any]
) -> type[ActionConnector]:
    """Make an action connector class of `fn` and register it.

    Registering the same name again replaces the class; pipelines loaded from then on hold the
    new one.

    Args:
        name: Name of the class, and what checkpoints call it.
        fn: Called as fn(actions, states, fetches); returns the three.

    Raises:
        DuplicateNameError: The name belongs to a connector that is not a lambda.

    Example:
        >>> Double = register_lambda_action_connector(
        ...     "Double", lambda actions, states, fetches: (2 * actions, states, fetches))
        >>> Double(ConnectorContext())(ActionConnectorDataType("e", "a", {}, (4, [], {}))).output
        (8, [], {})
    """
    return _registered(name, fn, _LambdaActionConnector)


def _registered(name: str, fn: Callable[..., Any], base: type[Any]) -> type[Any]:
    registered = registered_class(name)
    if registered is not None and not issubclass(registered, base):
        raise DuplicateNameError(
            f"connector name {name!r} is taken by a connector of another kind.",
            hint="register the function under another name.",
            name=name,
        )

    def from_state(ctx: ConnectorContext, params: Any) -> Connector:
        connector: Connector = cls(ctx)
        return connector

    cls = type(
        name,
        (base,),
        {
            "fn": staticmethod(fn),
            "from_state": staticmethod(from_state),
            "__module__": getattr(fn, "__module__", __name__),
            "__doc__": fn.__doc__
            or f"The function {getattr(fn, '__name__', fn)!r} as a connector.",
        },
    )
    replace_connector(name, cls)
    return cls
