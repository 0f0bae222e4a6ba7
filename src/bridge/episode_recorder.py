"""Keeps the episodes that a policy plays, in files as RLlib's runners write them."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any, Final

from ..core.formulas.actions import normalize_action
from ..v2.episodes.multi_agent import MultiAgentEpisode
from ..v2.episodes.single_agent import SingleAgentEpisode
from ..v2.recorded.episode_parquet import EpisodeParquetWriter
from .environments import agents_of, has_agents, is_vector, spaces_of_one

_EPISODES_A_FILE: Final = 100
FOR_ENV: Final = "actions_for_env"
"""The output that holds actions as the environment took them; `actions` are those of modules."""


class EpisodeRecorder:
    """Episodes of one or of several agents, many of them open at a time.

    Args:
        folder: Where to; what lies there stays.
        env: A live environment.
    """

    def __init__(self, folder: str | os.PathLike[str], env: Any) -> None:
        spec = getattr(env, "spec", None)
        name = getattr(spec, "id", None) or type(getattr(env, "unwrapped", env)).__name__
        self._writer = EpisodeParquetWriter(folder, name)
        self._of_agents = has_agents(env) and not is_vector(env)
        spaces = (agents_of(env) or ({}, {})) if self._of_agents else spaces_of_one(env)
        self._spaces: dict[str, Any] = dict(
            zip(("observation_space", "action_space"), spaces, strict=True)
        )
        self._open: dict[Hashable, Any] = {}
        self._over: list[Any] = []

    def __contains__(self, slot: Hashable) -> bool:
        return slot in self._open

    def begin(self, slot: Hashable, obs: Any, info: Any = None) -> None:
        """Open an episode."""
        if self._of_agents:
            episode: Any = MultiAgentEpisode(**self._spaces)
            episode.add_env_reset(observations=obs, infos=info)
        else:
            episode = SingleAgentEpisode(**self._spaces)
            episode.add_env_reset(obs, info)
        self._open[slot] = episode

    def step(
        self,
        slot: Hashable,
        action: Any,
        obs: Any,
        reward: Any,
        ended: Any,
        cut: Any,
        info: Any = None,
    ) -> None:
        """Add a step; everything is by agent where there are several."""
        episode = self._open[slot]
        if self._of_agents:
            spaces = self._spaces["action_space"]
            episode.add_env_step(
                obs,
                {
                    agent: normalize_action(agent_action, spaces[agent])
                    for agent, agent_action in action.items()
                },
                reward,
                info,
                terminateds=ended,
                truncateds=cut,
                extra_model_outputs={
                    agent: {FOR_ENV: agent_action} for agent, agent_action in action.items()
                },
            )
        else:
            episode.add_env_step(
                obs,
                normalize_action(action, self._spaces["action_space"]),
                reward,
                info,
                terminated=bool(ended),
                truncated=bool(cut),
                extra_model_outputs={FOR_ENV: action},
            )
        if episode.is_done:
            self._over.append(self._open.pop(slot))
            if len(self._over) >= _EPISODES_A_FILE:
                self.write()

    def write(self) -> None:
        """Write what is over; an episode that is not does not count.

        Raises:
            MissingExtraError: pyarrow is not installed.
        """
        self._writer.write(self._over)
        self._over = []
