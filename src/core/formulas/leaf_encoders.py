"""Encoders from one leaf of an observation to floats: identity, one-hot, RAM, pixels, repeated.

Every encoder supports any leading axes, in numpy or torch. `encode` returns the floats; `write`
writes them into a block of a zeroed output row, without a copy. A plan for a complete space
(`core.formulas.preprocessors`) combines encoders.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from typing_extensions import override

from .. import array_namespace as xp
from ..arrays.batching import batch
from ..arrays.one_hot import as_indices, check_indices, index_rows, outside
from ..arrays.resizing import AreaResizer, Size, SmoothResizer
from ..errors import SpaceError
from ..types import Array

_READY: Final = 256


class LeafEncoder:
    """Base of the encoders of one leaf.

    One value has `item_shape`, behind any leading axes, and gives `size` floats.
    """

    item_shape: tuple[int, ...]
    size: int

    def encode(self, values: Any) -> Any:
        """Floats for values of shape `(..., *item_shape)`."""
        raise NotImplementedError

    def write(self, values: Any, out: Array) -> None:
        """The same for values of shape `(rows, *item_shape)`, into zeros `(rows, size)`."""
        out[:] = self.encode(np.asarray(values)).reshape(out.shape)

    def write_one(self, value: Any, out: Array) -> None:
        """The same for one value, into zeros `(size,)`: the step of a single environment."""
        self.write(value, out)

    def flat(self, value: Any) -> Array | None:
        """The numbers of one value as an array that is at hand; None where there is none."""
        return None


class FlatEncoder(LeafEncoder):
    """The values themselves, flattened to float32."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.item_shape = tuple(int(n) for n in shape)
        self.size = int(np.prod(self.item_shape))

    def encode(self, values: Any) -> Any:
        """The values as float32, on one last axis."""
        lead = values.shape[: values.ndim - len(self.item_shape)]
        return xp.cast(values, np.float32).reshape((*lead, self.size))

    @override
    def write(self, values: Any, out: Array) -> None:
        if type(values) is not np.ndarray:
            out[:] = np.reshape(values, out.shape)
        elif values.shape == out.shape:
            out[:] = values
        else:
            out[:] = values.reshape(out.shape)

    @override
    def flat(self, value: Any) -> Array | None:
        if type(value) is not np.ndarray or value.shape != self.item_shape:
            return None
        return value if value.ndim == 1 else value.ravel()


class OneHotEncoder(LeafEncoder):
    """One-hot encoding of a Discrete or MultiDiscrete leaf.

    Without `wraps`, the lowest value has index 0. With it, the index is the value modulo the size,
    as in RLlib's FlattenObservations for all values that it accepts.
    """

    def __init__(self, sizes: Array, start: Any, shape: Sequence[int], *, wraps: bool) -> None:
        self.item_shape = tuple(int(n) for n in shape)
        self.sizes: Final = np.asarray(sizes, np.int64).reshape(-1)
        self.start: Final = np.asarray(start, np.int64).reshape(-1) + np.zeros_like(self.sizes)
        self.wraps: Final = wraps
        self.size = int(self.sizes.sum())
        self._counts: list[int] = self.sizes.tolist()
        self._places = np.cumsum(self.sizes) - self.sizes
        self._is_single = self.item_shape == ()
        self._first = int(self.start[0]) if self._is_single else 0

    @classmethod
    def of(cls, space: Any, *, wraps: bool) -> OneHotEncoder:
        """The encoder of a Discrete or MultiDiscrete space."""
        if isinstance(space, spaces.Discrete):
            return cls(np.array([space.n]), space.start, (), wraps=wraps)
        return cls(space.nvec, getattr(space, "start", 0), space.shape, wraps=wraps)

    def encode(self, values: Any) -> Any:
        """One-hot rows as float32."""
        lead = values.shape[: values.ndim - len(self.item_shape)]
        parts = values.reshape((*lead, len(self.sizes)))
        if not xp.is_tensor(values):
            out = np.zeros((*lead, self.size), np.float32)
            self.write(values, out.reshape(-1, self.size))
            return out
        parts = parts.long() - xp.constant(self._origin, values)
        parts = parts % xp.constant(self.sizes, values) if self.wraps else parts
        rows = [index_rows(parts[..., i], count) for i, count in enumerate(self._counts)]
        return xp.cast(xp.concatenate(rows, -1), np.float32)

    def write(self, values: Any, out: Array) -> None:
        """Set the ones in `out`; a value outside its space is refused."""
        if self._is_single:
            places = as_indices(values).reshape(len(out))
            check_indices(places - self._first if self._first else places, self.size)
            places = places % self.size if self.wraps else places - self._first
            out[np.arange(len(out)), places] = 1.0
            return
        indices = as_indices(values).reshape(len(out), len(self.sizes)) - self.start
        check_indices(indices, self.sizes)
        if self.wraps:
            indices = (indices + self.start) % self.sizes
        out[np.arange(len(out))[:, None], indices + self._places] = 1.0

    def write_one(self, value: Any, out: Array) -> None:
        """Set the ones of one value in `out`."""
        if self._is_single:
            index = operator.index(value) - self._first
            self._check(index, index)
            out[self._place(index)] = 1.0
        else:
            self.write(np.asarray(value)[None], out[None])

    @override
    def flat(self, value: Any) -> Array | None:
        is_index = isinstance(value, (int, np.integer))
        return self.rows.get(value) if is_index else None

    def _check(self, lowest: int, highest: int) -> None:
        """Refuse indices of a Discrete leaf, counted from its lowest value, outside of it."""
        if lowest < 0 or highest >= self.size:
            raise outside(lowest if lowest < 0 else highest, self.size)

    def _place(self, index: int) -> int:
        """The place of the one in the row of a Discrete leaf's value."""
        return (index + self._first) % self.size if self.wraps else index

    @cached_property
    def rows(self) -> dict[int, Array]:
        """The floats of each value of a Discrete leaf, not to be changed; {} where it has many."""
        if not self._is_single or self.size > _READY:
            return {}
        eye = np.eye(self.size, dtype=np.float32)
        return {index + self._first: eye[self._place(index)] for index in range(self.size)}

    @property
    def _origin(self) -> Array:
        return np.zeros_like(self.start) if self.wraps else self.start


