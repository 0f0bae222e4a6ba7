"""A piece of the new stack in a legacy pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...core.columns import Columns
from ...core.errors import CorruptCheckpointError, PieceError
from ...core.spaces.own_layout import space_from_data
from ...core.trust import NOTHING, Names, Trust
from ...core.vault.decode.standins import mapping_of
from ...core.vault.plain import Plainer
from ...legacy.batches.step_rows import locked, zero_of
from ...legacy.connectors.connector import ActionConnector, AgentConnector
from ...legacy.connectors.context import ConnectorContext
from ...legacy.connectors.registry import register_connector
from ...legacy.connectors.types import ActionConnectorDataType, AgentConnectorDataType
from ...v2.connectors.batch_items import key_of
from ...v2.connectors.connector import ConnectorV2
from ...v2.connectors.pipeline import live_piece
from ...v2.episodes.single_agent import SingleAgentEpisode
from .plain_policy import saved_space

_LONGEST: Final = 256
_KEPT: Final = 64
_SPACES: Final = ("input_observation_space", "input_action_space")


class V2AsLegacyConnector(AgentConnector, ActionConnector):  # type: ignore[misc]  # __call__ serves both
    """Run a new-stack piece in an agent or action pipeline.

    Among agent connectors it keeps an episode for each agent of each environment, and gives on the
    observation that the piece writes to it (or adds to the batch); further columns that the piece
    adds to the batch become columns of the record. In evaluation a piece that learns from what
    passes (`update_stats`) stands still, as legacy connectors do. Among action connectors it gives
    on what the piece makes of `actions`.

    Args:
        ctx: The context, which provides the spaces of the piece if they were not set.
        piece: The piece, or its state as saved by `to_state`.
        rl_module: Passed to the piece.

    Example:
        >>> import numpy as np
        >>> from gymnasium.spaces import Dict, Discrete
        >>> from rlconnect.v2 import FlattenObservations
        >>> context = ConnectorContext(observation_space=Dict({"a": Discrete(2)}))
        >>> connector = V2AsLegacyConnector(context, piece=FlattenObservations())
        >>> connector([AgentConnectorDataType("e", "a", {"new_obs": {"a": 1}})])[0].data
        {'new_obs': array([0., 1.], dtype=float32)}
    """

    def __init__(
        self,
        ctx: ConnectorContext | None = None,
        *,
        piece: ConnectorV2 | Mapping[str, Any],
        rl_module: Any = None,
    ) -> None:
        super().__init__(ctx)
        trust = NOTHING if ctx is None else ctx.trust
        self.piece: ConnectorV2 = piece if isinstance(piece, ConnectorV2) else _built(piece, trust)
        self.rl_module = rl_module
        self._episodes: dict[Any, dict[Any, SingleAgentEpisode]] = {}
        self._actions: dict[tuple[Any, Any], Any] = {}
        self._shared: dict[str, Any] = {}
        self._count = 0
        if ctx is not None:
            self.bind(ctx)

    def bind(self, ctx: ConnectorContext) -> None:
        """Tell the piece the spaces of `ctx` that it does not know."""
        super().bind(ctx)
        if self.piece.input_action_space is None and ctx.action_space is not None:
            self.piece.input_action_space = ctx.action_space
        space = ctx.raw_observation_space
        if self.piece.input_observation_space is None and space is not None:
            self.piece.input_observation_space = space

    def reset(self, env_id: Any) -> None:
        """End the episodes of `env_id`."""
        for agent_id in self._episodes.pop(env_id, {}):
            self._actions.pop((env_id, agent_id), None)

    def on_policy_output(self, output: ActionConnectorDataType) -> None:
        """Keep the action, for the episode."""
        self._actions[output.env_id, output.agent_id] = output.output[0]

    def __call__(self, records: Any) -> Any:
        """Run the piece on a list of records, or on one answer of the policy."""
        if isinstance(records, ActionConnectorDataType):
            return self._acted(records)
        records = self.checked_list(records)
        episodes = [self._stepped(record) for record in records]
        learns = getattr(self.piece, "update_stats", False)
        if learns and not self._is_training:
            self.piece.update_stats = False  # type: ignore[attr-defined]  # it has one
        try:
            batch = self.piece(
                rl_module=self.rl_module,
                batch={},
                episodes=episodes,
                explore=self._is_training,
                shared_data=self._shared,
            )
        finally:
            if learns:
                self.piece.update_stats = learns  # type: ignore[attr-defined]  # see above
        return [
            AgentConnectorDataType(
                record.env_id,
                record.agent_id,
                {**record.data, **_columns_of(batch, episode), "new_obs": _seen(batch, episode)},
            )
            for record, episode in zip(records, episodes, strict=True)
        ]

    def _stepped(self, record: AgentConnectorDataType) -> SingleAgentEpisode:
        """The episode of an agent with the new step in it."""
        data = record.data
        if not isinstance(data, Mapping) or "new_obs" not in data:
            raise PieceError(
                f"{type(self).__name__} cannot read this record",
                expected="a dict of columns with 'new_obs'",
                found=type(data).__name__,
                hint="place it before the connector that builds the policy's batch.",
            )
        agents = self._episodes.setdefault(record.env_id, {})
        episode = agents.get(record.agent_id)
        if episode is None:
            self._count += 1
            episode = agents[record.agent_id] = SingleAgentEpisode(
                id_=f"legacy{self._count}",
                observation_space=self.piece.input_observation_space,
                action_space=self.piece.input_action_space,
            )
            episode.add_env_reset(data["new_obs"], data.get("infos"))
            return episode
        if len(episode) >= _LONGEST:
            episode = agents[record.agent_id] = episode.cut(len_lookback_buffer=_KEPT)
        action = self._actions.get((record.env_id, record.agent_id))
        if action is None and self.piece.input_action_space is not None:
            action = locked(zero_of(self.piece.input_action_space))
        reward = data.get("rewards", 0.0)
        episode.add_env_step(data["new_obs"], action, reward, data.get("infos"))
        return episode

    def _acted(self, answer: ActionConnectorDataType) -> ActionConnectorDataType:
        """Apply the piece to one action."""
        actions, states, fetches = answer.output
        agents = self._episodes.get(answer.env_id, {})
        episode = agents.get(answer.agent_id) or SingleAgentEpisode(id_="legacy")
        columns = {Columns.ACTIONS: actions, **fetches}
        batch = self.piece(
            rl_module=self.rl_module,
            batch={name: {(episode.id_,): [column]} for name, column in columns.items()},
            episodes=[episode],
            explore=False,
            shared_data=self._shared,
        )
        changed: Any = batch.get(Columns.ACTIONS_FOR_ENV, batch.get(Columns.ACTIONS))
        action = changed[(episode.id_,)][0] if isinstance(changed, Mapping) else changed[0]
        return answer.with_output((action, states, fetches))

    def to_state(self) -> tuple[str, Any]:
        """Its name; the class, arguments and state of the piece."""
        kind = type(self.piece)
        args, kwargs = self.piece.get_ctor_args_and_kwargs()
        spaces = {name: saved_space(getattr(self.piece, name)) for name in _SPACES}
        plain = Plainer()
        return "V2AsLegacyConnector", {
            "class": f"{kind.__module__}.{kind.__qualname__}",
            "args": plain(list(args)),
            "kwargs": plain({name: arg for name, arg in kwargs.items() if name not in _SPACES}),
            "spaces": spaces,
            "state": plain(self.piece.get_state()),
        }

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> V2AsLegacyConnector:
        """A connector with the saved piece."""
        return V2AsLegacyConnector(ctx, piece=params)


def _seen(batch: Mapping[str, Any], episode: SingleAgentEpisode) -> Any:
    """The observation after the piece: from the batch if it has put one there."""
    observations = batch.get(Columns.OBS)
    if isinstance(observations, Mapping) and key_of(episode) in observations:
        return observations[key_of(episode)][-1]
    return episode.get_observations(-1)


def _columns_of(batch: Mapping[str, Any], episode: SingleAgentEpisode) -> dict[str, Any]:
    """Return the other columns that the piece has added for an episode."""
    key = key_of(episode)
    return {
        name: items[key][-1]
        for name, items in batch.items()
        if name != Columns.OBS and isinstance(items, Mapping) and key in items
    }


def _built(saved: Any, trust: Trust) -> ConnectorV2:
    """The piece that `to_state` described."""
    parts = mapping_of(saved)
    spaces = parts.get("spaces", {})
    if not isinstance(spaces, Mapping):
        raise CorruptCheckpointError(
            "a saved V2AsLegacyConnector",
            expected="the spaces of its piece",
            found=type(spaces).__name__,
        )
    names = Names(trust)
    kind, args, kwargs = live_piece([parts.get(n) for n in ("class", "args", "kwargs")], names)
    names.check()
    known = {name: space_from_data(spaces[name]) for name in _SPACES if spaces.get(name)}
    piece: ConnectorV2 = kind(*args, **kwargs, **known)
    if parts.get("state"):
        piece.set_state(parts["state"])
    return piece


register_connector("V2AsLegacyConnector", V2AsLegacyConnector)
