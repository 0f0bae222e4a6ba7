"""Base class of wrapped legacy connectors, with their sessions and state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, ClassVar, Final

from gymnasium.spaces import Space
from typing_extensions import override

from ...core.data.damage import at
from ...core.errors import PieceError
from ...core.runtime.sessions import Sessions
from ...core.trust import Names
from ...legacy.connectors.connector import Connector
from ...legacy.connectors.context import ConnectorContext
from ...legacy.connectors.registry import get_connector
from ...v2.connectors.batch_items import is_multi_agent, key_of
from ...v2.connectors.connector import ConnectorV2
from ...v2.saving.checkpointable import Components
from .plain_policy import context_from_data, context_to_data

_AGENT: Final = "agent"
_KEPT: Final = 10_000


class Slot:
    """Running episode of one agent.

    Attributes:
        env_id: The number of its environment.
        agent_id: The agent's name.
        acts_as: The agent's name in the policy; an adapter may rename agents.
        t: The step seen last, -1 before the first.
        made: What a piece made of that step, to give again should it be asked again.
        left: The observation it left in the episode.
    """

    __slots__ = ("_episode", "acts_as", "agent_id", "env_id", "left", "made", "t")

    def __init__(self, env_id: int, agent_id: Any) -> None:
        self.env_id = env_id
        self.agent_id = self.acts_as = agent_id
        self.t = -1
        self.made: Any = None
        self.left: Any = None
        self._episode: Any = None

    def has_seen(self, episode: Any) -> bool:
        """Whether the last observation of this very episode was seen already.

        An agent that is done without a last observation has its one before repeated.
        """
        if self._episode is not episode:
            return False
        if self.t == episode.t:
            return True
        is_repeated = episode.is_done and self.left is not None
        return bool(is_repeated and episode.get_observations(-1) is self.left)

    def see(self, episode: Any, made: Any, left: Any = None) -> None:
        """Take note of the last step of an episode."""
        self.t, self.made, self.left, self._episode = episode.t, made, left, episode

    def __deepcopy__(self, memo: Any) -> Slot:
        """Return the same slot: a copy of a pipeline continues the same episodes."""
        twin = Slot(self.env_id, self.agent_id)
        twin.acts_as, twin.t, twin.made = self.acts_as, self.t, deepcopy(self.made, memo)
        return twin


class Slots:
    """Slots of all running episodes.

    Episodes are identified by their id. A repeated or earlier step under a known id starts a new
    episode. `reset` is called with the number of an environment whose episode starts or has ended.
    """

    def __init__(self, reset: Callable[[int], None]) -> None:
        self._reset = reset
        self._next = 0
        self._envs: dict[Any, dict[Any, Slot]] = {}
        self._over: set[Any] = set()
        self._sessions = Sessions(_KEPT, "a wrapped connector")

    def of(self, episode: Any) -> Slot:
        """The slot of an agent's episode."""
        key = key_of(episode)
        slots = self._envs.get(key[0])
        if slots is not None:
            slot = slots.get(key)
            if slot is not None and (slot.t < episode.t or slot.has_seen(episode)):
                return slot
            if slot is not None:
                self.forget(key[0])
                slots = None
        if slots is None:
            slots = self._envs[key[0]] = {}
        some = next(iter(slots.values()), None)
        env_id = self._next if some is None else some.env_id
        self._next = max(self._next, env_id + 1)
        agent_id = _AGENT if episode.agent_id is None else episode.agent_id
        slot = slots[key] = Slot(env_id, agent_id)
        return slot

    def close(self, episodes: Iterable[Any]) -> None:
        """Forget those that were over at the last call, and the least recently used of too many.

        Runners show an episode that has just ended more than once.
        """
        names = {
            episode.id_ if is_multi_agent(episode) else key_of(episode)[0]: episode.is_done
            for episode in episodes
        }
        for name in self._over - names.keys():
            self.forget(name)
        self._over = {name for name, is_done in names.items() if is_done}
        for name in self._sessions.use(names):
            self.forget(name)

    def forget(self, name: Any) -> None:
        """Forget an environment by the id of its episode."""
        slots = self._envs.pop(name, None)
        self._sessions.forget(name)
        for slot in (slots or {}).values():
            self._reset(slot.env_id)
            break

    def clear(self) -> None:
        """Forget all."""
        for name in list(self._envs):
            self.forget(name)


class WrappedConnector(ConnectorV2):
    """A piece that runs a legacy connector, with one environment per running episode.

    Args:
        input_observation_space: The input space of observations.
        input_action_space: The input space of actions.
        connector: The connector or pipeline, or its `to_state()`.
        context: The context to build it with, live or as plain data; by default its own.
        module_id: Only process this module; all modules if None.
    """

    kind: ClassVar[type[Connector]] = Connector
    """Required type of the connector."""

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
        """Return the learned state of the connector; running episodes contain the rest."""
        return learnt_by(self.connector)

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Load a state saved by `get_state`; running episodes restart."""
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
        """Return the arguments as plain data.

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
                hint="pass context=ConnectorContext.from_policy(policy).",
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
    """Return the function that resets an environment; many action connectors have no state."""
    reset: Callable[[Any], None] | None = getattr(connector, "reset", None)
    return (lambda env_id: None) if reset is None else reset


def learnt_by(connector: Connector) -> dict[str, Any]:
    """Return the learned state of a connector, under "connector"; empty if there is none."""
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
    """Return the pair without the last outputs of running episodes, which the episodes store."""
    name, params = pair
    if name.endswith("ConnectorPipeline") and isinstance(params, (list, tuple)):
        return [name, [_without_answers(child) for child in params]]
    return [name, None if name == "StateBufferConnector" else params]


def _holds_something(pair: list[Any]) -> bool:
    name, params = pair
    if name.endswith("ConnectorPipeline"):
        return any(_holds_something(child) for child in params)
    return params not in (None, {}, ())
