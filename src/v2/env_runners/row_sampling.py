"""Sampling in rows: what a runner of one agent does while nobody looks at running episodes."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Final

from ...core.columns import Columns
from ..connectors.module_to_env.listify_data_for_vector_env import listed
from ..envs.sub_envs import Transitions
from ..episodes.episode_columns import EpisodeColumns
from ..metrics.names import WEIGHTS_SEQ_NO
from .episode_metrics import EndedEpisode
from .observation_watch import expect_finite
from .random_actions import RandomActions
from .row_acting import RowActing
from .running_episodes import RunningEpisodes
from .sample_size import SampleSize
from .step_block import StepBlock
from .vector_runner import VectorEnvRunner


class RowSampling(VectorEnvRunner):
    """A runner that collects steps in blocks, and hands them out to episodes afterwards.

    A step that does not go in rows is given back, to be recorded by itself: the environment
    failed, was reset within the step, or pieces have to be called one by one.
    """

    running: RunningEpisodes
    _draw: RandomActions
    _seen: Any
    _explore: bool
    _in_envs: list[float]
    _is_past_episodes = False
    """Whether this call is to give columns, if nobody has to see episodes."""
    _columns: EpisodeColumns | None = None
    """What this call gives then."""

    def _advance(self, actions: Any) -> Transitions:
        before = perf_counter()
        transitions: Transitions = self.stepper.advance(actions)
        self._in_envs.append(perf_counter() - before)
        self._seen = transitions.observations
        if self.teaching is not None:
            self.teaching.follow(transitions)
        return transitions

    def _taken_apart(self, columns: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        """Actions as the module has them, as the environments take them, and all other columns."""
        actions = columns.pop(Columns.ACTIONS)
        if self.teaching is not None:
            columns.update(self.teaching.columns(self._seen))
        return actions, columns.pop(Columns.ACTIONS_FOR_ENV, actions), columns

    def _row_acting(self, random_actions: bool) -> RowActing | None:
        """The way to act by the module on rows, if there is one."""
        if random_actions:
            return None
        return RowActing.of(self._env_to_module, self._module_to_env, self.module)

    def _is_unseen(self) -> bool:
        """Whether nobody sees episodes before they are returned, as arrays."""
        is_watched = self.running.is_watched or self._hooks.of("on_episode_end")
        return bool(self.config.episodes_to_numpy and not is_watched)

    def _sample_rows(
        self, rows: RowActing | None, size: SampleSize, steps: int
    ) -> tuple[int, tuple[Transitions, Any, dict[str, Any]] | None]:
        """Step until it is enough, handing out the steps to episodes afterwards.

        Args:
            rows: The way to act; None for random actions.
            size: How much to sample.
            steps: How many steps were made.

        Returns:
            How many steps were made here; and the step that is to be recorded by itself, if there
            is one that does not go in rows.
        """
        block = StepBlock(self._seen, self.running.pending)
        if rows is not None:
            rows.begin(self.running.ids, self._shared_data)
            forward = self.module.steady_pass(self._explore)
        first, explore, lifetime = steps, self._explore, self.num_env_steps_sampled_lifetime
        may_end = None if size.episodes is None else size.episodes - self._num_ended
        odd, outputs, columns, is_acting = None, None, None, False
        try:
            while size.wants_more(steps, self._num_ended + block.num_ended):
                is_acting = True
                if rows is None:
                    columns = {Columns.ACTIONS: self._draw(ALL_TOGETHER)[None]}
                else:
                    batch = self._cached_to_module
                    outputs = self._forward(batch, explore, lifetime + steps, forward)
                    columns = rows.columns(outputs, explore)
                    if columns is None:
                        break
                is_acting = False
                actions, for_env, columns = self._taken_apart(columns)
                transitions = self._advance(for_env)
                if transitions.failed or transitions.finals or not block.takes(actions, columns):
                    odd = transitions, actions, listed(columns)
                    break
                steps += block.add(transitions, actions, columns, may_end)
                if rows is not None:
                    self._cached_to_module = rows.batch(transitions.observations, block.begun)
                    if self._cached_to_module is None:
                        break
        except Exception:
            self._hand_out(block)
            if is_acting:
                expect_finite(self.running.observed(), "the module could not act")
            raise
        is_whole = odd is None and columns is not None and self._cached_to_module is not None
        if self._is_past_episodes and is_whole and not first:
            self._take(block)
            return steps, None
        self._hand_out(block)
        if rows is not None and self._cached_to_module is None:
            self._cached_to_module = self._to_module(self._shown, explore)
        if rows is not None and columns is None:
            actions, for_env, rest = self._taken_apart(self._to_env(outputs, explore))
            odd = self._advance(for_env), actions, rest
        return steps - first, odd

    def _hand_out(self, block: StepBlock) -> None:
        """Give the steps of a block to episodes."""
        ended, self._shown = self.running.add_block(block, (WEIGHTS_SEQ_NO, self._weights_seq_no))
        self._count_ended(ended)
        self._shared_data["memorized_map_structure"] = [each.id_ for each in self._shown]

    def _take(self, block: StepBlock) -> None:
        """Keep the steps of a block as columns, and tell episodes of them when they are read."""
        ended, shown, self._columns = self.running.take_block(
            block, (WEIGHTS_SEQ_NO, self._weights_seq_no), self.config.episode_lookback_horizon
        )
        self._count_ended(ended)
        self._shared_data["memorized_map_structure"] = shown

    def _count_ended(self, ended: Sequence[EndedEpisode]) -> None:
        self._num_ended += len(ended)
        for each in ended:
            self._counts.add_ended(each)


ALL_TOGETHER: Final = (None,)
"""All environments together: their actions are drawn as one."""
