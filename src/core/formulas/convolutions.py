"""Sizes of images on their way through convolutions, under RLlib's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

# (height, width) -> [out channels, kernel, stride] per convolution, when `conv_filters` is unset.
CONV_DEFAULTS: Final[dict[tuple[int, int], list[list[Any]]]] = {
    (480, 640): [[16, [24, 32], [14, 18]], [32, [6, 6], 4], [256, [9, 9], 1]],
    (240, 320): [[16, [12, 16], [7, 9]], [32, [6, 6], 4], [256, [9, 9], 1]],
    (96, 96): [[16, [8, 8], 4], [32, [4, 4], 2], [256, [11, 11], 2]],
    (84, 84): [[16, [8, 8], 4], [32, [4, 4], 2], [256, [11, 11], 1]],
    (64, 64): [[16, [4, 4], 2], [32, [4, 4], 2], [64, [4, 4], 2], [128, [4, 4], 2]],
    (42, 42): [[16, [4, 4], 2], [32, [4, 4], 2], [256, [11, 11], 1]],
    (10, 10): [[16, [5, 5], 2], [32, [5, 5], 2]],
}


def same_padding(
    in_size: Sequence[int],
    filter_size: int | Sequence[int],
    stride_size: int | Sequence[int],
) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    """Compute TensorFlow's "same" padding, which adds odd cells at the bottom and right.

    Returns the padding (left, right, top, bottom) and the output size (height, width).

    Example:
        >>> same_padding((10, 10), 5, 2)
        ((1, 2, 1, 2), (5, 5))
    """
    sides, outs = [], []
    for size, kernel, stride in zip(in_size, pair(filter_size), pair(stride_size), strict=True):
        out = math.ceil(size / stride)
        total = max((out - 1) * stride + kernel - size, 0)
        sides.append((total // 2, total - total // 2))
        outs.append(out)
    (top, bottom), (left, right) = sides
    return (left, right, top, bottom), (outs[0], outs[1])


def valid_padding(
    in_size: Sequence[int],
    filter_size: int | Sequence[int],
    stride_size: int | Sequence[int],
) -> tuple[int, int]:
    """Compute the (height, width) that comes out of a convolution without padding.

    Example:
        >>> valid_padding((10, 11), (3, 4), (2, 1))
        (4, 8)
    """
    sides = zip(in_size, pair(filter_size), pair(stride_size), strict=True)
    height, width = (-(-(size - kernel + 1) // stride) for size, kernel, stride in sides)
    return height, width


def last_cells(in_size: Sequence[int], filters: Sequence[Sequence[Any]]) -> tuple[int, int]:
    """Compute the (height, width) that comes out of convolutions, all but the last one padded.

    A filter is (channels, kernel, stride), sizes are (height, width).

    Example:
        >>> last_cells((10, 10), [(4, 3, 2), (8, 5, 1)])
        (1, 1)
    """
    size = pair(in_size)
    for _, kernel, stride in filters[:-1]:
        _, size = same_padding(size, kernel, stride)
    _, kernel, stride = filters[-1]
    height, width = valid_padding(size, kernel, stride)
    return max(height, 0), max(width, 0)


def pair(value: int | Sequence[int]) -> tuple[int, int]:
    """Return (vertical, horizontal) of a kernel or stride that may be one number for both."""
    first, second = value if isinstance(value, Sequence) else (value, value)
    return int(first), int(second)
