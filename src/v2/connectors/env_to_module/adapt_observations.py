"""Observations of a changed environment as a module knows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Space
from typing_extensions import override

from ....core import nest
from ....core.adapters import AdapterChain, BoundChain
from ....core.arrays.batching import batch as batched
from ....core.arrays.batching import unbatch
from ....core.errors import PieceError
from ....core.step.part import Contribution, Part
from ....core.types import Array, Nest
from ...saving.checkpointable import Components
from ..batch_items import key_of, single_agent_episode_iterator
from ..common.written_observations import LastObservations
from ..connector import ConnectorV2

_KEPT: Final = 1024


class AdaptObservations(ConnectorV2):
    """Pass the last observation of each episode through an adapter, and store the result in it.

    It is the first piece of an env-to-module pipeline. All episodes are adapted as one batch. Steps
    with a memory (stacked frames) keep it per episode.

    Args:
        input_observation_space: What the environment gives.
        chain: The adapter, or its data. Only its steps on observations count here.
        multi_agent: Whether spaces are by agent id.
        agent_ids: Adapt these agents only; all if None.

    Example:
        >>> from rlconnect.core.adapters import DropFeatures
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> piece = AdaptObservations(
        ...     spaces.Box(-1, 1, (3,)), chain=AdapterChain(obs=[DropFeatures([1])])
        ... )
        >>> episode = SingleAgentEpisode()
        >>> episode.add_env_reset(observation=np.float32([1, 9, 0]))
        >>> _ = piece(rl_module=None, batch={}, episodes=[episode])
        >>> episode.get_observations(-1)
        array([1., 0.], dtype=float32)
    """

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        chain: AdapterChain | Mapping[str, Any],
        multi_agent: bool = False,
        agent_ids: Collection[Any] | None = None,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.chain = chain if isinstance(chain, AdapterChain) else AdapterChain.from_data(chain)
        self.multi_agent = multi_agent
        self.agent_ids = agent_ids
        self._bound: dict[Any, BoundChain] = {}
        self._bound_to: Any = None
        self._memory: dict[tuple[Any, ...], list[Array]] = {}

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Space[Any], input_action_space: Space[Any]
    ) -> Space[Any]:
        space = input_observation_space
        if not (self.multi_agent and isinstance(space, spaces.Dict)):
            return self._fitted(space).observation_space
        return spaces.Dict(
            {
                agent: self._fitted(agent_space).observation_space
                if self._is_mine(agent)
                else agent_space
                for agent, agent_space in space.spaces.items()
            }
        )

    @property
    def adapter(self) -> BoundChain:
        """Its steps, fitted to what a single agent sees."""
        return self._bound_of(None)

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        """Adapt the observations of all agents that stepped.

        Raises:
            PieceError: It does not know what the environment gives.
        """
        walked = list(single_agent_episode_iterator(episodes))
        by_agent: dict[Any, list[Any]] = {}
        for episode in walked:
            agent = episode.agent_id if self.multi_agent else None
            if agent is None or self._is_mine(agent):
                by_agent.setdefault(agent, []).append(episode)
        for agent, episodes_of in by_agent.items():
            bound = self._bound_of(agent)
            last = LastObservations(episodes_of)
            observations = nest.map_structure(np.asarray, batched(last.seen))
            adapted = (
                self._remembering(bound, episodes_of, observations)
                if bound.memory
                else bound.observe(observations)
            )
            last.replace(unbatch(adapted), bound.observation_space)
        if self._memory:
            self._forget(walked)
        return batch

    def part(self) -> Contribution:
        """Return the transformation of a single agent's observations as data."""
        steps = self.adapter.obs
        return Contribution(obs=tuple(Part.of(type(self).__name__, step) for step in steps))

    def _remembering(self, bound: BoundChain, episodes: list[Any], observations: Nest) -> Nest:
        """Adapt with what each episode remembers."""
        keys = list(map(key_of, episodes))
        is_first = np.array(
            [
                key not in self._memory or not each.t
                for key, each in zip(keys, episodes, strict=True)
            ]
        )
        start = [rows[0] for rows in bound.start(1)]
        memories = [self._memory.get(key, start) for key in keys]
        memory = tuple(np.stack(rows) for rows in zip(*memories, strict=True))
        adapted, after = bound.observe_next(observations, memory, is_first)
        for key, *rows in zip(keys, *after, strict=True):
            self._memory[key] = rows
        return adapted

    def _forget(self, episodes: list[Any]) -> None:
        """Drop the memory of episodes that are over, or were never ended."""
        for episode in episodes:
            if episode.is_done:
                self._memory.pop(key_of(episode), None)
        if len(self._memory) > max(_KEPT, 4 * len(episodes)):
            alive = set(map(key_of, episodes))
            self._memory = {key: rows for key, rows in self._memory.items() if key in alive}

    def _is_mine(self, agent: Any) -> bool:
        return self.agent_ids is None or agent in self.agent_ids

    def _bound_of(self, agent: Any) -> BoundChain:
        """The adapter fitted to what an agent sees; None for a single agent."""
        space = self.input_observation_space
        if space is None:
            raise PieceError(
                f"{type(self).__name__} does not know what the environment gives",
                hint="set input_observation_space of the piece or its pipeline.",
            )
        if self._bound_to is not space:
            self._bound, self._bound_to = {}, space
        if agent not in self._bound:
            self._bound[agent] = self._fitted(space if agent is None else space[agent])
        return self._bound[agent]

    def _fitted(self, space: Any) -> BoundChain:
        return AdapterChain(obs=self.chain.obs).bind(space, space)

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the memory of running episodes."""
        if not self._memory:
            return {}
        return {"memory": [[list(key), list(rows)] for key, rows in self._memory.items()]}

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Load a state saved by `get_state`."""
        pairs = state.get("memory", ())
        self._memory = {tuple(key): list(map(np.asarray, rows)) for key, rows in pairs}

    @override
    def reset_state(self) -> None:
        """Forget all episodes."""
        self._memory = {}

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments, the adapter as plain data."""
        args, kwargs = super().get_ctor_args_and_kwargs()
        return args, {**kwargs, "chain": self.chain.to_data()}
