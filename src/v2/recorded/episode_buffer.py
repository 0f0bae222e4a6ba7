"""Recorded episodes from which steps, or short sequences of them, are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...core import nest
from ...core.columns import Columns
from ...core.errors import ConfigError, EpisodeError
from ...core.types import Nest
from ..episodes.gather import concat_column
from ..episodes.lookback_buffer import InfiniteLookbackBuffer
from ..episodes.single_agent import SingleAgentEpisode
from ..replay.steps import Steps

Pick = tuple[str, int, int]
"""A stretch of an episode: its id, its first step, how many steps."""


class RecordedEpisodeBuffer:
    """Holds episodes and draws from all their steps, each as likely, with replacement.

    Args:
        capacity: How many steps it holds; the oldest episodes go for new ones.
        batch_size_B: How many steps are drawn where nobody says how many.
        batch_length_T: How long drawn sequences are; 0 for single steps.
        seed: Of what is drawn.

    Example:
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> buffer = RecordedEpisodeBuffer(capacity=100, batch_size_B=4, seed=0)
        >>> buffer.add([SingleAgentEpisode("a", observations=[0, 1, 2], actions=[0, 1],
        ...     rewards=[1.0, 2.0], terminated=True, len_lookback_buffer=0)])
        >>> len(buffer.sample())
        4
    """

    def __init__(
        self,
        capacity: int = 10_000,
        *,
        batch_size_B: int = 16,
        batch_length_T: int = 0,
        seed: int | None = None,
        **_: Any,
    ) -> None:
        self.capacity = capacity
        self.batch_size_B = batch_size_B
        self.batch_length_T = batch_length_T
        self.rng = np.random.default_rng(seed)
        self.episodes: list[SingleAgentEpisode] = []
        self._known: set[tuple[str, int]] = set()
        self._columns: dict[str, Nest] | None = None
        self._ends = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """How many episodes it holds."""
        return len(self.episodes)

    def get_num_timesteps(self) -> int:
        """How many steps it holds."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def add(self, episodes: SingleAgentEpisode | Iterable[SingleAgentEpisode]) -> None:
        """Take episodes in; those it holds already, by id and first step, are left out."""
        given = [episodes] if isinstance(episodes, SingleAgentEpisode) else episodes
        for episode in given:
            key = episode.id_, episode.t_started
            if len(episode) and key not in self._known:
                self._known.add(key)
                self.episodes.append(episode.to_numpy())
        steps = np.cumsum([len(each) for each in self.episodes], dtype=np.int64)
        while len(self.episodes) > 1 and steps[-1] > self.capacity:
            gone = self.episodes.pop(0)
            self._known.discard((gone.id_, gone.t_started))
            steps = steps[1:] - steps[0]
        self._ends, self._columns = steps, None

    def draw(self, count: int, length: int = 0, shortest: int = 0) -> list[tuple[int, int, int]]:
        """Draw stretches, as place of the episode, first step and length.

        Args:
            count: How many steps at least.
            length: How long a stretch is at most; 0 for one step.
            shortest: How many steps have to follow the first one.

        Raises:
            EpisodeError: There is no step to draw.
        """
        lens = np.diff(self._ends, prepend=0)
        allowed = np.maximum(lens - shortest - (shortest > 0), 0) if shortest else lens
        ends = np.cumsum(allowed)
        if not len(ends) or not ends[-1]:
            raise EpisodeError("there is no recorded step to draw", expected="episodes with steps")
        picks: list[tuple[int, int, int]] = []
        steps = 0
        while steps < count:
            drawn = self.rng.integers(ends[-1], size=count - steps if length <= 1 else 1)
            places = np.searchsorted(ends, drawn, side="right")
            firsts = drawn - (ends[places] - allowed[places])
            taken = np.minimum(max(1, length), lens[places] - firsts)
            picks += zip(places.tolist(), firsts.tolist(), taken.tolist(), strict=True)
            steps += int(taken.sum())
        return picks

    def places_of(self, picks: Sequence[Pick]) -> list[tuple[int, int, int]]:
        """The stretches that picks name."""
        by_id = {episode.id_: place for place, episode in enumerate(self.episodes)}
        missing = [id_ for id_, _, _ in picks if id_ not in by_id]
        if missing:
            raise EpisodeError(f"there is no recorded episode {missing[0]!r} to pick from")
        return [(by_id[id_], int(first), int(length)) for id_, first, length in picks]

    def sample(
        self,
        num_items: int | None = None,
        *,
        batch_length_T: int | None = None,
        n_step: int = 1,
        min_batch_length_T: int = 0,
        **_: Any,
    ) -> list[SingleAgentEpisode]:
        """Draw stretches as episodes.

        Args:
            num_items: How many steps; `batch_size_B` by default.
            batch_length_T: How long a stretch is; `batch_length_T` of the buffer by default.
            n_step: Only 1: rewards of several steps are not summed here.
            min_batch_length_T: How many steps have to follow the first one.

        Raises:
            ConfigError: Another `n_step`.
        """
        if n_step != 1:
            raise ConfigError("rewards of several steps are not summed", expected="n_step=1")
        length = self.batch_length_T if batch_length_T is None else batch_length_T
        picks = self.draw(num_items or self.batch_size_B, length, min_batch_length_T)
        return self.stretches(picks, is_sequence=bool(length))

    def stretches(
        self, picks: Sequence[tuple[int, int, int]], *, is_sequence: bool
    ) -> list[SingleAgentEpisode]:
        """Episodes of what was drawn: outputs of modules come along in sequences alone."""
        if not is_sequence:
            return self.steps(picks).episodes()
        made = []
        for place, first, length in picks:
            own = self.episodes[place].slice(slice(first, first + length), len_lookback_buffer=0)
            own.extra_model_outputs |= {
                "n_step": InfiniteLookbackBuffer(np.ones(length, np.int64)),
                "weights": InfiniteLookbackBuffer(np.ones(length, np.float32)),
            }
            made.append(own)
        return made

    def steps(self, picks: Sequence[tuple[int, int, int]]) -> Steps:
        """Single steps of what was drawn, as columns."""
        if self._columns is None:
            self._columns = steps_of(self.episodes)
        chosen = np.array(picks, np.int64).reshape(-1, 3)
        starts = self._ends - np.diff(self._ends, prepend=0)
        rows = starts[chosen[:, 0]] + chosen[:, 1]
        columns = {name: nest.taken(own, rows) for name, own in self._columns.items()}
        columns["n_step"] = np.ones(len(rows), np.int64)
        columns["weights"] = np.ones(len(rows), np.float32)
        return Steps(columns, tuple(self.episodes[place].id_ for place in chosen[:, 0].tolist()))


def steps_of(episodes: Sequence[SingleAgentEpisode]) -> dict[str, Nest]:
    """All steps of numpy'd episodes as columns, one episode after the other.

    Raises:
        EpisodeError: Their steps differ in shape.
    """
    ends = np.cumsum([len(each) for each in episodes]) - 1
    flags = np.zeros((2, int(ends[-1]) + 1), bool)
    flags[0, ends] = [bool(each.is_terminated) for each in episodes]
    flags[1, ends] = [bool(each.is_truncated) for each in episodes]

    def column(name: str, **without: bool) -> Nest:
        found = concat_column(episodes, name, **without)
        if found is None:
            raise EpisodeError(f"the recorded episodes differ in the shape of {name!r}")
        return found[0]

    return {
        Columns.OBS: column(Columns.OBS, without_last=True),
        Columns.NEXT_OBS: column(Columns.OBS, without_first=True),
        Columns.ACTIONS: column(Columns.ACTIONS),
        Columns.REWARDS: column(Columns.REWARDS),
        Columns.TERMINATEDS: flags[0],
        Columns.TRUNCATEDS: flags[1],
    }
