"""The episodes that run in a vector environment, and those that ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Final

import gymnasium as gym

from ...core import nest
from ...core.columns import DEFAULT_AGENT_ID, DEFAULT_MODULE_ID
from ...core.data.damage import at
from ..envs.sub_envs import Transitions
from ..episodes.episode_columns import EpisodeColumns
from ..episodes.lookback_buffer import InfiniteLookbackBuffer
from ..episodes.single_agent import SingleAgentEpisode
from ..episodes.stepping import begin_outputs
from ..episodes.stretches import first_stretch
from .appenders import Appenders
from .episode_metrics import EndedEpisode
from .late_steps import LateSteps, as_columns
from .step_block import BlockColumns, StepBlock, Stretch

_NOTHING: Final = (0, 0.0, 0.0)


class RunningEpisodes:
    """One running episode for each environment.

    An episode is pending from the end of the one before to its own first observation. What earlier
    calls returned of an episode counts towards its length and return.

    Args:
        observation_space: Of one environment.
        action_space: Of one environment.
        num_envs: How many there are.
        keeps_chunks: Whether to keep what earlier calls returned, for `on_episode_end`.
        is_watched: Whether users' code sees running episodes, and may exchange their columns.

    Attributes:
        pending: Which of them wait for their first observation.
        done: Those that ended since `take()`.
        chunks: What earlier calls returned of each.
        begun: Which environments gave a first observation in the last step.
        ended: Which ones ended their episode in the last step, and are still to be closed.
    """

    def __init__(
        self,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        num_envs: int,
        *,
        keeps_chunks: bool = False,
        is_watched: bool = True,
    ) -> None:
        self._spaces = observation_space, action_space
        self._keeps_chunks = keeps_chunks
        self.is_watched = is_watched
        self._episodes: list[SingleAgentEpisode] = [self._new() for _ in range(num_envs)]
        self._late: dict[int, LateSteps] = {}
        self._lookback = 0
        self.pending = [True] * num_envs
        self.done: list[SingleAgentEpisode] = []
        self._appenders = Appenders(num_envs)
        self.begun: list[int] = []
        self.ended: list[int] = []
        self._before: list[tuple[int, float, float]] = [_NOTHING] * num_envs
        self.chunks: list[list[SingleAgentEpisode]] = [[] for _ in range(num_envs)]

    @property
    def episodes(self) -> list[SingleAgentEpisode]:
        """The running ones, by environment."""
        for index, steps in self._late.items():
            self._episodes[index] = steps.cut(self._lookback)
        self._late.clear()
        return self._episodes

    @property
    def ids(self) -> list[str]:
        """The ids of the running ones."""
        return [episode.id_ for episode in self._episodes]

    def _new(self) -> SingleAgentEpisode:
        episode = first_stretch(SingleAgentEpisode, None, None, {}, *self._spaces, None, None)  # type: ignore[arg-type]
        episode.observations.pop()
        episode.infos.pop()
        return episode

    def begin(self, index: int, observation: Any, info: dict[str, Any]) -> None:
        """Give a pending episode its first observation."""
        self.episodes[index].add_env_reset(observation, info)
        self.pending[index] = False
        self.begun.append(index)

    def record(
        self,
        transitions: Transitions,
        actions: Sequence[Any],
        names: tuple[str, ...],
        outputs: Sequence[Sequence[Any]],
    ) -> int:
        """Add one step of all environments.

        Pending episodes get their first observation; episodes whose environment failed get
        nothing and are truncated.

        Args:
            transitions: What the environments returned.
            actions: What was sent to them, one by one.
            names: Of the module's other outputs.
            outputs: A column for each name, with an item for each environment.

        Returns:
            How many steps were added.
        """
        self.begun, self.ended = [], []
        columns = (
            transitions.observations,
            actions,
            transitions.rewards,
            transitions.infos,
            *outputs,
        )
        if (
            transitions.finals
            or transitions.failed
            or names != self._appenders.names
            or self.is_watched
        ):
            self._appenders.forget(names)
        appenders = self._appenders
        steps = appenders.append(columns)
        if appenders.missing:
            for index in tuple(appenders.missing):
                row = [column[index] for column in columns]
                steps += self._record_one(index, transitions, row, names)
        if True in transitions.terminateds or True in transitions.truncateds:
            ends = zip(transitions.terminateds, transitions.truncateds, strict=True)
            for index, (over, cut) in enumerate(ends):
                if (over or cut) and index not in transitions.finals:
                    episode = self.episodes[index]
                    episode.is_terminated, episode.is_truncated = over, cut
                    self.ended.append(index)
        return steps

    def _record_one(
        self, index: int, transitions: Transitions, row: list[Any], names: tuple[str, ...]
    ) -> int:
        """Add a step of one environment as `add_env_step` does."""
        episode = self.episodes[index]
        if index in transitions.failed:
            episode.is_truncated = True
            return 0
        observation, action, reward, info, *output_row = row
        if self.pending[index]:
            self.begin(index, observation, info)
            return 0
        is_final = index in transitions.finals
        if is_final:
            observation, info = transitions.finals[index]
        episode.add_env_step(
            observation,
            action,
            reward,
            info,
            terminated=is_final and transitions.terminateds[index],
            truncated=is_final and transitions.truncateds[index],
            extra_model_outputs=dict(zip(names, output_row, strict=True)),
        )
        if not is_final:
            self._appenders.learn(index, episode)
        return 1

    def add_block(
        self, block: StepBlock, weights_seq_no: tuple[str, int]
    ) -> tuple[list[EndedEpisode], list[SingleAgentEpisode]]:
        """Add the steps of a block, what `record` would have added one by one.

        Args:
            block: It began with the episodes as they are.
            weights_seq_no: One output more: its name and value.

        Returns:
            What the episodes that ended came to, and the episode of each environment as the last
            step left it.
        """
        shown = self.episodes.copy()
        if not len(block):
            return [], shown
        columns = block.columns(weights_seq_no)
        ended = []
        for stretch in block.stretches():
            episode = self.episodes[stretch.env]
            is_shown = block.is_last(stretch)
            # Pieces that look at the last step's episodes expect lists.
            if stretch.is_begun and not is_shown:
                _fill(episode, stretch, columns)
            else:
                if stretch.is_begun:
                    self.begin(
                        stretch.env,
                        columns.observations[stretch.env, stretch.start],
                        columns.infos[stretch.start - 1][stretch.env],
                    )
                    episode.start_time = columns.times[stretch.start - 1]
                _extend(episode, stretch, columns)
            episode.t += stretch.stop - stretch.start
            if stretch.is_over:
                episode.is_terminated, episode.is_truncated = stretch.terminated, stretch.truncated
                ended.append(self.end(stretch.env, columns.times[stretch.stop - 1]))
            if is_shown:
                shown[stretch.env] = episode
        return ended, shown

    def end(self, index: int, time: float | None = None) -> EndedEpisode:
        """Put the episode of an environment to the ones done, and have the next one wait.

        Args:
            index: The environment's.
            time: When it ended; now by default.

        Returns:
            What it came to, with what earlier calls returned of it.
        """
        episode = self.episodes[index]
        self._appenders.forget_one(index)
        length, total, seconds = self._so_far(index, time)
        if len(episode):
            self.done.append(episode)
        self.chunks[index] = []
        return self._ended(index, length, total, seconds)

    def _ended(self, index: int, length: int, total: float, seconds: float) -> EndedEpisode:
        """Have the next episode of an environment wait; gives what the last one came to."""
        self._before[index] = _NOTHING
        self._episodes[index] = self._new()
        self.pending[index] = True
        return EndedEpisode(
            length, total, seconds, {DEFAULT_AGENT_ID: total}, {DEFAULT_MODULE_ID: total}
        )

    def take_block(
        self, block: StepBlock, weights_seq_no: tuple[str, int], lookback: int
    ) -> tuple[list[EndedEpisode], list[str], EpisodeColumns]:
        """Take the steps of a block as columns, past the episodes; what `add_block`, `take` give.

        Args:
            block: It has steps, and began after `take` with the episodes as they are.
            weights_seq_no: One output more: its name and value.
            lookback: How many steps episodes keep as look-back.

        Returns:
            What the episodes that ended came to, the id of each environment's episode as the last
            step left it, and the columns.
        """
        columns, shown = block.columns(weights_seq_no), self.ids
        ended, blocks = [], []
        self._lookback = lookback
        for stretch in block.stretches():
            index = stretch.env
            episode = self._episodes[index]
            length, total, seconds = self._before[index]
            if stretch.is_begun:
                self.pending[index] = False
                info = columns.infos[stretch.start - 1][index]
            else:
                late = self._late.get(index)
                info = episode.infos.raw[-1] if late is None else late.infos[-1]
            steps = LateSteps(episode, length, stretch, columns, info)
            if stretch.stop > stretch.start:
                blocks.append(steps)
                length += stretch.stop - stretch.start
                total += sum(steps.rewards)
                seconds += steps.seconds()
                self._before[index] = length, total, seconds
            # A continuation does not know when its episode began.
            just_begun = stretch.is_begun and stretch.stop == stretch.start
            episode.start_time = columns.times[stretch.start - 1] if just_begun else None
            if block.is_last(stretch):
                shown[index] = episode.id_
            if stretch.is_over:
                self._late.pop(index, None)
                ended.append(self._ended(index, length, total, seconds))
            else:
                self._late[index] = steps
        return ended, shown, as_columns(blocks)

    def get_state(self) -> dict[str, Any]:
        """Give the running episodes, between two calls of `take()`."""
        return {
            "episodes": [episode.get_state() for episode in self.episodes],
            "pending": list(self.pending),
            "before": list(self._before),
            "chunks": [[chunk.get_state() for chunk in chunks] for chunks in self.chunks],
        }

    @at()
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave."""
        read = SingleAgentEpisode.from_state
        self._late.clear()
        self._episodes = [read(each) for each in state["episodes"]]
        self.pending = list(state["pending"])
        self._before = list(state["before"])
        self.chunks = [[read(each) for each in chunks] for chunks in state["chunks"]]

    def observed(self) -> list[SingleAgentEpisode]:
        """Give the episodes that have an observation."""
        return [episode for episode in (*self.done, *self.episodes) if episode.is_reset]

    def _so_far(self, index: int, time: float | None = None) -> tuple[int, float, float]:
        episode = self.episodes[index]
        length, total, seconds = self._before[index]
        if not len(episode):
            return length, total, seconds
        episode.last_step_time = perf_counter() if time is None else time
        return (
            length + len(episode),
            total + float(episode.get_return()),
            seconds + episode.get_duration_s(),
        )

    def take(self, lookback: int | None) -> list[SingleAgentEpisode]:
        """Give the episodes that are done, and what there is of the running ones.

        Args:
            lookback: How many steps the running ones keep as look-back; None leaves them alone.
        """
        finished, self.done = self.done, []
        self._appenders.forget(())
        if lookback is None:
            return finished
        for index, episode in enumerate(self.episodes):
            if len(episode):
                self._before[index] = self._so_far(index)
                if self._keeps_chunks:
                    self.chunks[index].append(episode)
                finished.append(episode)
                self._episodes[index] = episode.cut(len_lookback_buffer=lookback)
        return finished


