"""Images of another size, colour or layout; frames are `(..., height, width, channels)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from ..arrays.resizing import AreaResizer
from ..errors import PieceError
from .step import Bound, Step, box_between, step


@step("resize_image")
class ResizeImage(Step):
    """Another height and width, by averaging over the area each new pixel covers.

    Args:
        height: The new one, in pixels.
        width: The new one.
    """

    height: int
    width: int

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Compute the weights of the old pixels."""
        box = _frames(self, space)
        resize = AreaResizer((box.shape[0], box.shape[1]), (self.height, self.width))
        shape = (self.height, self.width, *box.shape[2:])
        return Bound(_box_of(shape, box), resize)


@step("crop_image")
class CropImage(Step):
    """Keep a rectangle.

    Args:
        top: Its first row.
        left: Its first column.
        height: How many rows.
        width: How many columns.
    """

    top: int
    left: int
    height: int
    width: int

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Check that the rectangle lies inside."""
        box = _frames(self, space)
        rows = slice(self.top, self.top + self.height)
        columns = slice(self.left, self.left + self.width)
        if min(self.top, self.left) < 0 or rows.stop > box.shape[0] or columns.stop > box.shape[1]:
            raise self.mismatch(f"at least {rows.stop} x {columns.stop} pixels", space)
        out = box_between(box.low[rows, columns], box.high[rows, columns])
        return Bound(out, lambda frames: frames[..., rows, columns, :])


@step("grayscale")
class Grayscale(Step):
    """One channel of brightness instead of three of colour.

    Args:
        weights: Of the channels; those of ITU-R 601 by default, a third each for a plain mean.
    """

    weights: Sequence[float] = (0.299, 0.587, 0.114)

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """One weight for each channel."""
        box = _frames(self, space)
        if box.shape[2] != len(self.weights):
            raise self.mismatch(f"{len(self.weights)} channels", space)
        weights = np.array(self.weights, np.float32)
        is_counted = box.dtype.kind in "iu"

        def formula(frames: Any, weights: Any) -> Any:
            grey = (xp.cast_like(frames, weights) * weights).sum(-1)[..., None]
            if is_counted:
                grey = xp.namespace(grey).round(grey)
            return xp.cast_like(grey, frames)

        return Bound(_box_of((*box.shape[:2], 1), box), formula, (weights,))


@step("move_channels")
class MoveChannels(Step):
    """Channels from the last axis to the first, or back.

    Args:
        to: "first" or "last".
    """

    to: str

    def __post_init__(self) -> None:
        if self.to not in ("first", "last"):
            expected = "to='first' or to='last'"
            raise PieceError("MoveChannels", expected=expected, found=repr(self.to))

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Move the axis of the bounds too."""
        box = _frames(self, space)
        source, target = (-1, -3) if self.to == "first" else (-3, -1)
        out = box_between(*(np.moveaxis(end, source, target) for end in (box.low, box.high)))
        return Bound(out, lambda frames: xp.namespace(frames).moveaxis(frames, source, target))


def _frames(owner: Step, space: spaces.Space[Any]) -> spaces.Box:
    if not isinstance(space, spaces.Box) or len(space.shape) != 3:
        raise owner.mismatch("a Box of height, width and channels", space)
    return space


def _box_of(shape: tuple[int, ...], box: spaces.Box) -> spaces.Box:
    return box_between(*(np.full(shape, end) for end in (box.low.min(), box.high.max())))
