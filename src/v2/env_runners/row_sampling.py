"""A call of `sample()`: step by step, or in rows while nobody looks at running episodes."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import override

from .episode_metrics import EndedEpisode
from .sample_size import SampleSize
from .vector_runner import VectorEnvRunner

_WATCHING: Final = (
    "on_episode_created",
    "on_episode_start",
    "on_episode_step",
    "on_episode_end",
)
"""Hooks that see running episodes."""


class RowSampling(VectorEnvRunner):
    """A runner that collects steps in blocks, and hands them out to episodes afterwards.

    A step that does not go in rows is made or recorded by itself: an environment failed, agents
    came or left, or pieces have to be called one by one. A subclass knows what a step is of.
    """

    _explore: bool
    _counts_agents = False
    """Whether steps of agents are what is asked for."""
    _is_silent: bool
    """Whether pieces need not see the steps of this call."""
    _steps: int
    _counted: int
    """How much of the size that is asked for these are."""
    _in_envs: list[float]
    _seen: Any = None
    """The last observations, where running episodes do not hold them."""

    # What a subclass says

    @abc.abstractmethod
    def _row_acting(self, random_actions: bool) -> Any:
        """What acts on rows and keeps them, if there is such a way."""

    @abc.abstractmethod
    def _record_alone(self, rows: Any, kept: Any, transitions: Any, size: SampleSize) -> bool:
        """Record a step that does not go in rows with the others; returns whether they go on."""

    @abc.abstractmethod
    def _hand_out(self, rows: Any, *, is_final: bool) -> None:
        """Give the steps that were kept to episodes; finally that is all of this call."""

    @abc.abstractmethod
    def _act_at_random(self) -> tuple[Any, Any, Any]:
        """Actions as they are recorded and sent, without outputs."""

    @abc.abstractmethod
    def _taken_apart(self, columns: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Actions as modules have them, as the environments take them, and all other columns."""

    @abc.abstractmethod
    def _advance(self, actions: Any, *, copies: bool = True) -> Any:
        """Step the environments."""

    @abc.abstractmethod
    def _record(self, transitions: Any, actions: Any, outputs: Any) -> tuple[int, int]:
        """Add a step to the episodes; returns how many steps, and of agents, that were."""

    def _shown(self) -> Sequence[Any]:
        """The episodes that pieces see, as the last step left them."""
        episodes: Sequence[Any] = self.running.episodes
        return episodes

    def _end_step(self, size: SampleSize) -> None:
        """Do what comes after pieces have seen a step."""

    @abc.abstractmethod
    def _end_call(self, lookback: int | None, size: SampleSize) -> list[Any]:
        """Count the steps and give the episodes."""

    # A call

    @override
    def _sample(self, size: SampleSize, explore: bool, random_actions: bool) -> list[Any]:
        is_all_own = self._has_only_own_pieces()
        self._is_silent = random_actions and self._reads_only()
        self._explore, self._steps, self._counted, self._in_envs = explore, 0, 0, []
        rows = None
        if is_all_own and self._is_silent == random_actions and self._is_unseen():
            rows = self._row_acting(random_actions)
        answers = None
        while size.wants_more(self._counted, self._num_ended):
            # The first step goes the usual way: it takes the timers of all pieces.
            if rows is not None and self._metrics_now is None:
                may_end = None if size.episodes is None else size.episodes - self._num_ended
                if rows.begin(self.running, self._shared_data, self._seen, may_end):
                    answers = self._sample_rows(rows, size, random_actions)
                rows = None
                continue
            acted = self._act_at_random() if random_actions else self._act(answers)
            actions, for_env, outputs = acted
            answers = None
            self._record_whole(self._advance(for_env), actions, outputs, size)
            if is_all_own:  # Its timers are taken once in a call.
                self._metrics_now = None
        if self._is_silent and self._in_envs:
            self._cached_to_module = self._to_module(self._shown(), explore)
        return self._end_call(
            None if size.is_in_episodes else self.config.episode_lookback_horizon, size
        )

    def _is_unseen(self) -> bool:
        """Whether nobody sees episodes before they are returned, as arrays."""
        return bool(self.config.episodes_to_numpy) and not any(map(self._hooks.of, _WATCHING))

    def _act(self, answers: Any) -> tuple[Any, Any, Any]:
        """Act by the module; `answers` are what it gave already."""
        t = self.num_env_steps_sampled_lifetime + self._steps
        try:
            if answers is None:
                answers = self._forward(self._cached_to_module, self._explore, t)
            columns = self._to_env(answers, self._explore)
        except Exception as error:
            self.running.explain(error)
            raise
        return self._taken_apart(columns)

    def _record_whole(self, transitions: Any, actions: Any, outputs: Any, size: SampleSize) -> None:
        """Record a step, and have pieces see it."""
        self._add(*self._record(transitions, actions, outputs))
        if not self._is_silent:
            self._cached_to_module = self._to_module(self._shown(), self._explore)
        self._end_step(size)

    def _add(self, steps: int, agent_steps: int) -> None:
        self._steps += steps
        self._counted += agent_steps if self._counts_agents else steps

    def _sample_rows(self, rows: Any, size: SampleSize, random_actions: bool) -> Any:
        """Step until it is enough, or until a step has to be made by pieces one by one.

        Args:
            rows: What acts and keeps the steps.
            size: How much to sample.
            random_actions: Whether the module is not asked.

        Returns:
            Outputs of the module that pieces are to take one by one, if that is how it ended.
        """
        explore, lifetime = self._explore, self.num_env_steps_sampled_lifetime
        forward = None if random_actions else self.module.steady_pass(explore)
        outputs, is_acting, is_final = None, False, True
        try:
            while size.wants_more(self._counted, self._num_ended + rows.block.num_ended):
                is_acting = True
                batch = self._cached_to_module
                outputs = (
                    self._forward(batch, explore, lifetime + self._steps, forward)
                    if batch and forward is not None
                    else {}
                )
                columns = rows.columns(outputs, explore)
                if columns is None:
                    is_final = False
                    break
                is_acting = False
                for_env, kept = rows.split(columns)
                transitions = self._advance(for_env, copies=False)
                outputs = None
                added = rows.add(kept, transitions)
                if added is not None:
                    self._add(*added)
                elif not self._record_alone(rows, kept, transitions, size):
                    return None
                self._cached_to_module = rows.batch()
                if self._cached_to_module is None:
                    is_final = False
                    break
        except Exception as error:
            self._hand_out(rows, is_final=False)
            if is_acting:
                self.running.explain(error)
            raise
        self._hand_out(rows, is_final=is_final)
        if self._cached_to_module is None:
            self._cached_to_module = self._to_module(self._shown(), explore)
        return outputs

    def _count_ended(self, ended: Sequence[EndedEpisode]) -> None:
        self._num_ended += len(ended)
        for each in ended:
            self._counts.add_ended(each)