def _fill(episode: SingleAgentEpisode, stretch: Stretch, columns: BlockColumns) -> None:
    """Give an episode that has nothing all its steps: it holds rows of the block's arrays."""
    index, steps = stretch.env, slice(stretch.start, stretch.stop)
    with_next = slice(stretch.start, stretch.stop + 1)
    episode.observations.data = columns.observations[index, with_next]
    episode.actions.data = columns.actions[index, steps]
    episode.rewards.data = columns.rewards[index, steps]
    episode.infos.data = _infos(stretch, columns, stretch.start - 1)
    episode.extra_model_outputs = {
        name: InfiniteLookbackBuffer(nest.taken(column, (index, steps)))
        for name, column in columns.outputs.items()
    }
    episode.start_time = columns.times[stretch.start - 1]


def _extend(episode: SingleAgentEpisode, stretch: Stretch, columns: BlockColumns) -> None:
    """Add steps to an episode that has its first observation."""
    if stretch.start == stretch.stop:
        return
    index, steps = stretch.env, slice(stretch.start, stretch.stop)
    outputs = episode.extra_model_outputs
    if outputs.keys() != columns.outputs.keys():
        begin_outputs(episode, columns.outputs, episode.rewards.len_incl_lookback())
    episode.observations.extend(columns.observations[index, steps.start + 1 : steps.stop + 1])
    episode.actions.extend(columns.actions[index, steps])
    episode.rewards.extend(columns.rewards[index, steps].tolist())
    episode.infos.extend(_infos(stretch, columns, stretch.start))
    for name, column in columns.outputs.items():
        outputs[name].extend(nest.taken(column, (index, steps)))


def _infos(stretch: Stretch, columns: BlockColumns, first: int) -> list[dict[str, Any]]:
    return [infos[stretch.env] for infos in columns.infos[first : stretch.stop]]
