"""One agent's recorded episodes as arrays: what estimators and acting look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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

    @property
    def probabilities(self) -> Array | None:
        """How probable each action was where it was recorded, if that is known.

        Raises:
            PieceError: An action was never taken, by its own record.
        """
        if "action_prob" in self.outputs:
            found = np.asarray(self.outputs["action_prob"], np.float64)
        elif "action_logp" in self.outputs:
            found = np.exp(np.asarray(self.outputs["action_logp"], np.float64))
        else:
            return None
        found = found.reshape(len(self))
        if not (found > 0).all():
            raise PieceError(
                f"episode {self.id} has actions whose recorded probability is no positive number",
                expected="action_prob above 0",
                found=str(found[~(found > 0)][0]),
                hint="leave it out, or judge by a model alone: method 'dm'.",
            )
        return found

    def rows(self) -> list[Recording]:
        """Each step as an episode of its own, as for bandits."""
        return [
            Recording(
                f"{self.id}, step {t}",
                nest.taken(self.observations, slice(t, t + 2)),
                nest.taken(self.actions, slice(t, t + 1)),
                self.rewards[t : t + 1],
                self.is_terminated and t + 1 == len(self),
                {
                    name: nest.taken(column, slice(t, t + 1))
                    for name, column in self.outputs.items()
                },
            )
            for t in range(len(self))
        ]


def recordings(episodes: Iterable[Any], policy: str = "") -> Iterator[Recording]:
    """Episodes as arrays, which some of them are already; see `episodes_of`."""
    for episode in episodes:
        yield from [episode] if isinstance(episode, Recording) else _recordings_of(episode, policy)


def _recordings_of(episode: Any, policy: str) -> Iterator[Recording]:
    for each in episodes_of([episode], policy):
        found = recording_of(each)
        whole = each.multi_agent_episode_id
        yield found if whole is None else replace(found, id=str(whole), agent=str(each.agent_id))


def episodes_of(episodes: Iterable[Any], policy: str = "") -> Iterator[SingleAgentEpisode]:
    """Episodes of one agent each, those of one policy where there are several agents.

    Args:
        episodes: Of one agent or of several; empty ones are passed over.
        policy: Whose agents, where episodes have several policies.

    Raises:
        PieceError: There are several policies, and none is of this name.
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
    for agent, own in episode.agent_episodes.items():
        by_module.setdefault(str(episode.module_for(agent)), []).append(own)
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
