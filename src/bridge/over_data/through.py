"""A dataset as a policy would have seen it: behind its connectors, filters and adapters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Discrete, Space

from ...core import nest
from ...core.adapters import AdapterChain, BoundChain
from ...core.errors import PieceError
from ...core.types import Nest
from ...offline.damaged import Damage
from ...offline.dataset import Dataset
from ...offline.readers.of_episodes import ReaderOfEpisodes
from ...offline.recordings import Recording, Recordings, episodes_of, recording_of
from ...v2.episodes.single_agent import SingleAgentEpisode
from ..loading.natives import natives_of
from .watched import Watching

if TYPE_CHECKING:
    from ..loading.natives import Source

_See = Callable[[Iterator[Recording]], Iterator[Nest]]


def through(
    data: Dataset,
    policy: Source | AdapterChain,
    *,
    policy_id: str | None = None,
    observation_space: Space[Any] | None = None,
    **options: Any,
) -> Dataset:
    """See a dataset as a policy would have seen it.

    Observations go through the connectors of the policy in the order of each episode, with the
    recorded actions as its own; actions, rewards and all else stay as they were recorded. Of
    several agents those of the policy are left, each as an episode of its own.

    Args:
        data: Recorded observations of the environment.
        policy: As for `evaluate`; or the steps of an adapter alone.
        policy_id: Which of several policies.
        observation_space: What the environment gave, for the steps of an adapter.
        **options: As for `rlconnect.load`, of a path.

    Returns:
        A dataset whose episodes and batches have observations as the network sees them; nested
        ones as one vector. It reads what it is made of anew each time, some thousand steps at once.
    """
    if isinstance(policy, AdapterChain):
        if observation_space is None:
            raise PieceError(
                "an adapter is fitted to a space",
                expected="observation_space=, of the environment that was recorded",
            )
        bound = AdapterChain(obs=policy.obs).bind(observation_space, Discrete(1))
        return Dataset(_SeenReader(data, partial(_adapted, bound)))
    native = natives_of(policy, policy_id, **options).only
    see = partial(_seen_by, Watching(native, data))
    return Dataset(_SeenReader(data, see, policy_id or native.name))


class _SeenReader(ReaderOfEpisodes):
    """Episodes of another dataset with other observations."""

    def __init__(self, data: Dataset, see: _See, policy: str = "") -> None:
        self.format, self.found = data.format, data.reader.found
        self._data, self._see, self._policy = data, see, policy

    def episodes(self, damage: Damage) -> Iterator[SingleAgentEpisode]:
        """Every episode of the policy's, as it is seen."""
        waiting: deque[SingleAgentEpisode] = deque()

        def recorded() -> Iterator[Recording]:
            for episode in episodes_of(self._data.reader.episodes(damage), self._policy):
                waiting.append(episode)
                yield recording_of(episode)

        for observations in self._see(recorded()):
            yield _with(waiting.popleft(), observations)


def _seen_by(watching: Watching, recorded: Iterator[Recording]) -> Iterator[Nest]:
    """What a policy that watches sees, episode by episode."""
    for group, answers in watching.answers(map(Recordings.of, recorded)):
        for of_episode in answers.by_episode(group.lengths):
            yield of_episode.seen


def _adapted(bound: BoundChain, recorded: Iterator[Recording]) -> Iterator[Nest]:
    """What the steps of an adapter make of observations, episode by episode."""
    for recording in recorded:
        if not bound.memory:
            yield bound.observe(recording.observations)
            continue
        memory, rows = bound.start(1), []
        for time in range(len(recording) + 1):
            row = nest.taken(recording.observations, slice(time, time + 1))
            adapted, memory = bound.observe_next(row, memory, np.array([time == 0]))
            rows.append(adapted)
        yield nest.joined(rows)


def _with(episode: SingleAgentEpisode, observations: Nest) -> SingleAgentEpisode:
    """The episode with other observations."""
    steps = len(episode)
    return SingleAgentEpisode(
        episode.id_,
        observations=observations,
        actions=episode.get_actions(slice(0, steps)),
        rewards=episode.get_rewards(slice(0, steps)),
        infos=list(episode.get_infos(slice(0, steps + 1))),
        extra_model_outputs={
            name: episode.get_extra_model_outputs(name, slice(0, steps))
            for name in episode.extra_model_outputs
        },
        terminated=episode.is_terminated,
        truncated=episode.is_truncated,
        t_started=episode.t_started,
        len_lookback_buffer=0,
        agent_id=episode.agent_id,
        module_id=episode.module_id,
    )
