"""One agent's recorded episodes as arrays: what estimators and acting look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from ..core import nest
from ..core.errors import PieceError
from ..core.types import Array, Nest
from ..v2.episodes.multi_agent import MultiAgentEpisode
from ..v2.episodes.single_agent import SingleAgentEpisode

PROBABILITIES: Final = ("action_prob", "action_logp")
"""Columns that say how probable actions were."""


@dataclass(frozen=True)
class Recording:
    """One episode of one agent.

    Args:
        id: The episode's.
        observations: `(T + 1, ...)`, the last one after the last action.
        actions: `(T, ...)`, as they were recorded.
        rewards: `(T,)`.
        is_terminated: Whether the environment ended it, so that nothing comes after.
        outputs: What its policy put out beside the actions, a row a step.
        agent: Which of several agents; empty of a single one.
    """

    id: str
    observations: Nest
    actions: Nest
    rewards: Array
    is_terminated: bool
    outputs: Mapping[str, Any]
    agent: str = ""

    def __len__(self) -> int:
        return len(self.rewards)


@dataclass(frozen=True)
class Recordings:
    """Several episodes of one agent each, laid end to end.

    Args:
        ids: The episodes'.
        lengths: How many steps each has, at least one, `(E,)`.
        observations: `(N + E, ...)`, of each episode one more than it has steps.
        actions: `(N, ...)`, as they were recorded.
        rewards: `(N,)`.
        is_terminated: Whether the environment ended each, so that nothing comes after, `(E,)`.
        outputs: What says how probable actions were, a row a step.
        agents: Which of several agents each is of; empty of a single one.
    """

    ids: Sequence[str]
    lengths: Array
    observations: Nest
    actions: Nest
    rewards: Array
    is_terminated: Array
    outputs: Mapping[str, Array]
    agents: Sequence[str]

    @classmethod
    def of(cls, episode: Recording) -> Recordings:
        """A single one."""
        return cls(
            (episode.id,),
            np.array([len(episode)]),
            episode.observations,
            episode.actions,
            episode.rewards,
            np.array([episode.is_terminated]),
            {name: episode.outputs[name] for name in PROBABILITIES if name in episode.outputs},
            (episode.agent,),
        )

    @classmethod
    def joined(cls, parts: Sequence[Recordings]) -> Recordings:
        """All episodes of several, of one form."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            [id_ for each in parts for id_ in each.ids],
            np.concatenate([each.lengths for each in parts]),
            nest.joined([each.observations for each in parts]),
            nest.joined([each.actions for each in parts]),
            np.concatenate([each.rewards for each in parts]),
            np.concatenate([each.is_terminated for each in parts]),
            {
                name: np.concatenate([each.outputs[name] for each in parts])
                for name in parts[0].outputs
            },
            [agent for each in parts for agent in each.agents],
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Recording]:
        for place, id_ in enumerate(self.ids):
            one = self.part(place, place + 1)
            yield Recording(
                id_,
                one.observations,
                one.actions,
                one.rewards,
                bool(one.is_terminated[0]),
                one.outputs,
                one.agents[0],
            )

    def part(self, first: int, stop: int) -> Recordings:
        """Some of the episodes, as views."""
        episodes = slice(first, stop)
        before, within = self.lengths[:first].sum(), self.lengths[episodes]
        rows = slice(before, before + within.sum())
        obs_rows = slice(rows.start + first, rows.stop + first + len(within))
        return Recordings(
            self.ids[episodes],
            within,
            nest.taken(self.observations, obs_rows),
            nest.taken(self.actions, rows),
            self.rewards[rows],
            self.is_terminated[episodes],
            {name: column[rows] for name, column in self.outputs.items()},
            self.agents[episodes],
        )

    @cached_property
    def form(self) -> list[Any]:
        """What is alike in all that can be joined: names, and shapes of rows."""
        columns = (self.observations, self.actions)
        return [
            [*self.outputs],
            *(
                column.shape[1:]
                if isinstance(column, np.ndarray)
                else [(path, leaf.shape[1:]) for path, leaf in nest.flatten_with_path(column)]
                for column in columns
            ),
        ]

    @cached_property
    def here(self) -> Array:
        """The place of the observation that each step begins with, `(N,)`."""
        return np.arange(len(self.rewards)) + np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def is_step_last(self) -> Array:
        """Whether each step is the last one of its episode, `(N,)`."""
        is_last = np.zeros(len(self.rewards), bool)
        is_last[np.cumsum(self.lengths) - 1] = True
        return is_last

    @cached_property
    def times(self) -> Array:
        """How many steps of its episode come before each, `(N,)`."""
        begins = np.cumsum(self.lengths) - self.lengths
        times: Array = np.arange(len(self.rewards)) - np.repeat(begins, self.lengths)
        return times

    @property
    def probabilities(self) -> Array | None:
        """How probable each action was where it was recorded, if that is known."""
        if "action_prob" in self.outputs:
            chances = np.asarray(self.outputs["action_prob"], np.float64)
        elif "action_logp" in self.outputs:
            chances = np.exp(np.asarray(self.outputs["action_logp"], np.float64))
        else:
            return None
        chances = chances.reshape(len(self.rewards))
        impossible = np.flatnonzero(~(chances > 0))
        if len(impossible):
            place = np.searchsorted(np.cumsum(self.lengths), impossible[0], "right")
            raise PieceError(
                f"episode {self.ids[place]} has actions whose recorded probability is no positive "
                "number",
                expected="action_prob above 0",
                found=str(chances[impossible[0]]),
                hint="leave it out, or judge by a model alone: method 'dm'.",
            )
        return chances

    def rows(self) -> Recordings:
        """Each step as an episode of its own, as for bandits."""
        steps = len(self.rewards)
        whose = np.repeat(np.arange(len(self)), self.lengths)
        return replace(
            self,
            ids=[
                f"{self.ids[of]}, step {t}"
                for of, t in zip(whose.tolist(), self.times.tolist(), strict=True)
            ],
            lengths=np.ones(steps, np.int64),
            observations=nest.taken(
                self.observations, np.stack([self.here, self.here + 1], 1).ravel()
            ),
            is_terminated=self.is_step_last & self.is_terminated[whose],
            agents=[self.agents[of] for of in whose.tolist()],
        )


