"""Resize images like the two libraries that RLlib has used.

A resizer is built once for two sizes and keeps its weights as arrays. Frames have the shape
`(..., height, width, channels)`. `AreaResizer` gives what OpenCV's INTER_AREA gives, to the bit
where it shrinks and within one count where it enlarges 8-bit frames; `SmoothResizer` what
`skimage.transform.resize` gives by default: a Gaussian against aliasing, then linear
interpolation, with 8-bit frames scaled to 0..1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from .. import array_namespace as xp
from ..errors import SpaceError
from ..types import Array

Size = tuple[int, int]
"""Height and width in pixels."""


class AreaResizer:
    """Average over the area each new pixel covers, as `cv2.resize(..., INTER_AREA)` does.

    Sizes are height and width.

    Example:
        >>> AreaResizer((2, 2), (1, 1))(np.array([[[1], [2]], [[3], [4]]], np.uint8))
        array([[[3]]], dtype=uint8)
    """

    def __init__(self, source: Size, target: Size) -> None:
        self.source: Final = source
        self.target: Final = target
        shrinks = all(old >= new for old, new in zip(source, target, strict=True))
        taps = _area_taps if shrinks else _linear_taps
        self._rows, self._columns = (
            taps(old, new) for old, new in zip(source, target, strict=True)
        )
        # OpenCV halves 8-bit frames in integers, which rounds a half up; else a half goes to even.
        self._halves = source == (2 * target[0], 2 * target[1])

    def __call__(self, frames: Any) -> Any:
        """The frames in the target size, in the dtype given."""
        if self.source == self.target:
            return frames
        is_counted = not _is_floating(frames)
        levels = xp.cast(frames, np.float32) if is_counted else frames
        levels = _weighted(levels, self._columns, -2)
        levels = _weighted(levels, self._rows, -3)
        if not is_counted:
            return levels
        rounded = xp.namespace(levels)
        counts = rounded.floor(levels + 0.5) if self._halves else rounded.round(levels)
        return xp.cast_like(counts, frames)


class SmoothResizer:
    """Blur, then interpolate, as `skimage.transform.resize` of version 0.24 does by default.

    `sizes` are height and width of the frames given, of each step between, and of those wanted. All
    steps are linear, so they are multiplied into one matrix per axis.

    Example:
        >>> SmoothResizer([(4, 4), (2, 2)])(np.full((4, 4, 1), 255, np.uint8))[0, 0]
        array([1.])
    """

    def __init__(self, sizes: Sequence[Size]) -> None:
        self.source: Final = sizes[0]
        self.target: Final = sizes[-1]
        self._rows, self._columns = np.eye(sizes[0][0]), np.eye(sizes[0][1])
        for old, new in pairwise(sizes):
            self._rows = _smooth_matrix(old[0], new[0]) @ self._rows
            self._columns = _smooth_matrix(old[1], new[1]) @ self._columns

    def __call__(self, frames: Any) -> Any:
        """The frames in the target size: float32 for float32, else float64 in 0..1."""
        levels = xp.cast(frames, np.float64)
        if not _is_floating(frames):
            if not str(frames.dtype).endswith("uint8"):
                raise SpaceError(
                    "these frames have no known scale",
                    expected="uint8 or floats",
                    found=str(frames.dtype),
                )
            levels = levels / 255.0
        *lead, height, width, channels = levels.shape
        flat = levels.reshape((*lead, height, width * channels))
        flat = xp.constant(self._rows, levels) @ flat
        levels = xp.constant(self._columns, levels) @ flat.reshape(
            (*lead, self.target[0], width, channels)
        )
        return xp.cast_like(levels, frames) if _is_floating(frames) else levels


def _is_floating(frames: Any) -> bool:
    return "float" in str(frames.dtype)


def _weighted(frames: Any, taps: tuple[Array, Array], axis: int) -> Any:
    indices, weights = taps
    shape = (-1,) + (1,) * (-axis - 1)
    total = None
    # In this order and precision OpenCV adds up, so equal bits come out.
    for column in range(indices.shape[1]):
        picked = xp.constant(indices[:, column], frames)
        pixels = frames[..., picked, :, :] if axis == -3 else frames[..., picked, :]
        part = pixels * xp.constant(weights[:, column].reshape(shape), frames)
        total = part if total is None else total + part
    return total


def _area_taps(source: int, target: int) -> tuple[Array, Array]:
    scale = source / target
    starts = np.arange(target) * scale
    ends = starts + scale
    covered = np.minimum(scale, source - starts)
    last = np.minimum(np.floor(ends).astype(np.intp), source - 1)
    first = np.minimum(np.ceil(starts).astype(np.intp), last)
    lead = np.where(first - starts > 1e-3, (first - starts) / covered, 0.0)
    tail = np.minimum(np.minimum(ends - last, 1.0), covered) / covered
    tail = np.where(ends - last > 1e-3, tail, 0.0)
    inner = np.arange(int(np.ceil(scale)) + 1)
    is_inner = first[:, None] + inner < last[:, None]
    indices = np.column_stack([first - 1, first[:, None] + inner, last])
    weights = np.column_stack([lead, np.where(is_inner, 1.0 / covered[:, None], 0.0), tail])
    used = weights.any(axis=0)
    return np.clip(indices[:, used], 0, source - 1), weights[:, used].astype(np.float32)


def _linear_taps(source: int, target: int) -> tuple[Array, Array]:
    places = np.arange(target)
    first = np.floor(places * (source / target)).astype(np.intp)
    share = (places + 1) - (first + 1) * (target / source)
    share = np.where(share <= 0, 0.0, share - np.floor(share))
    share = np.where(first >= source - 1, 0.0, share)
    indices = np.column_stack([first, first + 1])
    weights = np.column_stack([1.0 - share, share])
    return np.clip(indices, 0, source - 1), weights.astype(np.float32)


def _smooth_matrix(source: int, target: int) -> Array:
    centres = (np.arange(target) + 0.5) * (source / target) - 0.5
    first = np.floor(centres).astype(np.intp)
    share = centres - first
    rows = np.arange(target)
    matrix = np.zeros((target, source))
    np.add.at(matrix, (rows, _mirrored(first, source)), 1.0 - share)
    np.add.at(matrix, (rows, _mirrored(first + 1, source)), share)
    return matrix @ _blur_matrix(source, (source / target - 1) / 2)


def _blur_matrix(size: int, sigma: float) -> Array:
    if sigma <= 0:
        return np.eye(size)
    reach = int(4.0 * sigma + 0.5)
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 / sigma**2 * offsets**2)
    matrix = np.zeros((size, size))
    places = np.arange(size)[:, None]
    np.add.at(matrix, (places, _mirrored(places + offsets, size)), weights / weights.sum())
    return matrix


def _mirrored(indices: Array, size: int) -> Array:
    if size == 1:
        return np.zeros_like(indices)
    period = 2 * (size - 1)
    folded = np.abs(indices) % period
    return np.where(folded >= size, period - folded, folded)
