"""A buffer of episodes whose steps are drawn the more often, the more they surprised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from ...core.data.damage import at
from ...core.errors import ConfigError, EpisodeError
from ...core.types import Array
from ..episodes.episode_columns import EpisodeColumns
from ..episodes.single_agent import SingleAgentEpisode
from .episode_replay_buffer import EpisodeReplayBuffer, NStep
from .held_episodes import HeldEpisode

_FAN = 64


class Priorities:
    """Numbers by place, with the sums and the least of each 64, of each 64 of these, and so on.

    Sums are added up anew where a number has changed, so no error builds up over time.

    Args:
        size: How many places there are.

    Attributes:
        sums: Levels of sums, the numbers themselves first; the last one has one entry.
        least: The same of the least numbers that are not 0.

    Example:
        >>> priorities = Priorities(1000)
        >>> priorities.set(np.array([3, 999]), np.array([1.0, 3.0]))
        >>> priorities.total, priorities.smallest, priorities.find(np.array([0.5, 1.0, 3.9]))
        (4.0, 1.0, array([  3, 999, 999]))
    """

    def __init__(self, size: int) -> None:
        self.size = size
        counts = [max(size, 1)]
        while counts[-1] > 1:
            counts.append(-(-counts[-1] // _FAN))
        padded = [-(-count // _FAN) * _FAN for count in counts]
        padded[-1] = 1
        self.sums = [np.zeros(count) for count in padded]
        self.least = [np.full(count, np.inf) for count in padded]

    @property
    def total(self) -> float:
        """The sum of all."""
        return float(self.sums[-1][0])

    @property
    def smallest(self) -> float:
        """The least of those that are not 0."""
        return float(self.least[-1][0])

    def set(self, places: Array, values: Array | float) -> None:
        """Set numbers; 0 takes a place out. Of a place named twice the last number counts."""
        self.sums[0][places] = values
        self.least[0][places] = np.where(self.sums[0][places] > 0, self.sums[0][places], np.inf)
        for level in range(1, len(self.sums)):
            places = places // _FAN  # One of them twice is added up twice, to the same.
            for levels, add_up in ((self.sums, np.sum), (self.least, np.min)):
                below = levels[level - 1].reshape(-1, _FAN)
                levels[level][places] = add_up(below[places], axis=1)

    def get(self, places: Array) -> Array:
        """Return the numbers."""
        return self.sums[0][places]

    def find(self, marks: Array) -> Array:
        """Find where sums from the front pass some marks, each from 0 to below `total`."""
        places = np.zeros(len(marks), np.int64)
        remaining = np.array(marks, np.float64)
        for level in range(len(self.sums) - 2, -1, -1):
            passed = self.sums[level].reshape(-1, _FAN)[places].cumsum(axis=1)
            # Rounding may carry a mark past the end, where there is nothing.
            remaining = np.minimum(remaining, np.nextafter(passed[:, -1], 0.0))
            inside = (passed <= remaining[:, None]).sum(axis=1)
            before = passed[np.arange(len(places)), np.maximum(inside - 1, 0)]
            remaining = remaining - np.where(inside > 0, before, 0.0)
            places = places * _FAN + inside
        return places


_LEAST = 1e-12
_PRIORITY = "priority"


class PrioritizedEpisodeReplayBuffer(EpisodeReplayBuffer):
    """Draws single steps in proportion to their priorities, and says how much each is to count.

    New steps have the highest priority there was. Where too few steps follow for `n_step`, another
    step is drawn.

    Args:
        capacity: How many steps it holds.
        batch_size_B: How many steps are drawn where nobody says how many.
        batch_length_T: Kept for RLlib's sake: single steps are drawn.
        alpha: How much priorities matter: 0 not at all, 1 fully.
        metrics_num_episodes_for_smoothing: Over how many adds and samples means are taken.
        seed: Of what is drawn; by default nobody knows.
        **ignored: What other buffers take.

    Example:
        >>> buffer = PrioritizedEpisodeReplayBuffer(capacity=100, seed=0)
        >>> buffer.add(SingleAgentEpisode("a", observations=[0, 1, 2], actions=[0, 1],
        ...     rewards=[1.0, 2.0], terminated=True, len_lookback_buffer=0))
        >>> drawn = buffer.sample(2)
        >>> buffer.update_priorities([0.5, 0.5])
    """

    def __init__(
        self,
        capacity: int = 10_000,
        *,
        batch_size_B: int = 16,
        batch_length_T: int = 1,
        alpha: float = 1.0,
        metrics_num_episodes_for_smoothing: int = 100,
        seed: Any = None,
        **ignored: Any,
    ) -> None:
        super().__init__(
            capacity,
            batch_size_B=batch_size_B,
            batch_length_T=batch_length_T,
            metrics_num_episodes_for_smoothing=metrics_num_episodes_for_smoothing,
            seed=seed,
            **ignored,
        )
        if alpha < 0:
            raise ConfigError("alpha", expected="a number of 0 or more", found=repr(alpha))
        self._alpha = alpha
        self._max_priority = 1.0
        self._priorities = Priorities(self._rows.size)
        self._last_drawn = np.empty(0, np.int64)

    @property
    @override
    def bytes_per_timestep(self) -> int:
        return super().bytes_per_timestep + (16 if self._rows.columns else 0)

    @override
    def add(
        self,
        episodes: SingleAgentEpisode | Iterable[SingleAgentEpisode],
        weight: float | None = None,
    ) -> None:
        """Take episodes in; see `EpisodeReplayBuffer.add`.

        Args:
            episodes: One or several.
            weight: The priority of their steps; the highest there was by default.
        """
        before, self._max_priority = self._max_priority, weight or self._max_priority
        try:
            super().add(episodes)
        finally:
            self._max_priority = before

    @override
    def _store(self, given: EpisodeColumns, free: Array | None = None) -> Array:
        priorities = given.columns.pop(_PRIORITY, None)
        rows = super()._store(given, free)
        if self._priorities.size < self._rows.size:
            grown = Priorities(self._rows.size)
            held = np.flatnonzero(self._priorities.sums[0])
            grown.set(held, self._priorities.get(held))
            self._priorities = grown
        fresh = self._max_priority**self._alpha
        self._priorities.set(rows, fresh if priorities is None else priorities)
        return rows

    @override
    def _let_go(self, rows: Array) -> None:
        super()._let_go(rows)
        self._priorities.set(rows, 0.0)

    @override
    def sample(
        self,
        num_items: int | None = None,
        *,
        batch_size_B: int | None = None,
        batch_length_T: int | None = None,
        n_step: NStep | None = None,
        beta: float | None = 0.0,
        gamma: float = 0.99,
        include_infos: bool = False,
        include_extra_model_outputs: bool = False,
        sample_episodes: bool | None = True,
        to_numpy: bool = False,
        lookback: int = 0,
        min_batch_length_T: int = 0,
        **_: Any,
    ) -> Any:
        """Draw single steps; see `EpisodeReplayBuffer.sample`.

        Args:
            num_items: How many steps; or `batch_size_B`, which is the same.
            batch_size_B: How many steps; the buffer's own where neither says.
            batch_length_T: Only 0, 1 or None: no sequences are drawn.
            n_step: How many steps become one, or `(least, end)`.
            beta: How much the weights make up for what is drawn too often: 0 not, 1 fully.
            gamma: The discount.
            include_infos: Whether steps have infos.
            include_extra_model_outputs: Whether steps have the module's outputs.
            sample_episodes: Kept for RLlib's sake: episodes are given.
            to_numpy: Whether the items of episodes are arrays.
            lookback: Kept for RLlib's sake.
            min_batch_length_T: Kept for RLlib's sake.
            **_: For RLlib's sake.

        Returns:
            Episodes of one step each; their output `weights` says how much each counts.
        """
        if batch_length_T and batch_length_T > 1:
            raise ConfigError(
                f"{type(self).__name__} draws single steps, no sequences",
                expected="batch_length_T=1",
                found=f"batch_length_T={batch_length_T}",
                hint='for modules with a state: replay_buffer_config={"type": '
                '"EpisodeReplayBuffer"}.',
            )
        beta = beta or 0.0
        if beta < 0:
            raise ConfigError("beta", expected="a number of 0 or more", found=repr(beta))
        count = self._count(num_items, batch_size_B)
        rows, steps, resamples = self._draw_by_priority(count, n_step or 1)
        # The weight of the least likely step is 1.
        weights = (self._priorities.get(rows) / self._priorities.smallest) ** -beta
        self._last_drawn = rows
        return self._given(
            rows,
            steps,
            weights,
            gamma,
            include_infos,
            include_extra_model_outputs,
            resamples,
            to_numpy,
        )

    def _draw_by_priority(self, count: int, n_step: NStep) -> tuple[Array, Array, int]:
        """Rows and their numbers of steps, each of which follow; and how often that took anew."""
        rows, steps = np.empty(count, np.int64), self._n_steps(n_step, count)
        missing = np.arange(count)
        resamples = 0
        while missing.size:
            marks = self.rng.random(missing.size) * self._priorities.total
            rows[missing] = self._priorities.find(marks)
            if resamples:
                steps[missing] = self._n_steps(n_step, missing.size)
            missing = missing[self._left(rows[missing]) < steps[missing]]
            resamples += missing.size
            if missing.size and resamples > 100 * count:
                self._check_long_enough(n_step)
        return rows, steps, resamples

    def _check_long_enough(self, n_step: NStep) -> None:
        least = n_step if isinstance(n_step, int) else n_step[0]
        longest = max(map(len, self._held.values()))
        if longest < least:
            raise EpisodeError(
                f"no episode in the replay buffer has {least} steps",
                found=f"{longest} at most",
                hint="sample more steps before learning starts, or set a smaller n_step.",
            )

    def update_priorities(self, priorities: Any, module_id: str | None = None) -> None:
        """Give the steps that were drawn last other priorities, such as their TD errors.

        Args:
            priorities: One for each step, in the order in which they were drawn.
            module_id: Kept for RLlib's sake: there is one module.

        Raises:
            EpisodeError: There are more or fewer than steps were drawn.
        """
        values = np.maximum(np.asarray(priorities, np.float64).reshape(-1), _LEAST)
        if len(values) != len(self._last_drawn):
            raise EpisodeError(
                "update_priorities() takes a number for each step that was drawn last",
                expected=f"{len(self._last_drawn)} numbers",
                found=str(len(values)),
                hint="call it once after each sample().",
            )
        rows, self._last_drawn = self._last_drawn, np.empty(0, np.int64)
        is_held = self._rows.after[rows] >= 0
        if len(rows):
            self._priorities.set(rows[is_held], values[is_held] ** self._alpha)
            self._max_priority = max(self._max_priority, float(values.max()))

    # State

    @override
    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "max_priority": self._max_priority}

    @override
    def _columns_of(self, held: Sequence[HeldEpisode]) -> EpisodeColumns:
        made = super()._columns_of(held)
        rows = np.concatenate([each.row_numbers(0, -1) for each in held])
        made.columns[_PRIORITY] = self._priorities.get(rows)
        return made

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._last_drawn = np.empty(0, np.int64)
        with at("max_priority"):
            self._max_priority = float(state.get("max_priority", state.get("_max_priority", 1.0)))
