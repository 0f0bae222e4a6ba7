"""What a policy makes of recorded steps: how probable it finds the actions that were taken.

Observations pass through the policy's own connectors, filters and memories in the order of the
episode. What it remembers of its own actions are the recorded ones, not those that it would have
taken in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from ...core import nest
from ...core.arrays.padding import places_by_time
from ...core.types import Array, Nest
from ...offline.recordings import Recordings

_SIDE_BY_SIDE: Final = 256


@dataclass(frozen=True)
class Manner:
    """How recorded data is to be taken, and the policy beside it.

    Args:
        is_seen: Whether observations are as a network sees them, behind connectors.
        is_normalized: Whether actions are as a network gives them, bounded ones in -1 to 1; those
            of an environment otherwise.
        is_greedy: Whether the policy is judged as one that always takes its best action.
        draws: How many actions the policy is to draw at each step, where they are not few.
    """

    is_seen: bool = False
    is_normalized: bool = True
    is_greedy: bool = False
    draws: int = 0


@dataclass(frozen=True)
class Answers:
    """What a policy makes of rows, or of recorded episodes.

    Args:
        chances: How probable each recorded action is, a density where actions are continuous; None
            where the policy takes one of those for sure.
        all_chances: How probable each possible action is, `(B, n)`; None unless they are few.
        seen: The observations as the network sees them.
        done: Recorded actions as the environment took them, a vector each, `(B, d)`.
        draws: Actions that the policy draws in their place, `(B, k, d)`; None unless asked for.
    """

    chances: Array | None
    all_chances: Array | None
    seen: Array
    done: Array | None = None
    draws: Array | None = None

    def by_episode(self, lengths: Array) -> Iterator[Answers]:
        """Those of each episode, with so many steps each and one observation more."""
        stop = 0
        for size in (lengths + 1).tolist():
            rows = slice(stop, stop + size)
            yield _answers(None if column is None else column[rows] for column in _columns(self))
            stop += size


class Watcher(Protocol):
    """A policy that watches others act.

    Attributes:
        remembers: Whether an answer depends on earlier steps.
    """

    remembers: bool

    def begin(self, count: int) -> None:
        """Forget everything; so many episodes begin."""

    def step(self, obs: Nest, rewards: Array, actions: Nest) -> Answers:
        """The next step of the first `B` episodes.

        Rewards, `(B,)`, are what the step before earned; the policy remembers the recorded actions
        as its own.
        """


def answers_to(watcher: Watcher, recordings: Recordings) -> Answers:
    """What a policy makes of each observation of some episodes.

    Of the last one, after which nothing was done, the chance of the last action is given.
    """
    rows = len(recordings.rewards) + len(recordings)
    acted = np.arange(rows) - np.repeat(np.arange(len(recordings)), recordings.lengths + 1)
    acted[recordings.here[recordings.is_step_last] + 1] -= 1
    done = nest.taken(recordings.actions, acted)
    earned = np.zeros(rows)
    earned[recordings.here + 1] = recordings.rewards
    if watcher.remembers:
        return _in_turn(watcher, recordings, earned, done)
    return watcher.step(recordings.observations, earned, done)


def _in_turn(watcher: Watcher, recordings: Recordings, earned: Array, done: Nest) -> Answers:
    """Episodes side by side, the longest first, so that those that go on are the first ones."""
    collected: Answers | None = None
    begin = 0
    for start in range(0, len(recordings), _SIDE_BY_SIDE):
        sizes = recordings.lengths[start : start + _SIDE_BY_SIDE] + 1
        watcher.begin(len(sizes))
        for own_places in places_by_time(sizes):
            places = own_places + begin
            answers = watcher.step(
                nest.taken(recordings.observations, places),
                earned[places],
                nest.taken(done, places),
            )
            if collected is None:
                collected = _answers(_room(column, len(earned)) for column in _columns(answers))
            for column, part in zip(_columns(collected), _columns(answers), strict=True):
                if column is not None:
                    column[places] = part
        begin += int(sizes.sum())
    assert collected is not None  # every episode has an observation
    return collected


def joined_answers(parts: Sequence[Answers]) -> Answers:
    """Rows of answers, one part after the other."""
    columns = zip(*map(_columns, parts), strict=True)
    return _answers(None if rows[0] is None else np.concatenate(rows) for rows in columns)


def _columns(answers: Answers) -> list[Any]:
    return [*vars(answers).values()]


def _answers(columns: Iterable[Any]) -> Answers:
    return Answers(*columns)


def _room(column: Any, rows: int) -> Any:
    return None if column is None else np.empty((rows, *column.shape[1:]), column.dtype)
