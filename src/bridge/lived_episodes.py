"""Episodes kept in files: those that a policy plays, and those of clients that play on their own.

The latter are put together step by step.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..core import nest
from ..core.data.budget import one_load
from ..core.data.checked import flag, mapping
from ..core.data.damage import at
from ..core.errors import CorruptCheckpointError
from ..core.formulas.actions import normalize_action
from ..v2.algorithms.episode_files import EpisodeWriter
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


_MOST_ID: Final = 128


class LivedEpisode:
    """One agent's episode while it goes on.

    Args:
        spaces: Of observations and of actions.
        about: What is kept with it as its `custom_data`.
        obs: The first observation.
        info: What came with it.

    Attributes:
        size: About how many bytes it holds.
    """

    __slots__ = (
        "_about",
        "_actions",
        "_id",
        "_infos",
        "_obs",
        "_rewards",
        "_spaces",
        "_started",
        "size",
    )

    def __init__(
        self, spaces: tuple[Any, Any], about: Mapping[str, Any], obs: Any, info: Any = None
    ) -> None:
        self._spaces, self._about = spaces, about
        self._id, self._started = os.urandom(16).hex(), 0
        self._obs, self._infos = [obs], [info or {}]
        self._actions: list[Any] = []
        self.size = _size(obs, info)
        self._rewards: list[float] = []

    def __len__(self) -> int:
        return len(self._rewards)

    def act(self, action: Any) -> None:
        """Say what was done about the last observation."""
        self._actions.append(action)

    def step(self, obs: Any, reward: float, info: Any = None) -> None:
        """Say what came of the last action."""
        self._obs.append(obs)
        self._infos.append(info or {})
        self._rewards.append(reward)
        self.size += _size(obs, info)

    def taken(self, *, terminated: bool = False, truncated: bool = False) -> SingleAgentEpisode:
        """What was lived so far; the next steps are the same episode's.

        An action of which nothing came is no part of it.
        """
        count = len(self._rewards)
        space = self._spaces[1]
        done = self._actions[:count]
        episode = SingleAgentEpisode(
            self._id,
            observations=self._obs,
            observation_space=self._spaces[0],
            infos=self._infos,
            actions=[normalize_action(action, space) for action in done],
            action_space=space,
            rewards=self._rewards,
            terminated=terminated,
            truncated=truncated,
            extra_model_outputs={FOR_ENV: done},
            t_started=self._started,
            len_lookback_buffer=0,
        )
        episode.custom_data = dict(self._about)
        self._started += count
        self._obs, self._infos = self._obs[-1:], self._infos[-1:]
        self._actions, self._rewards = self._actions[count:], []
        self.size = _size(self._obs[0], self._infos[0])
        return episode


def sent_episodes(states: Any) -> list[SingleAgentEpisode]:
    """The episodes that a client sent as data, as their `get_state()` gives it.

    Those without a step are left out.

    Raises:
        CorruptCheckpointError: One of them is none.
    """
    episodes = []
    with one_load():
        if not isinstance(states, (list, tuple)):
            raise CorruptCheckpointError("episodes are no list", found=type(states).__name__)
        for place, state in enumerate(states):
            with at("episodes", place):
                episodes.append(_episode_from(mapping(state)))
    return [episode for episode in episodes if len(episode)]


def _episode_from(state: Mapping[str, Any]) -> SingleAgentEpisode:
    id_ = state["id_"]
    if not isinstance(id_, str) or not 0 < len(id_) <= _MOST_ID or not id_.isprintable():
        raise ValueError(f"id_ is no text of 1 to {_MOST_ID} characters")
    for name in ("is_terminated", "is_truncated"):
        flag(state[name])
    episode = SingleAgentEpisode.from_state(state).to_numpy()
    steps = episode.t - episode.t_started
    for buffer in (episode.rewards, episode.actions, *episode.extra_model_outputs.values()):
        _check_rows(buffer, steps)
    _check_rows(episode.observations, steps + 1)
    rewards = np.asarray(episode.get_rewards())
    if rewards.dtype.kind not in "biuf" or not np.isfinite(rewards).all():
        raise ValueError("rewards are no finite numbers")
    return episode


def _check_rows(buffer: Any, count: int) -> None:
    """Refuse a column that has not a row for each step."""
    for leaf in nest.flatten(buffer.raw) if count else ():
        rows = len(leaf) - buffer.lookback if isinstance(leaf, np.ndarray) and leaf.ndim else -1
        if rows != count:
            raise ValueError(f"a column without {count:,} rows")
        if leaf.dtype.kind in "OV":
            raise ValueError("a column whose rows differ in kind")


def _size(obs: Any, info: Any) -> int:
    size: int = sum(leaf.nbytes for leaf in nest.flatten(obs))
    return size + (len(repr(info)) if info else 0)


def episode_writer(folder: str | os.PathLike[str], name: str) -> Any:
    """What writes episodes into new files: Parquet, or msgpack without pyarrow."""
    if find_spec("pyarrow") is not None:
        return EpisodeParquetWriter(folder, name)
    return EpisodeWriter(Path(folder, name))


def write_what_can_be(writer: Any, episodes: Sequence[Any]) -> list[Exception]:
    """Write episodes; gives the errors of those that failed, which do not stop the others."""
    try:
        writer.write(episodes)
    except OSError as error:
        return [error]
    except Exception as error:
        if len(episodes) == 1:
            return [error]
        return [error for one in episodes for error in write_what_can_be(writer, [one])]
    return []
