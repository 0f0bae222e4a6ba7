"""What a policy makes of recorded steps: how probable it finds the actions that were taken.

Observations pass through the policy's own connectors, filters and memories in the order of the
episode. What it remembers of its own actions are the recorded ones, not those that it would have
taken in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from ...core import nest
from ...core.arrays.padding import places_by_time
from ...core.types import Array, Nest
from ...offline.recordings import Recording

_SIDE_BY_SIDE: Final = 256


@dataclass(frozen=True)
class Manner:
    """How recorded data is to be taken, and the policy beside it.

    Args:
        is_seen: Whether observations are as a network sees them, behind connectors.
        is_normalized: Whether actions are as a network gives them, bounded ones in -1 to 1; those
            of an environment otherwise.
        is_greedy: Whether the policy is judged as one that always takes its best action.
    """

    is_seen: bool = False
    is_normalized: bool = True
    is_greedy: bool = False


@dataclass(frozen=True)
class Answers:
    """What a policy makes of rows, or of one recorded episode.

    Args:
        chances: How probable each recorded action is, a density where actions are continuous.
        all_chances: How probable each possible action is, `(B, n)`; None unless they are few.
        seen: The observations as the network sees them.
    """

    chances: Array
    all_chances: Array | None
    seen: Array


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

        Args:
            obs: What they observe.
            rewards: What the step before earned them, `(B,)`.
            actions: What was done there, which the policy remembers as its own.
        """


def answers_to(watcher: Watcher, recordings: Sequence[Recording]) -> Iterator[Answers]:
    """What a policy makes of each of some episodes.

    Of the last observation, after which nothing was done, the chance of the last action is given.
    """
    if not watcher.remembers:
        sizes = [len(each) + 1 for each in recordings]
        rows = nest.joined([each.observations for each in recordings])
        done = nest.joined([_with_last_again(each.actions) for each in recordings])
        yield from _parts(watcher.step(rows, np.zeros(sum(sizes)), done), sizes)
        return
    for start in range(0, len(recordings), _SIDE_BY_SIDE):
        yield from _in_turn(watcher, recordings[start : start + _SIDE_BY_SIDE])


def _in_turn(watcher: Watcher, recordings: Sequence[Recording]) -> Iterator[Answers]:
    """Episodes side by side, the longest first, so that those that go on are the first ones."""
    sizes = [len(each) + 1 for each in recordings]
    observations = nest.joined([each.observations for each in recordings])
    actions = nest.joined([_with_last_again(each.actions) for each in recordings])
    rewards = np.concatenate([np.append(0.0, each.rewards) for each in recordings])
    watcher.begin(len(recordings))
    collected: Answers | None = None
    for places in places_by_time(np.array(sizes)):
        found = watcher.step(
            nest.taken(observations, places), rewards[places], nest.taken(actions, places)
        )
        if collected is None:
            collected = Answers(*(_room(each, sum(sizes)) for each in _columns(found)))
        for whole, part in zip(_columns(collected), _columns(found), strict=True):
            if whole is not None:
                whole[places] = part
    assert collected is not None  # every episode has an observation
    return _parts(collected, sizes)


def _columns(answers: Answers) -> tuple[Any, Any, Any]:
    return answers.chances, answers.all_chances, answers.seen


def _room(column: Any, rows: int) -> Any:
    return None if column is None else np.empty((rows, *column.shape[1:]), column.dtype)


def _parts(answers: Answers, sizes: Sequence[int]) -> Iterator[Answers]:
    stop = 0
    for size in sizes:
        rows = slice(stop, stop + size)
        every = answers.all_chances
        yield Answers(
            answers.chances[rows], None if every is None else every[rows], answers.seen[rows]
        )
        stop += size


def _with_last_again(actions: Nest) -> Nest:
    return nest.map_structure(lambda leaf: np.concatenate([leaf, leaf[-1:]]), actions)
