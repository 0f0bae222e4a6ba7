"""Choices among numbered options by their logits: greedy, sampled, and log-probabilities.

Logits have shape (..., n), results (...). Arrays return int32 choices and never need torch; tensors
return int64 choices, with differentiable log-probabilities.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cache
from itertools import accumulate
from typing import Any, Final

import numpy as np

from .. import array_namespace as xp
from ..types import Array

_CLOSE: Final = 1e-5
"""Logits nearer than that may have one float32 log-probability.

Among up to 2**24 choices the logarithm of the sum is below 17. Subtracting it moves a logit by at
most 1e-6, two of them by 2e-6 against each other: the rest of 1e-5 is left for what the margin
itself is rounded by where logits are large.
"""

_MARGIN: Final = np.array(_CLOSE, np.float32)  # numpy takes it in faster than a number

_SHORT: Final = 64
"""Up to that many logits one row is handled as plain numbers."""

_FEW: Final = 64
"""So few logits are handled column by column: numpy reduces short rows many times as slowly."""

_MANY: Final = 256
"""From so many rows on the place of the largest is counted, not searched for."""


def softmax(logits: Any) -> Any:
    """Probabilities over the last axis."""
    if xp.is_tensor(logits):
        return logits.softmax(-1)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def log_softmax(logits: Any) -> Any:
    """Normalised log-probabilities over the last axis."""
    if type(logits) is not np.ndarray and xp.is_tensor(logits):
        return logits - logits.logsumexp(-1, True)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def most_probable(logits: Any) -> Any:
    """The index of the largest probability; equal probabilities choose the first.

    Two logits can differ and still give one float32 log-probability, so close calls are decided on
    those, normalised as torch's Categorical does it.
    """
    if type(logits) is not np.ndarray and xp.is_tensor(logits):
        return log_softmax(logits).argmax(-1)
    if len(logits) == 1 and 1 < logits.size <= _SHORT:
        row = logits[0].tolist()
        top = max(row)
        if sorted(row)[-2] < top - _CLOSE:
            return np.array([row.index(top)], np.int32)
    if logits.ndim == 2 and 1 < logits.shape[-1] <= _FEW:
        return _most_probable_of_few(logits)
    near = logits >= logits.max(axis=-1, keepdims=True) - _CLOSE
    is_clear = np.count_nonzero(near) == logits.size // logits.shape[-1]
    return (logits if is_clear else _normalised(logits)).argmax(axis=-1).astype(np.int32)


def _most_probable_of_few(logits: Array) -> Array:
    columns = np.ascontiguousarray(logits.T)
    floor = np.maximum.reduce(columns)
    floor -= _MARGIN
    near = columns >= floor
    chosen = best_of_columns(columns)
    if np.count_nonzero(near) != len(logits):
        rows = np.flatnonzero(near.sum(axis=0) != 1)
        chosen[rows] = _normalised(logits[rows]).argmax(axis=-1)
    return chosen


def best_of_columns(columns: Array) -> Array:
    """The place of the largest number of each column `(n, B)`; of equal ones the first."""
    last = len(columns) - 1
    if columns.shape[1] < _MANY or last >= _FEW:
        place: Array = columns.argmax(axis=0).astype(np.int32)
        return place
    is_best = columns == np.maximum.reduce(columns)
    behind = is_best.view(np.uint8) * np.arange(last, -1, -1, dtype=np.uint8)[:, None]
    chosen: Array = last - np.maximum.reduce(behind).astype(np.int32)
    return chosen


def most_probable_of_columns(columns: Array) -> Array:
    """The index of the largest logit of each column `(n, B)`, rounded as probabilities are.

    For networks whose own rounding is not torch's: this decides near ties as normalising would, as
    often as such a network's logits let it. Normalising takes off the logarithm of a sum, which for
    two that nearly tie lies between log 2 and log n above them, so taking off log n rounds alike.
    The columns are changed.
    """
    columns -= _log_of(len(columns))
    return best_of_columns(columns)


@cache
def _log_of(count: int) -> Array:
    return np.array(math.log(count), np.float32)


def _normalised(logits: Array) -> Array:
    # Unlike log_softmax all at once: that decides how near logits become one number.
    top = logits.max(axis=-1, keepdims=True)
    table: Array = logits - (top + np.log(np.exp(logits - top).sum(axis=-1, keepdims=True)))
    return table


def draw_categories(logits: Any, rng: Any) -> tuple[Any, Any]:
    """One index a row, drawn by its softmax weight, and its log-probability; None for a tensor.

    `rng` is numpy's generator; torch's or None for a tensor.
    """
    if type(logits) is not np.ndarray and xp.is_tensor(logits):
        probabilities = log_softmax(logits).softmax(-1)
        return probabilities.multinomial(1, True, generator=rng)[..., 0], None
    if len(logits) == 1 and logits.size <= _SHORT:
        return _draw_one(logits[0].tolist(), rng)
    table = log_softmax(logits)
    edges = np.cumsum(np.exp(table.astype(np.float64)), axis=-1)
    points = rng.random((*logits.shape[:-1], 1)) * edges[..., -1:]
    drawn = np.minimum(np.count_nonzero(edges <= points, axis=-1), logits.shape[-1] - 1)
    logp = np.take_along_axis(table, drawn[..., None], axis=-1)[..., 0]
    return drawn.astype(np.int32), logp


def _draw_one(row: list[float], rng: np.random.Generator) -> tuple[Array, Array]:
    # For one short row a handful of array calls costs more than plain numbers do.
    top = max(row)
    edges = list(accumulate([math.exp(logit - top) for logit in row]))
    index = min(bisect_right(edges, rng.random() * edges[-1]), len(row) - 1)
    logp = row[index] - top - math.log(edges[-1])
    return np.array([index], np.int32), np.array([logp], np.float32)


def categorical_logp(logits: Any, chosen: Any) -> Any:
    """Log-probability of one index a row; a tensor's rows and indices broadcast."""
    table = log_softmax(logits)
    if not xp.is_tensor(table):
        return np.take_along_axis(table, chosen.astype(np.int64)[..., None], axis=-1)[..., 0]
    lead = np.broadcast_shapes(chosen.shape, table.shape[:-1])
    return table.expand(*lead, -1).gather(-1, chosen.long().expand(lead)[..., None])[..., 0]
