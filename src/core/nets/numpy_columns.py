"""Dense layers with one column for each row of a batch: their quickest form on one core.

Features lie along the first axis. A bias is then one more feature that is always one, so that the
product adds it, each layer writes where the next one reads, and the numbers of one output lie side
by side. Equal to `Stack` up to rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..errors import SpaceError
from ..importing.torch_needed import has_torch
from ..runtime.cache import LastFew
from .activations import Activation, Float32
from .numpy_layers import Dense, Stack

BLOCK: Final = 512
"""So many rows at once: what they fill stays in the processor's cache."""
NARROW: Final = 64
"""Turning observations of more features costs what it saves."""
LARGE: Final = 1 << 23
"""Reading a weight of more bytes takes all the time: another form of it gains nothing."""
MAX_NUMPY_ROWS: Final = 1024
"""With more rows torch is quicker: its dispatch costs less than it saves."""


def numpy_serves(rows: int) -> bool:
    """True if numpy computes this many rows: it was measured quicker, or torch is missing."""
    return rows <= MAX_NUMPY_ROWS or not has_torch()


class ColumnStack:
    """Dense layers one after another, from rows to rows; threads may share it.

    Example:
        >>> layer = Dense(np.ones((2, 1), np.float32), np.array([0.5], np.float32))
        >>> ColumnStack([layer])(np.ones((3, 2), np.float32)).tolist()
        [[2.5], [2.5], [2.5]]
    """

    def __init__(self, layers: Sequence[Dense]) -> None:
        self.layers = tuple(layers)
        self._weights = [
            np.concatenate([layer.weight, layer.bias[None]]).T.copy() for layer in layers
        ]
        self._outputs = layers[-1].bias.size
        self._own = _Own(self._places)

    def __reduce__(self) -> Any:
        return ColumnStack, (self.layers,)

    def __call__(self, x: Float32) -> Float32:
        """Map `(B, in)` to `(B, out)`; the input is left unchanged."""
        out: Float32 = self.columns(x).T
        return out

    def columns(self, x: Float32) -> Float32:
        """Map `(B, in)` to `(out, B)`, an array of its own."""
        rows = len(x)
        if rows <= BLOCK:
            return self._block(x)
        columns = np.empty((self._outputs, rows), np.float32)
        for start in range(0, rows, BLOCK):
            columns[:, start : start + BLOCK] = self._block(x[start : start + BLOCK])
        return columns

    def _block(self, x: Float32) -> Float32:
        columns, products, last = self._own.places[len(x)]
        if x.shape[1] != len(columns):
            raise SpaceError(
                "observations do not fit the network",
                expected=f"(B, {len(columns)})",
                found=str(x.shape),
            )
        columns[...] = x.T
        for weight, source, target, act in products:
            np.dot(weight, source, target)
            if act is not None:
                act(target)
        out: Float32 = np.dot(self._weights[-1], last)
        act = self.layers[-1].act
        if act is not None:
            act(out)
        return out

    def _places(
        self, rows: int
    ) -> tuple[Float32, list[tuple[Float32, Float32, Float32, Activation | None]], Float32]:
        """The buffers for a number of rows.

        Where the input goes; for each product but the last its weights, what they are multiplied
        with, where that is written, and the activation; what the last ones are multiplied with.
        """
        read = [np.ones((weight.shape[1], rows), np.float32) for weight in self._weights]
        writable = [each[:-1] for each in read]  # the ones stay
        acts = [layer.act for layer in self.layers]
        products = list(zip(self._weights, read, writable[1:], acts, strict=False))
        return writable[0], products, read[-1]


class _Own(threading.local):
    """The places of one thread, by the number of rows."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.places = LastFew(make)


def quickest(layers: Sequence[Dense]) -> ColumnStack | Stack:
    """The form of layers that is quickest by itself: by columns where observations are narrow."""
    is_narrow = bool(layers) and len(layers[0].weight) <= NARROW
    is_large = any(layer.weight.nbytes > LARGE for layer in layers)
    return ColumnStack(layers) if is_narrow and not is_large else Stack(layers)
