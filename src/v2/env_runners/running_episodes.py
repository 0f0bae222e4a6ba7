"""The episodes that run in a vector environment, and those that ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
from typing_extensions import override

from ...core import nest
from ...core.columns import Columns
from ...core.data.damage import at
from ..envs.vector_stepper import Transitions
from ..episodes.episode_columns import EpisodeColumns
from ..episodes.lookback_buffer import InfiniteLookbackBuffer
from ..episodes.single_agent import SingleAgentEpisode
from ..episodes.stretches import first_stretch
from .episode_metrics import EndedEpisode
from .filling import extend, relisted
from .late_steps import LateSteps, as_columns
from .observation_watch import expect_finite, explain_dtype
from .running import Running
from .step_block import BlockColumns, StepBlock, Stretch


class RunningEpisodes(Running):
    """One running episode of a single agent for each environment.

    Args:
        observation_space: Of one environment.
        action_space: Of one environment.
        num_envs: How many there are.
        keeps_chunks: Whether to keep what earlier calls returned, for `on_episode_end`.

    Attributes:
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
    ) -> None:
        self._spaces = observation_space, action_space
        super().__init__(num_envs, keeps_chunks=keeps_chunks)
        self._late: dict[int, LateSteps] = {}
        self._lookback = 0
        self.begun: list[int] = []
        self.ended: list[int] = []

    @property
    @override
    def episodes(self) -> list[SingleAgentEpisode]:
        for index, steps in self._late.items():
            self._episodes[index] = steps.cut(self._lookback)
        self._late.clear()
        return self._episodes

    @property
    def ids(self) -> list[str]:
        """The ids of the running ones."""
        return [episode.id_ for episode in self._episodes]

    @override
    def _new(self) -> SingleAgentEpisode:
        episode = first_stretch(SingleAgentEpisode, None, None, {}, *self._spaces, None, None)  # type: ignore[arg-type]
        episode.observations.pop()
        episode.infos.pop()
        return episode

    def begin(self, index: int, observation: Any, info: dict[str, Any]) -> None:
        """Add the first observation to a pending episode."""
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
        columns = zip(
            transitions.observations,
            actions,
            transitions.rewards,
            transitions.infos,
            *outputs,
            strict=True,
        )
        return sum(
            self._record_one(index, transitions, row, names) for index, row in enumerate(columns)
        )

    def _record_one(
        self, index: int, transitions: Transitions, row: Sequence[Any], names: tuple[str, ...]
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
        over, cut = transitions.terminateds[index], transitions.truncateds[index]
        episode.add_env_step(
            observation,
            action,
            reward,
            info,
            terminated=is_final and over,
            truncated=is_final and cut,
            extra_model_outputs=dict(zip(names, output_row, strict=True)),
        )
        if (over or cut) and not is_final:
            episode.is_terminated, episode.is_truncated = over, cut
            self.ended.append(index)
        return 1

    def add_block(
        self, block: StepBlock, weights_seq_no: tuple[str, int], *, is_final: bool
    ) -> tuple[list[EndedEpisode], list[SingleAgentEpisode]]:
        """Add the steps of a block, what `record` would have added one by one.

        Args:
            block: It began with the episodes as they are.
            weights_seq_no: One output more: its name and value.
            is_final: Whether columns become arrays, to be taken next. Pieces that see the last
                step's episodes expect lists, as do log-probabilities that are still to be fitted.

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
            has_steps = stretch.stop > stretch.start
            if stretch.is_begun and has_steps and (is_final or not is_shown):
                self.pending[stretch.env] = False
                _fill(episode, stretch, columns)
            else:
                if stretch.is_begun:
                    self.begin(
                        stretch.env,
                        nest.taken(columns.observations, (stretch.env, stretch.start)),
                        columns.infos[stretch.start - 1][stretch.env],
                    )
                    episode.start_time = columns.times[stretch.start - 1]
                _extend(episode, stretch, columns, is_final)
            episode.t += stretch.stop - stretch.start
            if stretch.is_over:
                episode.is_terminated, episode.is_truncated = stretch.terminated, stretch.truncated
                ended.append(self.end(stretch.env))
            if is_shown:
                shown[stretch.env] = episode
        return ended, shown

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
            sums = self._before[index]
            if stretch.is_begun:
                self.pending[index] = False
                info = columns.infos[stretch.start - 1][index]
            else:
                late = self._late.get(index)
                info = episode.infos.raw[-1] if late is None else late.infos[-1]
            steps = LateSteps(episode, sums.length, stretch, columns, info)
            if stretch.stop > stretch.start:
                blocks.append(steps)
                sums.length += stretch.stop - stretch.start
                sums.total += sum(steps.rewards)
                sums.seconds += steps.seconds()
            # A continuation does not know when its episode began.
            just_begun = stretch.is_begun and stretch.stop == stretch.start
            episode.start_time = columns.times[stretch.start - 1] if just_begun else None
            if block.is_last(stretch):
                shown[index] = episode.id_
            if stretch.is_over:
                self._late.pop(index, None)
                self.replace(index)
                ended.append(sums.ended())
            else:
                self._late[index] = steps
        return ended, shown, as_columns(blocks)

    @at()
    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        self._late.clear()
        super().set_state(state)

    @override
    def _read(self, state: Mapping[str, Any]) -> SingleAgentEpisode:
        return SingleAgentEpisode.from_state(state)

    @override
    def _following(self, episode: SingleAgentEpisode, lookback: int) -> SingleAgentEpisode:
        following = episode.cut(len_lookback_buffer=lookback)
        relisted(following)
        return following

    @override
    def explain(self, error: Exception) -> None:
        begun = [episode for episode in (*self.done, *self.episodes) if episode.is_reset]
        expect_finite(begun, "the module could not act")
        for episode in begun:
            explain_dtype(error, episode.get_observations(-1), "the module could not act")


def _fill(episode: SingleAgentEpisode, stretch: Stretch, columns: BlockColumns) -> None:
    """Fill an empty episode with all its steps, as views of the block's arrays."""
    index, steps = stretch.env, slice(stretch.start, stretch.stop)
    with_next = slice(stretch.start, stretch.stop + 1)
    episode.observations.data = nest.taken(columns.observations, (index, with_next))
    episode.actions.data = columns.actions[index, steps]
    episode.rewards.data = columns.rewards[index, steps]
    episode.infos.data = _infos(stretch, columns, stretch.start - 1)
    episode.extra_model_outputs = {
        name: InfiniteLookbackBuffer(nest.taken(column, (index, steps)))
        for name, column in columns.outputs.items()
    }
    episode.start_time = columns.times[stretch.start - 1]
    episode.last_step_time = columns.times[stretch.stop - 1]


def _extend(
    episode: SingleAgentEpisode, stretch: Stretch, columns: BlockColumns, is_final: bool
) -> None:
    """Add steps to an episode that has its first observation."""
    index, steps = stretch.env, slice(stretch.start, stretch.stop)
    if stretch.start == stretch.stop:
        return
    after = slice(stretch.start + 1, stretch.stop + 1)
    of_steps = {Columns.ACTIONS: columns.actions, **columns.outputs}
    extend(
        episode,
        (nest.taken(columns.observations, (index, after)),),
        {name: nest.taken(column, (index, steps)) for name, column in of_steps.items()},
        is_final,
    )
    episode.rewards.extend(columns.rewards[index, steps].tolist())
    episode.infos.extend(_infos(stretch, columns, stretch.start))
    episode.last_step_time = columns.times[stretch.stop - 1]


def _infos(stretch: Stretch, columns: BlockColumns, first: int) -> list[dict[str, Any]]:
    return [infos[stretch.env] for infos in columns.infos[first : stretch.stop]]
