"""What changed between two image spaces: layout, stacked frames, colour, size, scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.adapters import (
    Cast,
    Grayscale,
    MoveChannels,
    Rescale,
    ResizeImage,
    SelectFeatures,
    StackFrames,
    Step,
)
from .changes import Change

_COLOURS = 3


def is_image(space: Any) -> bool:
    """Whether a space looks like pictures: three axes, one of them short at an end."""
    if not isinstance(space, spaces.Box) or len(space.shape) != 3:
        return False
    height, width, depth = space.shape
    return min(height, depth) <= 16 and width > 1


def image_changes(old: spaces.Box, new: spaces.Box) -> list[Change] | None:
    """The changes from new pictures to the old ones in order; None if no steps lead there."""
    changes: list[Change] = []
    current: Any = new

    def add(kind: str, text: str, step: Step, question: str = "") -> None:
        nonlocal current
        changes.append(Change(kind, text, step, question))
        current = step.bind(current).space

    wants_first = _is_channels_first(old)
    if _is_channels_first(new):
        add("image", "channels stand first", MoveChannels("last"))
    target = (*old.shape[1:], old.shape[0]) if wants_first else old.shape
    channels, old_channels = current.shape[2], target[2]
    if channels == _COLOURS and old_channels in (1, 4):
        add("image", "pictures have colours", Grayscale())
        channels = 1
    if current.shape[:2] != target[:2]:
        text = f"pictures have {_size(current.shape)} pixels, the policy knows {_size(target)}"
        add("image", text, ResizeImage(int(target[0]), int(target[1])))
    if channels != old_channels:
        if channels < old_channels and old_channels % channels == 0:
            add(
                "stacked",
                f"one frame where the policy knows {old_channels // channels} stacked ones",
                StackFrames(old_channels // channels),
                "did the old environment stack frames, oldest first? Say fill='zero' if zeros "
                "stood before its first one.",
            )
        elif channels > old_channels and channels % old_channels == 0:
            newest = tuple(range(channels - old_channels, channels))
            add(
                "stacked",
                f"{channels // old_channels} frames where the policy knows one",
                SelectFeatures(newest),
                "is the newest frame the last one?",
            )
        else:
            return None
    _add_scale(old, current, add)
    if current.dtype != old.dtype:
        add("dtype", f"{current.dtype} became {old.dtype}", Cast(old.dtype.name))
    if wants_first:
        add("image", "the policy knows channels first", MoveChannels("first"))
    return changes if current.shape == old.shape and current.dtype == old.dtype else None


def _add_scale(old: spaces.Box, current: Any, add: Any) -> None:
    low, high = float(old.low.min()), float(old.high.max())
    ends = float(current.low.min()), float(current.high.max())
    if ends != (low, high) and np.isfinite([low, high, *ends]).all():
        add(
            "rescaled",
            f"pixels reach from {ends[0]:g} to {ends[1]:g}, the policy knows {low:g} to {high:g}",
            Rescale(low, high),
        )


def _is_channels_first(space: spaces.Box) -> bool:
    first, _, last = space.shape
    return first <= 16 < last and first < last


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} x {shape[1]}"
