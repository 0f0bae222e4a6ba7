"""The three spaces RLlib adds to gymnasium's, with RLlib's constructors.

They appear in old checkpoints and in users' environments. Here they are small: enough to hold,
compare, sample and describe; RLlib's own classes are recognised beside them by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import gymnasium as gym
import numpy as np
from numpy.typing import DTypeLike

from ..types import Array


class Simplex(gym.Space[Array]):
    """Points whose last axis holds non-negative shares that sum to one.

    Args:
        shape: Shape of a point; the last axis is the one that sums to one.
        concentration: Dirichlet parameters to sample with, one per share; all ones by default.
        dtype: Dtype of a point.

    Example:
        >>> Simplex((3,)).contains(np.array([0.5, 0.25, 0.25], np.float32))
        True
    """

    def __init__(
        self,
        shape: Sequence[int],
        concentration: Array | Sequence[float] | None = None,
        dtype: DTypeLike = np.float32,
    ) -> None:
        if not len(shape):
            raise ValueError("a Simplex needs at least one axis: expected e.g. (3,), found ().")
        super().__init__(tuple(int(size) for size in shape), np.dtype(dtype))
        self.dim: Final = int(shape[-1])
        if concentration is None:
            concentration = np.ones(self.dim, np.int64)
        self.concentration: Final[Array] = np.asarray(concentration)
        if self.concentration.shape != (self.dim,):
            raise ValueError(
                f"a Simplex needs one concentration per share: expected shape ({self.dim},), "
                f"found {self.concentration.shape}."
            )

    @property
    def is_np_flattenable(self) -> bool:
        """True: a point can become a flat vector."""
        return True

    def sample(self, *_: Any, **__: Any) -> Array:
        """A random point, drawn from the Dirichlet distribution."""
        assert self.shape is not None
        point = self.np_random.dirichlet(self.concentration, size=self.shape[:-1])
        return np.asarray(point, self.dtype)

    def contains(self, x: Any) -> bool:
        """True if `x` has the right shape and holds shares that sum to one."""
        return (
            isinstance(x, np.ndarray)
            and x.shape == self.shape
            and x.dtype.kind == "f"
            and bool(np.all(x >= 0))
            and np.allclose(np.sum(x, axis=-1), 1.0, atol=1e-5)
        )

    def to_jsonable(self, sample_n: Iterable[Array]) -> list[Any]:
        """Points as nested lists."""
        return [np.asarray(sample).tolist() for sample in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[Array]:
        """Points from nested lists."""
        return [np.asarray(sample, self.dtype) for sample in sample_n]

    def __repr__(self) -> str:
        return f"Simplex({self.shape}; {self.concentration})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Simplex)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and np.array_equal(self.concentration, other.concentration)
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, so it cannot be a key


class Repeated(gym.Space[list[Any]]):
    """Lists of up to `max_len` items of one space.

    Args:
        child_space: Space of one item.
        max_len: The longest list.

    Example:
        >>> Repeated(gym.spaces.Discrete(3), max_len=2).contains([0, 2])
        True
    """

    def __init__(self, child_space: gym.Space[Any], max_len: int) -> None:
        super().__init__()
        self.child_space: Final = child_space
        self.max_len: Final = max_len

    @property
    def is_np_flattenable(self) -> bool:
        """False: the length of a list varies, so that it cannot become a flat vector."""
        return False

    def sample(self, *_: Any, **__: Any) -> list[Any]:
        """A random list of one to `max_len` items."""
        length = int(self.np_random.integers(1, self.max_len + 1)) if self.max_len else 0
        return [self.child_space.sample() for _ in range(length)]

    def contains(self, x: Any) -> bool:
        """True if `x` is a list, short enough, of items of the child space."""
        return (
            isinstance(x, list)
            and len(x) <= self.max_len
            and all(self.child_space.contains(item) for item in x)
        )

    def __repr__(self) -> str:
        return f"Repeated({self.child_space}, {self.max_len})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Repeated)
            and self.max_len == other.max_len
            and self.child_space == other.child_space
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, so it cannot be a key


class FlexDict(gym.spaces.Dict):
    """A Dict space that may grow after it was made.

    Args:
        spaces: Spaces by key, or as pairs to keep their order; or give them as keywords.
        **spaces_kwargs: Spaces by name.

    Example:
        >>> space = FlexDict(a=gym.spaces.Discrete(2))
        >>> space["b"] = gym.spaces.Discrete(3)
        >>> list(space.spaces)
        ['a', 'b']
    """

    def __init__(
        self,
        spaces: Mapping[Any, gym.Space[Any]] | Sequence[tuple[Any, gym.Space[Any]]] | None = None,
        **spaces_kwargs: gym.Space[Any],
    ) -> None:
        if spaces and spaces_kwargs:
            raise ValueError("a FlexDict takes a mapping or keywords, not both.")
        # As in gymnasium's Dict a plain dict, keywords among them, is sorted by key.
        super().__init__(dict(spaces_kwargs) if spaces is None else cast("Any", spaces))

    def __setitem__(self, key: Any, value: gym.Space[Any]) -> None:
        if not isinstance(value, gym.Space):
            raise TypeError(f"FlexDict[{key!r}] must be a space, found {type(value).__name__}.")
        self.spaces[key] = value

    def __repr__(self) -> str:
        return "FlexDict(" + ", ".join(f"{key}:{space}" for key, space in self.spaces.items()) + ")"