class RamEncoder(LeafEncoder):
    """The 128 bytes of an Atari console, scaled to [-1, 1)."""

    item_shape = (128,)
    size = 128

    def encode(self, values: Any) -> Any:
        """(values - 128) / 128 as float32."""
        return (xp.cast(values, np.float32) - 128.0) / 128.0


class PixelEncoder(LeafEncoder):
    """An Atari screen: cropped, resized, optionally gray, scaled.

    With `zero_mean` the result is (x - 128) / 128 instead of x / 255. RLlib used OpenCV ("cv2") if
    it was installed, else scikit-image ("skimage") until 2.10. The results differ a lot, because
    scikit-image scales to 0..1.
    """

    def __init__(
        self,
        shape: Sequence[int],
        *,
        dim: int,
        grayscale: bool,
        zero_mean: bool,
        image_backend: str,
    ) -> None:
        self.item_shape = tuple(int(n) for n in shape)
        height, width, channels = self.item_shape
        self.shape: Final = (dim, dim, 1 if grayscale else channels)
        self.size = int(np.prod(self.shape))
        self.grayscale: Final = grayscale
        self.zero_mean: Final = zero_mean
        # A small picture is reached in two steps.
        sizes: list[Size] = [(height - 50, width), *([(84, 84)] if dim < 84 else []), (dim, dim)]
        self._resizers: list[Callable[[Any], Any]]
        if image_backend == "cv2":
            pairs = pairwise(sizes)
            self._resizers = [AreaResizer(old, new) for old, new in pairs]
        elif image_backend == "skimage":
            self._resizers = [SmoothResizer(sizes)]
        else:
            raise SpaceError(
                "no such image backend", expected="'cv2' or 'skimage'", found=repr(image_backend)
            )

    def encode(self, values: Any) -> Any:
        """Pictures of shape `(..., dim, dim, channels)`."""
        frames = values[..., 25:-25, :, :]
        for resize in self._resizers:
            frames = resize(frames)
        if self.grayscale:
            frames = xp.cast(_floats(frames).mean(-1), np.float32)[..., None]
        if self.zero_mean:
            # OpenCV leaves colour frames in 8 bits, and RLlib subtracts there: it wraps around.
            return _floats(frames - 128) / 128
        return _floats(frames) / 255


def _floats(frames: Any) -> Any:
    return xp.cast(frames, np.float64) if "int" in str(frames.dtype) else frames


class RepeatedEncoder(LeafEncoder):
    """A list of at most `max_len` items: their number, then each item, then zeros.

    `encode_items` gives floats `(items, item_size)` for a batch of items.
    """

    item_shape = ()

    def __init__(self, encode_items: Callable[[Any], Array], item_size: int, max_len: int) -> None:
        self._encode_items = encode_items
        self.item_size: Final = item_size
        self.max_len: Final = max_len
        self.size = 1 + item_size * max_len

    def encode(self, values: Sequence[Sequence[Any]]) -> Array:
        """Rows for a sequence of lists, as float64: what RLlib gives for such a space alone."""
        out = np.zeros((len(values), self.size))
        self.write(values, out)
        return out

    def write(self, values: Sequence[Sequence[Any]], out: Array) -> None:
        """Put counts and items of each list into `out`."""
        counts = np.fromiter(map(len, values), np.int64, len(values))
        if counts.size and counts.max() > self.max_len:
            raise SpaceError(
                "a list is longer than its space allows",
                expected=f"at most {self.max_len} items",
                found=str(counts.max()),
            )
        out[:, 0] = counts
        if not counts.any():
            return
        items = np.zeros((len(values), self.max_len, self.item_size), out.dtype)
        is_item = np.arange(self.max_len) < counts[:, None]
        items[is_item] = self._encode_items(batch(list(chain.from_iterable(values))))
        out[:, 1:] = items.reshape(len(values), -1)

    def write_one(self, value: Sequence[Any], out: Array) -> None:
        """Put count and items of one list into `out`."""
        self.write([value], out[None])
