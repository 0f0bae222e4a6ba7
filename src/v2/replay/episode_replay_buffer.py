"""A buffer of episodes from which single steps, or sequences of them, are drawn."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from ...core.columns import Columns
from ...core.data.checked import count
from ...core.data.damage import at
from ...core.errors import ConfigError, EpisodeError
from ...core.types import Array, Nest
from ..envs.generator_states import generator_state, set_generator_state
from ..episodes.lookback_buffer import InfiniteLookbackBuffer
from ..episodes.single_agent import SingleAgentEpisode
from .buffer_counts import N_STEP_KEYS, UTILIZATION_KEYS
from .held_episodes import PLACE, SLOT, HeldEpisode, HeldEpisodes
from .steps import Steps

NStep = int | tuple[int, int]
"""A number of steps, or the least and one more than the most of a random one."""

_WEIGHTS, _N_STEP = "weights", "n_step"
_IGNORED = frozenset({"alpha", "beta"})


class EpisodeReplayBuffer(HeldEpisodes):
    """Holds the steps of episodes in columns and draws among them, each as likely.

    Stretches of one episode that come one after the other become one episode. Whole episodes go,
    the oldest first, once there are more steps than the capacity. The last one stays even if it
    has more; where it goes on, its oldest steps go.

    Args:
        capacity: How many steps it holds.
        batch_size_B: How many steps, or rows of steps, are drawn where nobody says how many.
        batch_length_T: How long rows are where nobody says; for rows only, see `sample`.
        metrics_num_episodes_for_smoothing: Over how many adds and samples means are taken.
        seed: Of what is drawn; by default nobody knows.
        **ignored: What other buffers take: `alpha` and `beta`. Anything else is told.

    Attributes:
        rng: What draws.

    Example:
        >>> buffer = EpisodeReplayBuffer(capacity=100, seed=0)
        >>> buffer.add(SingleAgentEpisode("a", observations=[0, 1, 2], actions=[0, 1],
        ...     rewards=[1.0, 2.0], terminated=True, len_lookback_buffer=0))
        >>> drawn = buffer.sample(4, n_step=2, gamma=0.5, sample_episodes=True)
        >>> len(buffer), len(drawn), sorted({float(e.get_rewards(0)) for e in drawn})
        (2, 4, [2.0])
    """

    def __init__(
        self,
        capacity: int = 10_000,
        *,
        batch_size_B: int = 16,
        batch_length_T: int = 64,
        metrics_num_episodes_for_smoothing: int = 100,
        seed: Any = None,
        **ignored: Any,
    ) -> None:
        unknown = [name for name in ignored if name not in _IGNORED]
        if unknown:
            warnings.warn(
                f"{type(self).__name__} has no setting {', '.join(map(repr, unknown))}: it changes "
                "nothing.",
                UserWarning,
                stacklevel=2,
            )
        super().__init__(capacity, metrics_num_episodes_for_smoothing)
        self.batch_size_B = batch_size_B
        self.batch_length_T = batch_length_T
        self.rng = np.random.default_rng(seed)
        self._sampled = 0

    def get_sampled_timesteps(self, module_id: str | None = None) -> int:
        """Give how many steps were ever drawn."""
        return self._sampled

    def get_metrics(self) -> dict[str, Any]:
        """Give what came, went and was drawn since the last call, for a MetricsLogger."""
        return self._counts.reduce()

    # Drawing

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
        sample_episodes: bool | None = False,
        to_numpy: bool = False,
        lookback: int = 0,
        min_batch_length_T: int = 0,
        **_: Any,
    ) -> Any:
        """Draw steps, sequences of steps, or rows of so many steps.

        Args:
            num_items: How many steps; or `batch_size_B`, which is the same.
            batch_size_B: How many steps; the buffer's own where neither says.
            batch_length_T: How long sequences are; 0 or None for single steps.
            n_step: How many steps become one: it earns the discounted sum of their rewards and
                leads to where they lead. With `(least, end)` each has a random number below `end`.
                Where the episode stops earlier, there are less.
            beta: For buffers with priorities.
            gamma: The discount.
            include_infos: Whether single steps have infos; of this buffer they always do.
            include_extra_model_outputs: Whether single steps have the module's outputs.
            sample_episodes: Whether to give episodes; otherwise arrays of `(B, T)`.
            to_numpy: Whether the items of episodes are arrays.
            lookback: How many steps before a sequence are its look-back.
            min_batch_length_T: How many steps have to follow the first one of a sequence.
            **_: For RLlib's sake.

        Returns:
            With `sample_episodes`, episodes of one step each or of one sequence each, in which the
            outputs `n_step` and `weights` tell the number of steps and how much each counts;
            otherwise a dict of rows that go on with another episode where one ends.

        Raises:
            EpisodeError: There is no step to draw.
            ConfigError: Both numbers of items, or an impossible `n_step`.
        """
        size = self._count(num_items, batch_size_B)
        if not sample_episodes:
            return self._sample_rows(size, batch_length_T or self.batch_length_T)
        if batch_length_T:
            if n_step not in (None, 1):
                raise ConfigError("sequences are of single steps", expected="n_step=1")
            return self._sample_sequences(size, batch_length_T, lookback, min_batch_length_T)
        rows = self._draw(size)
        steps = self._n_steps(n_step or 1, size)
        if n_step not in (None, 1):
            steps = np.minimum(steps, self._left(rows))
        weights = np.ones(size, np.float32)
        return self._given(
            rows, steps, weights, gamma, True, include_extra_model_outputs, 0, to_numpy
        )

    def _count(self, num_items: int | None, batch_size_B: int | None) -> int:
        if num_items is not None and batch_size_B is not None:
            raise ConfigError(
                "sample() takes one of num_items and batch_size_B, which are the same"
            )
        if not self._steps:
            raise EpisodeError("the replay buffer is empty: there is no step to draw")
        return num_items or batch_size_B or self.batch_size_B

    def _n_steps(self, n_step: NStep, count: int) -> Array:
        if isinstance(n_step, (tuple, list)):
            least, end = n_step
            if not 1 <= least <= end:
                raise ConfigError("n_step", expected="(least, end) from 1 on", found=repr(n_step))
            return self.rng.integers(least, max(end, least + 1), count)
        if n_step < 1:
            raise ConfigError("n_step", expected="at least 1", found=repr(n_step))
        return np.full(count, n_step, np.int64)

    def _draw(self, count: int) -> Array:
        """Rows of steps, each as likely as any other."""
        after, used = self._rows.after, self._rows.used
        if 2 * self._steps < used:
            steps = np.flatnonzero(after[:used] >= 0)
            return steps[self.rng.integers(len(steps), size=count)]
        rows = self.rng.integers(used, size=count)
        while (is_free := after[rows] < 0).any():
            wrong = np.flatnonzero(is_free)
            rows[wrong] = self.rng.integers(used, size=wrong.size)
        return rows

    def _left(self, rows: Array) -> Array:
        """How many steps each row's episode has from it on."""
        columns: Any = self._rows.columns
        steps_left: Array = self._ends[columns[SLOT][rows]] - columns[PLACE][rows]
        return steps_left

    def _given(
        self,
        rows: Array,
        steps: Array,
        weights: Array,
        gamma: float,
        has_infos: bool,
        has_outputs: bool,
        resamples: int,
        to_numpy: bool = False,
    ) -> Any:
        """What becomes of rows: single steps, each of so many."""
        held_rows = self._rows
        columns: Any = held_rows.columns
        last, rewards = rows, columns[Columns.REWARDS][rows]
        if (most := int(steps.max())) > 1:
            chained = held_rows.chain(rows, most)
            is_there = np.arange(most) < steps[:, None]
            last = chained[np.arange(len(rows)), steps - 1]
            earned = columns[Columns.REWARDS][chained].astype(np.float64)
            rewards = np.where(is_there, earned * gamma ** np.arange(most), 0.0).sum(axis=1)
        after = held_rows.after[last]
        columns_made: dict[str, Nest] = {
            Columns.OBS: held_rows.read(Columns.OBS, rows),
            Columns.NEXT_OBS: held_rows.read(Columns.OBS, after),
            Columns.ACTIONS: held_rows.read(Columns.ACTIONS, rows),
            Columns.REWARDS: rewards,
            Columns.TERMINATEDS: columns[Columns.TERMINATEDS][last],
            Columns.TRUNCATEDS: columns[Columns.TRUNCATEDS][last],
            _N_STEP: steps,
            _WEIGHTS: weights,
        }
        if has_outputs:
            columns_made.update(self._outputs(rows))
        first_infos: Sequence[Any] = ()
        if has_infos and Columns.INFOS in columns:
            first_infos, columns_made[Columns.INFOS] = self._infos(rows), self._infos(after)
        slots = columns[SLOT][rows]
        self._count_sample(rows, slots, steps, resamples)
        episodes = [self._by_slot[slot] for slot in slots.tolist()]
        drawn = Steps(
            columns_made,
            [each.id_ for each in episodes],
            started=columns[PLACE][rows],
            first_infos=first_infos,
            settings=[each.settings for each in episodes],
        )
        return [each.to_numpy() for each in drawn] if to_numpy else drawn

    def _count_sample(self, rows: Array, slots: Array, steps: Array, resamples: int = 0) -> None:
        count, distinct = len(rows), len(set(rows.tolist()))
        self._sampled += count
        self._counts.log("steps_sampled", count, has_lifetime=True)
        self._counts.log("episodes_per_sample", len(set(slots.tolist())))
        self._counts.log("steps_per_sample", distinct, has_lifetime=True)
        self._counts.log("resamples", resamples)
        self._counts.note(UTILIZATION_KEYS, distinct / count)
        self._counts.note(N_STEP_KEYS, float(steps.sum()) / count)

    def _sample_sequences(
        self, count: int, length: int, lookback: int, shortest: int
    ) -> list[SingleAgentEpisode]:
        """Stretches that have so many steps at least, altogether."""
        firsts: list[Array] = []
        lens: list[Array] = []
        steps = resamples = 0
        ends = self._ends
        if shortest and not any(
            ends[episode.slot] - episode.first > shortest for episode in self._held.values()
        ):
            raise EpisodeError(
                f"no episode in the replay buffer has more than {shortest} steps to draw from",
                hint="wait until there is one, or set a smaller burn_in_len.",
            )
        while steps < count:
            rows = self._draw(max(1, (count - steps) // length))
            steps_left = self._left(rows)
            if shortest:
                resamples += int((steps_left <= shortest).sum())
                rows, steps_left = rows[steps_left > shortest], steps_left[steps_left > shortest]
            firsts.append(rows)
            lens.append(np.minimum(steps_left, length))
            steps += int(lens[-1].sum())
        rows, step_counts = np.concatenate(firsts), np.concatenate(lens)
        columns: Any = self._rows.columns
        slots = columns[SLOT][rows]
        places = columns[PLACE][rows]
        self._count_sample(rows, slots, np.ones_like(rows), resamples)
        chosen = [
            (episode := self._by_slot[slot], place - episode.first, number)
            for slot, place, number in zip(
                slots.tolist(), places.tolist(), step_counts.tolist(), strict=True
            )
        ]
        return self._as_sequences(chosen, lookback)

    def _as_sequences(
        self, chosen: Sequence[tuple[HeldEpisode, int, int]], lookback: int
    ) -> list[SingleAgentEpisode]:
        """So many steps of episodes from some step on."""
        episodes = [
            self._episode_of(source, first, first + n, lookback) for source, first, n in chosen
        ]
        for episode in episodes:
            length_in_all = len(episode.rewards.raw)
            for name, dtype in ((_N_STEP, np.int64), (_WEIGHTS, np.float32)):
                episode.extra_model_outputs[name] = InfiniteLookbackBuffer(
                    np.ones(length_in_all, dtype), lookback=episode.rewards.lookback
                )
        return episodes

    def _sample_rows(self, count: int, length: int) -> dict[str, Nest]:
        """Rows of so many observations; where an episode ends, another one begins."""
        shape = (count, length)
        flags = {name: np.zeros(shape, bool) for name in _FLAGS}
        obs_rows, acted = np.empty(shape, np.int64), np.empty(shape, np.int64)
        earned = np.full(shape, -1, np.int64)
        columns: Any = self._rows.columns
        drawn: list[int] = []
        for row in range(count):
            filled = 0
            while filled < length:
                first = int(self._draw(1)[0])
                drawn.append(first)
                episode = self._by_slot[int(columns[SLOT][first])]
                start = 0 if filled else int(columns[PLACE][first]) - episode.first
                own_rows = episode.row_numbers(start, start + length - filled)
                end = filled + len(own_rows)
                obs_rows[row, filled:end] = own_rows
                acted[row, filled:end] = own_rows
                is_whole = start + len(own_rows) == len(episode.rows)
                if is_whole:  # With the last observation the last action is told again.
                    acted[row, end - 1] = episode.rows[-2]
                earned[row, filled + 1 : end] = own_rows[:-1]
                if start:
                    earned[row, filled] = episode.rows[start - 1]
                flags["is_first"][row, filled] = flags["is_last"][row, end - 1] = True
                if is_whole:
                    last = episode.rows[-2]
                    flags["is_terminated"][row, end - 1] = columns[Columns.TERMINATEDS][last]
                    flags["is_truncated"][row, end - 1] = columns[Columns.TRUNCATEDS][last]
                filled = end
        rows = np.array(drawn)
        self._count_sample(rows, columns[SLOT][rows], np.ones_like(rows))
        self._sampled += count * length - len(rows)
        return {
            Columns.OBS: self._rows.read(Columns.OBS, obs_rows),
            Columns.ACTIONS: self._rows.read(Columns.ACTIONS, acted),
            Columns.REWARDS: np.where(earned < 0, 0.0, columns[Columns.REWARDS][earned]),
            **flags,
        }

    # State

    @override
    def get_state(self) -> dict[str, Any]:
        """Return the contents and the state of the random generator."""
        return {
            **super().get_state(),
            "sampled_timesteps": self._sampled,
            "rng": generator_state(self.rng),
        }

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave, or what that of RLlib's buffer did."""
        super().set_state(state)
        self._sampled = count(state["sampled_timesteps"])
        if "rng" in state:
            with at("rng"):
                set_generator_state(self.rng, state["rng"])


_FLAGS = ("is_first", "is_last", "is_terminated", "is_truncated")