def recordings(episodes: Iterable[Any], policy: str = "") -> Iterator[Recordings]:
    """Episodes as arrays, which some of them are already; see `episodes_of`."""
    for each in episodes:
        if isinstance(each, Recordings):
            yield each
        elif isinstance(each, Recording):
            yield Recordings.of(each)
        else:
            yield from map(Recordings.of, _recordings_of(each, policy))


def _recordings_of(episode: Any, policy: str) -> Iterator[Recording]:
    for each in episodes_of([episode], policy):
        recording = recording_of(each)
        shared_id = each.multi_agent_episode_id
        yield (
            recording
            if shared_id is None
            else replace(recording, id=str(shared_id), agent=str(each.agent_id))
        )


def episodes_of(episodes: Iterable[Any], policy: str = "") -> Iterator[SingleAgentEpisode]:
    """Episodes of one agent each, those of one policy where there are several agents.

    Empty ones are passed over.
    """
    for episode in episodes:
        is_multi = isinstance(episode, MultiAgentEpisode)
        yield from filter(len, _agents(episode, policy) if is_multi else [episode])


def recording_of(episode: SingleAgentEpisode) -> Recording:
    """One episode as arrays."""
    if not episode.is_numpy:
        episode = episode.slice(slice(None)).to_numpy()
    steps = len(episode)
    return Recording(
        str(episode.id_),
        episode.get_observations(slice(0, steps + 1)),
        episode.get_actions(slice(0, steps)),
        np.asarray(episode.get_rewards(slice(0, steps)), np.float64),
        bool(episode.is_terminated),
        {
            name: episode.get_extra_model_outputs(name, slice(0, steps))
            for name in episode.extra_model_outputs
        },
    )


def _agents(episode: MultiAgentEpisode, policy: str) -> list[SingleAgentEpisode]:
    by_module: dict[str, list[SingleAgentEpisode]] = {}
    for agent, agent_episode in episode.agent_episodes.items():
        by_module.setdefault(str(episode.module_for(agent)), []).append(agent_episode)
    if len(by_module) == 1:
        return next(iter(by_module.values()))
    if policy not in by_module:
        raise PieceError(
            "data of several policies cannot be judged as one",
            expected=f"steps of policy {policy!r}",
            found=", ".join(map(repr, by_module)),
            hint="choose one of them: policy=ID; in a terminal --policy ID.",
        )
    return by_module[policy]
