"""Train batches of recorded data without end, for algorithms that learn from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from ...core.data.recorded_data import RecordedData
from ...core.errors import ConfigError
from ...core.formulas.actions import get_base_struct_from_space, normalize_action
from ..episodes.single_agent import SingleAgentEpisode
from .columns import by_episode, joined_columns, of_one_agent, taken_rows
from .prelearner import OfflinePreLearner

_OF_ENVIRONMENTS = frozenset({"array-columns", "minari"})
"""Kinds of data whose actions are as environments take them; RLlib records those of modules."""


class TrainBatches:
    """Makes a train batch after the other of recorded data, again and again through all of it.

    What is kept in memory (`materialize_data`, `materialize_mapped_data`) is shuffled anew for each
    round; what is not is read from the files each time, in their order.
    """

    def __init__(self, config: Any, data: RecordedData, spaces: tuple[Any, Any]) -> None:
        prelearner_class = config.prelearner_class or OfflinePreLearner
        self._prelearner = prelearner_class(config=config, spaces=spaces)
        self._data = data
        self._rng = np.random.default_rng(config.seed)
        self._size = config.input_read_batch_size or config.train_batch_size_per_learner
        self._is_kept = bool(config.materialize_data or config.materialize_mapped_data)
        self._of_rows = data.has_rows and not config.input_read_episodes
        self._normalizes = (
            data.format in _OF_ENVIRONMENTS
            and config.normalize_actions
            and not config.actions_in_input_normalized
        )
        self._action_space = spaces[1]
        self.needs_values = self._prelearner.needs_values
        self._period = config.prelearner_module_synch_period
        self._given = 0
        self._batches = self._rows() if self._of_rows else self._draws()

    @property
    def is_stale(self) -> bool:
        """Whether it is time that the values in batches are those of new weights."""
        return self.needs_values and self._given % self._period == 0

    def set_module_state(self, state: Mapping[str, Any]) -> None:
        """Take weights over that values are computed with."""
        self._prelearner.set_module_state(state)

    def sample(self) -> dict[str, Any]:
        """The next train batch, by module.

        Raises:
            ConfigError: There is no step in the data, or it is of several agents.
        """
        self._given += 1
        return next(self._batches)

    def _rows(self) -> Iterator[dict[str, Any]]:
        if self._is_kept:
            blocks = list(self._data.steps(self._size))
            if not blocks:
                raise _nothing(self._data)
            joined = joined_columns(blocks)
            rows = len(joined["rewards"])
            while True:
                order = self._rng.permutation(rows)
                for start in range(0, rows, self._size):
                    chosen = order[start : start + self._size]
                    yield self._prelearner.of_columns(taken_rows(joined, chosen))
        while True:
            is_empty = True
            for block in self._data.steps(self._size):
                is_empty = False
                yield self._prelearner.of_columns(by_episode(block))
            if is_empty:
                raise _nothing(self._data)

    def _draws(self) -> Iterator[dict[str, Any]]:
        if self._is_kept:
            episodes = list(self._episodes())
            if not episodes:
                raise _nothing(self._data)
            buffer = self._prelearner.episode_buffer
            buffer.capacity = max(buffer.capacity, sum(map(len, episodes)))
            yield self._prelearner.of_episodes(episodes)
            while True:
                yield self._prelearner.of_episodes([])
        while True:
            is_empty, episodes_left = True, self._episodes()
            while chunk := list(islice(episodes_left, self._size)):
                is_empty = False
                yield self._prelearner.of_episodes(chunk)
            if is_empty:
                raise _nothing(self._data)

    def _episodes(self) -> Iterator[SingleAgentEpisode]:
        for episode in map(of_one_agent, self._data.episodes()):
            if self._normalizes and self._action_space is not None:
                struct = get_base_struct_from_space(self._action_space)
                actions = normalize_action(episode.to_numpy().get_actions(), struct)
                episode.set_actions(new_data=actions)
            yield episode


def _nothing(data: RecordedData) -> ConfigError:
    return ConfigError("the recorded data has no step to learn from", found=data.format)
