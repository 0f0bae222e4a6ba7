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
    settings, weight, bias = step.settings, weights["weight"], weights.get("bias")
    if settings["is_keras"]:
        weight = np.moveaxis(weight, (-1, -2), (0, 1))
    groups, sides = settings["groups"], weight.shape[2:]
    # One column an output channel, and a row for each number under the window.
    kernels = [
        np.ascontiguousarray(part.reshape(len(part), -1).T) for part in np.split(weight, groups)
    ]

    def compute(inputs: list[Any]) -> Float32:
        image = _first(joined(inputs), settings["is_last"])
        windows = _windows(_padded(image, settings["padding"], 0.0), sides, settings)
        axes = windows.ndim - 2
        places = tuple(range(2, 2 + axes // 2))
        rows = np.transpose(windows, (0, *places, 1, *range(2 + axes // 2, 2 + axes)))
        parts = np.split(rows, groups, axis=1 + len(places))
        shape = rows.shape[: 1 + len(places)]
        outputs = np.concatenate(
            [
                np.matmul(np.ascontiguousarray(part).reshape(*shape, -1), kernel)
                for part, kernel in zip(parts, kernels, strict=True)
            ],
            -1,
        )
        if bias is not None:
            outputs += bias
        return outputs if settings["is_last"] else np.ascontiguousarray(np.moveaxis(outputs, -1, 1))

    return compute


def pool(step: Step, weights: Weights) -> Compute:
    """The largest or the mean number under each place of a window."""
    settings = step.settings
    is_max = step.layer.value == "max"

    def compute(inputs: list[Any]) -> Float32:
        image = _first(joined(inputs), settings["is_last"])
        padded = _padded(image, settings["padding"], LOWEST if is_max else 0.0)
        windows = _windows(padded, settings["sides"], settings)
        axes = tuple(range(-len(settings["sides"]), 0))
        outputs: Float32 = windows.max(axes) if is_max else windows.mean(axes, dtype=np.float32)
        return np.moveaxis(outputs, 1, -1).copy() if settings["is_last"] else outputs

    return compute


def _first(image: Any, is_last: bool) -> Any:
    return np.moveaxis(image, -1, 1) if is_last else image


def _padded(image: Any, padding: Sequence[tuple[int, int]], filler: Any) -> Any:
    if not any(map(any, padding)):
        return image
    return np.pad(image, [(0, 0), (0, 0), *padding], constant_values=filler)


def _windows(image: Any, sides: Sequence[int], settings: Mapping[str, Any]) -> Any:
    """Every place of the window: `(B, channels, *places, *sides)`, a view."""
    gaps, axes = settings["dilation"], tuple(range(2, image.ndim))
    spread = [gap * (side - 1) + 1 for gap, side in zip(gaps, sides, strict=True)]
    windows = sliding_window_view(image, spread, axes)
    steps = [slice(None, None, step) for step in settings["stride"]]
    inside = [slice(None, None, gap) for gap in gaps]
    return windows[tuple([slice(None), slice(None), *steps, *inside])]
