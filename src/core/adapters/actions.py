"""Steps that turn the policy's actions into those of a changed environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from ..errors import PieceError
from .discrete import looked_up, table
from .features import InsertFeatures, SelectFeatures, appended
from .step import Bound, Step, step


@step("map_actions")
class MapActions(Step):
    """The environment's number for each of the policy's discrete actions.

    For actions that were renumbered, or came in addition: the policy never takes the new ones.

    Args:
        numbers: One for each action of the policy.
        size: How many actions the environment has; one more than the largest if None.
        start: The environment's first number.
    """

    numbers: Sequence[int]
    size: int | None = None
    start: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        end = max(self.numbers, default=0) + 1 if self.size is None else self.start + self.size
        if not self.numbers or min(self.numbers) < self.start or max(self.numbers) >= end:
            raise PieceError(
                "MapActions gives a number the environment does not know",
                expected=f"{self.start} <= number < {end}",
                found=f"{self.numbers}",
            )

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """One number for each action of the space."""
        size = max(self.numbers) + 1 - self.start if self.size is None else self.size
        return Bound(spaces.Discrete(size, start=self.start), *table(self, self._discrete(space)))


@step("extend_action")
class ExtendAction(Step):
    """Fixed values for dimensions of the action that the policy does not know.

    Args:
        values: One for each new dimension.
        positions: Where they are in the result; at the end if None.
    """

    values: Sequence[float]
    positions: Sequence[int] | None = None

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Insert as one inserts features; a Discrete becomes a MultiDiscrete."""
        if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
            return self._bind_numbers(space)
        box = self._vector(space)
        size = box.shape[0] + len(self.values)
        places = tuple(range(box.shape[0], size)) if self.positions is None else self.positions
        return InsertFeatures(places, self.values).bind(box)

    def _bind_numbers(self, space: Any) -> Bound:
        values = np.array(self.values)
        if self.positions is not None or (values < 0).any() or (values % 1).any():
            raise self.mismatch("whole numbers at the end", space)
        is_single = isinstance(space, spaces.Discrete)
        if (int(space.start) if is_single else np.any(getattr(space, "start", 0))) != 0:
            raise self.mismatch("numbers from 0 on", space)
        sizes = np.concatenate([np.atleast_1d(space.n if is_single else space.nvec), values + 1])

        def formula(value: Any, values: Any) -> Any:
            return appended(value[..., None] if is_single else value, values)

        out = spaces.MultiDiscrete(sizes.astype(np.int64))
        return Bound(out, formula, (values.astype(np.int64),))


@step("project_action")
class ProjectAction(Step):
    """Only some dimensions of the policy's action, in that order.

    Args:
        indices: Positions to keep; negative ones count from the end.
    """

    indices: Sequence[int]

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Select as one selects features."""
        if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
            indices = np.array(self.indices)
            reduced = spaces.MultiDiscrete(space.nvec[indices])
            return Bound(reduced, lambda value: value[..., indices])
        return SelectFeatures(self.indices).bind(space)


@step("mask_actions")
class MaskActions(Step):
    """Another action instead of those that may not be taken any more.

    Args:
        forbidden: Their numbers.
        instead: What is done instead.
    """

    forbidden: Sequence[int]
    instead: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.instead in self.forbidden:
            raise PieceError(
                "MaskActions replaces an action by a forbidden one",
                expected=f"instead not in {self.forbidden}",
                found=f"{self.instead}",
            )

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """A table in which the forbidden ones are replaced."""
        space = self._discrete(space)
        start, end = int(space.start), int(space.start + space.n)
        for number in (*self.forbidden, self.instead):
            if not start <= number < end:
                raise self.mismatch(f"an action {number}", space)
        numbers = [self.instead if n in self.forbidden else n for n in range(start, end)]
        return MapActions(tuple(numbers), int(space.n), start).bind(space)


@step("undiscretise")
class Undiscretise(Step):
    """A vector for each of the policy's discrete actions: the environment became continuous.

    Args:
        vectors: One for each action, all of one length.
        low: The environment's lower bound; the smallest entry if None.
        high: The environment's upper bound.
    """

    vectors: Sequence[Sequence[float]]
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({len(row) for row in self.vectors}) != 1:
            raise PieceError(
                "Undiscretise", expected="vectors of one length", found=f"{self.vectors}"
            )

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Look vectors up by number."""
        if not isinstance(space, spaces.Discrete) or space.n != len(self.vectors):
            raise self.mismatch(f"a Discrete of {len(self.vectors)} actions", space)
        vectors = np.array(self.vectors, np.float32)
        low = vectors.min() if self.low is None else self.low
        high = vectors.max() if self.high is None else self.high
        out = spaces.Box(low, high, (vectors.shape[1],), np.float32)
        return Bound(out, looked_up(int(space.start)), (vectors,))


@step("discretise")
class Discretise(Step):
    """The nearest of some vectors for a continuous action: the environment became discrete.

    Args:
        vectors: The policy's action that each of the environment's actions stands for.
        start: The number of the first.
    """

    vectors: Sequence[Sequence[float]]
    start: int = 0

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Measure squared distances; of two as near the first is taken."""
        box = self._vector(space)
        if {len(row) for row in self.vectors} != {box.shape[0]}:
            raise self.mismatch(f"vectors of length {box.shape[0]}", space)
        vectors = np.array(self.vectors, box.dtype)
        start = self.start

        def formula(value: Any, vectors: Any) -> Any:
            return ((value[..., None, :] - vectors) ** 2).sum(-1).argmin(-1) + start

        return Bound(spaces.Discrete(len(vectors), start=start), formula, (vectors,))
