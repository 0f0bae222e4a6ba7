"""Layers over images in numpy: convolutions and pools of any number of axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .activations import Float32
from .binding import Step
from .layer_formulas import LOWEST, joined

Weights = Mapping[str, Float32]
Compute = Callable[[list[Any]], Float32]


def convolution(step: Step, weights: Weights) -> Compute:
    """A convolution as one product over all places of its window."""
    given, weight, bias = step.settings, weights["weight"], weights.get("bias")
    if given["is_keras"]:
        weight = np.moveaxis(weight, (-1, -2), (0, 1))
    groups, sides = given["groups"], weight.shape[2:]
    # One column an output channel, and a row for each number under the window.
    kernels = [
        np.ascontiguousarray(part.reshape(len(part), -1).T) for part in np.split(weight, groups)
    ]

    def compute(seen: list[Any]) -> Float32:
        image = _first(joined(seen), given["is_last"])
        windows = _windows(_padded(image, given["padding"], 0.0), sides, given)
        axes = windows.ndim - 2
        places = tuple(range(2, 2 + axes // 2))
        rows = np.transpose(windows, (0, *places, 1, *range(2 + axes // 2, 2 + axes)))
        parts = np.split(rows, groups, axis=1 + len(places))
        shape = rows.shape[: 1 + len(places)]
        found = np.concatenate(
            [
                np.matmul(np.ascontiguousarray(part).reshape(*shape, -1), kernel)
                for part, kernel in zip(parts, kernels, strict=True)
            ],
            -1,
        )
        if bias is not None:
            found += bias
        return found if given["is_last"] else np.ascontiguousarray(np.moveaxis(found, -1, 1))

    return compute


def pool(step: Step, weights: Weights) -> Compute:
    """The largest or the mean number under each place of a window."""
    given = step.settings
    is_max = step.layer.value == "max"

    def compute(seen: list[Any]) -> Float32:
        image = _first(joined(seen), given["is_last"])
        padded = _padded(image, given["padding"], LOWEST if is_max else 0.0)
        windows = _windows(padded, given["sides"], given)
        axes = tuple(range(-len(given["sides"]), 0))
        found: Float32 = windows.max(axes) if is_max else windows.mean(axes, dtype=np.float32)
        return np.moveaxis(found, 1, -1).copy() if given["is_last"] else found

    return compute


def _first(image: Any, is_last: bool) -> Any:
    return np.moveaxis(image, -1, 1) if is_last else image


def _padded(image: Any, padding: Sequence[tuple[int, int]], filler: Any) -> Any:
    if not any(map(any, padding)):
        return image
    return np.pad(image, [(0, 0), (0, 0), *padding], constant_values=filler)


def _windows(image: Any, sides: Sequence[int], given: Mapping[str, Any]) -> Any:
    """Every place of the window: `(B, channels, *places, *sides)`, a view."""
    gaps, axes = given["dilation"], tuple(range(2, image.ndim))
    spread = [gap * (side - 1) + 1 for gap, side in zip(gaps, sides, strict=True)]
    windows = sliding_window_view(image, spread, axes)
    steps = [slice(None, None, step) for step in given["stride"]]
    inside = [slice(None, None, gap) for gap in gaps]
    return windows[tuple([slice(None), slice(None), *steps, *inside])]
