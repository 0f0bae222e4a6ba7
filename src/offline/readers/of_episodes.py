"""Readers of episodes: batches and facts are made of the episodes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...core import nest
from ...core.types import Array
from ...legacy.batches.multi_agent_batch import MultiAgentBatch, concat_samples
from ...legacy.batches.sample_batch import SampleBatch
from ...v2.episodes.multi_agent import MultiAgentEpisode
from ...v2.episodes.single_agent import SingleAgentEpisode
from ..damaged import Damage


def batch_of_episode(episode: SingleAgentEpisode, number: int) -> SampleBatch:
    """All steps of a numpy'd episode as a batch, in the columns of the old stack.

    `number` is its `eps_id`, where its own id is no number.
    """
    steps = len(episode)
    obs = episode.get_observations(slice(0, steps + 1))
    ends = np.zeros((2, steps), bool)
    ends[:, -1:] = [[episode.is_terminated], [episode.is_truncated]]
    id_ = str(episode.id_)
    return SampleBatch(
        {
            "obs": nest.taken(obs, slice(0, steps)),
            "new_obs": nest.taken(obs, slice(1, None)),
            "actions": episode.get_actions(slice(0, steps)),
            "rewards": np.asarray(episode.get_rewards(slice(0, steps))),
            "terminateds": ends[0],
            "truncateds": ends[1],
            "infos": list(episode.get_infos(slice(0, steps))),
            "eps_id": np.full(steps, int(id_) if is_number(id_) else number),
            "agent_index": np.zeros(steps, np.int64),
            "t": np.arange(steps, dtype=np.int64) + episode.t_started,
            **{
                name: episode.get_extra_model_outputs(name, slice(0, steps))
                for name in episode.extra_model_outputs
            },
        }
    )


def batch_of(
    episode: SingleAgentEpisode | MultiAgentEpisode,
    number: int,
    of_one: Callable[[SingleAgentEpisode, int], SampleBatch] = batch_of_episode,
) -> SampleBatch | MultiAgentBatch:
    """All steps of an episode of one agent or of several, these by their policies.

    `number` is its `eps_id`, where its own id is no number; `of_one` makes the batch of one agent.
    """
    if isinstance(episode, SingleAgentEpisode):
        return of_one(episode, number)
    id_ = str(episode.id_)
    number = int(id_) if is_number(id_) else number
    by_policy: dict[str, list[SampleBatch]] = {}
    for place, (agent, agent_episode) in enumerate(episode.agent_episodes.items()):
        if len(agent_episode):
            batch = of_one(agent_episode, number)
            batch["eps_id"] = np.full(len(agent_episode), number)
            batch["agent_index"] = np.full(len(agent_episode), place)
            batch["t"] = _ends(episode, agent, len(agent_episode))
            by_policy.setdefault(str(episode.module_for(agent)), []).append(batch)
    joined = {}
    for policy, batches in by_policy.items():
        shared = set.intersection(*map(set, batches))
        joined[policy] = concat_samples(
            [SampleBatch({name: batch[name] for name in shared}) for batch in batches]
        )
    return MultiAgentBatch(joined, len(episode))


def _ends(episode: MultiAgentEpisode, agent: Any, steps: int) -> Array:
    """The step of the environment before each of an agent's next observations."""
    env_times = episode.env_t_to_agent_t[agent]
    agent_times = [
        env_time
        for env_time, agent_time in enumerate([*env_times.data][env_times.lookback :])
        if not isinstance(agent_time, str)
    ]
    is_whole = len(agent_times) == steps + 1
    ends = np.array(agent_times[1:], np.int64) - 1 if is_whole else np.arange(steps)
    return ends + episode.env_t_started


def is_number(id_: str) -> bool:
    """True if the id of an episode is one that the old stack may have given."""
    return id_.isdecimal() and len(id_) < 19 and str(int(id_)) == id_


class ReaderOfEpisodes(abc.ABC):
    """A reader that gives episodes; it makes batches and facts of them."""

    @abc.abstractmethod
    def episodes(self, damage: Damage) -> Iterator[Any]:
        """Every episode once."""

    def batches(self, damage: Damage) -> Iterator[SampleBatch | MultiAgentBatch]:
        """One batch an episode."""
        for number, episode in enumerate(self.episodes(damage)):
            yield batch_of(episode, number)

    def facts(self, damage: Damage) -> dict[str, Any]:
        """Columns and counts."""
        columns = dict.fromkeys(("obs", "actions", "rewards", "infos"))
        ids: set[str] = set()
        rows = 0
        for episode in self.episodes(damage):
            rows += len(episode)
            ids.add(episode.id_)
            for agent in getattr(episode, "agent_episodes", {"": episode}).values():
                columns |= dict.fromkeys(agent.extra_model_outputs)
        counts = {"rows": rows, "episodes": len(ids)}
        return {"written_by": self.written_by(damage), "columns": [*columns], "counts": counts}

    def written_by(self, damage: Damage) -> str | None:
        """What wrote the files, where they tell."""
        return None
