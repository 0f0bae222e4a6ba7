"""Log-probabilities of the action distributions on numpy arrays: pure functions, no torch.

Arguments have shape (B, n); results have shape (B, n) or, where a sum over the last axis is
part of the definition, (B,).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cache
from itertools import accumulate
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SMALL: Final = 1e-6
"""What Ray keeps between an action and the edge of its distribution."""

LOG_STD_RANGE: Final = (-5.0, 2.0)
"""Where the log standard deviation of a squashed Gaussian is clipped to."""

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

_LANCZOS: Final = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)
HALF_LOG_TWO_PI: Final = 0.5 * math.log(2 * math.pi)


def log_softmax(logits: Array) -> Array:
    """Normalised log-probabilities over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


def softmax(logits: Array) -> Array:
    """Probabilities over the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    result: Array = weights / weights.sum(axis=-1, keepdims=True)
    return result


def most_probable(logits: Array) -> Array:
    """The index of the largest probability; equal probabilities choose the first.

    Two logits can differ and still give one float32 log-probability, so close calls are decided on
    those, normalised as torch's Categorical does it.
    """
    if len(logits) == 1 and 1 < logits.size <= _SHORT:
        row = logits[0].tolist()
        top = max(row)
        if sorted(row)[-2] < top - _CLOSE:
            return np.array([row.index(top)], np.int32)
    if logits.ndim == 2 and 1 < logits.shape[-1] <= _FEW:
        return _most_probable_of_few(logits)
    near = logits >= logits.max(axis=-1, keepdims=True) - _CLOSE
    if np.count_nonzero(near) == logits.size // logits.shape[-1]:
        chosen: Array = logits.argmax(axis=-1).astype(np.int32)
    else:
        chosen = _normalised(logits).argmax(axis=-1).astype(np.int32)
    return chosen


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

    Args:
        columns: The logits; they are changed.
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


def draw_categories(logits: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """One index a row, each as probable as its softmax weight, and its log-probability."""
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


def categorical_logp(logits: Array, actions: Array) -> Array:
    """Log-probability of one index a row."""
    picked = np.take_along_axis(log_softmax(logits), actions.astype(np.int64)[..., None], axis=-1)
    result: Array = picked[..., 0]
    return result


def normal_logp(mean: Array, std: Array, values: Array) -> Array:
    """Log-density of a Gaussian, per component."""
    result: Array = -((values - mean) ** 2) / (2 * std**2) - np.log(std) - HALF_LOG_TWO_PI
    return result


def halves(inputs: Array) -> tuple[Array, Array]:
    """The first and the second half of the last axis, as views."""
    middle = inputs.shape[-1] // 2
    return inputs[..., :middle], inputs[..., middle:]


def log_gamma(x: Array) -> Array:
    """The logarithm of the gamma function for positive numbers (Lanczos, 1e-14)."""
    y = np.asarray(x, np.float64)
    series = _LANCZOS[0] + sum(c / (y + k) for k, c in enumerate(_LANCZOS[1:], start=1))
    t = y + 7.5
    shifted = HALF_LOG_TWO_PI + (y + 0.5) * np.log(t) - t + np.log(series)
    result: Array = shifted - np.log(y)  # the series gives log(gamma(y + 1))
    return result


def dirichlet_logp(concentration: Array, shares: Array) -> Array:
    """Log-density of shares that sum to one, over the last axis."""
    c, x = concentration.astype(np.float64), shares.astype(np.float64)
    weighted = np.where(c == 1, 0.0, (c - 1) * np.log(x)).sum(axis=-1)
    result: Array = weighted + log_gamma(c.sum(axis=-1)) - log_gamma(c).sum(axis=-1)
    return result
