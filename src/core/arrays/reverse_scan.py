"""One recurrence for returns of all kinds: `y[t] = x[t] + decay[t] * y[t + 1]`, run backwards.

In numpy it runs in blocks side by side, some hundred vectorised steps for any length; in torch in
log2(length) passes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .. import array_namespace as xp
from ..types import Array

_BLOCK: Final = 32
_LONG: Final = 1 << 13


def reverse_scan(x: Any, decay: Any) -> Any:
    """`y[t] = x[t] + decay[t] * y[t + 1]` for all t, with nothing after the end.

    `decay` broadcasts against `x`, `(T, ...)`; 0 starts afresh, so many episodes fit into one axis.

    Example:
        >>> reverse_scan(np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.0, 0.5]))
        array([1.5, 1. , 1. ])
    """
    if xp.is_tensor(x):
        y, factor = x, decay + xp.namespace(x).zeros_like(x)
        reach = 1
        while reach < x.shape[0]:
            y = xp.concatenate([y[:-reach] + factor[:-reach] * y[reach:], y[-reach:]])
            nothing = xp.namespace(x).zeros_like(factor[-reach:])
            factor = xp.concatenate([factor[:-reach] * factor[reach:], nothing])
            reach *= 2
        return y
    y = np.array(x)
    factor = np.array(np.broadcast_to(decay, y.shape), y.dtype)
    scan_in_place(y, factor)
    return y


def scan_in_place(y: Array, factor: Array) -> None:
    """Solve the recurrence in `y`; `factor` is used up."""
    length = len(y)
    if length >= _LONG:
        cut = length % _BLOCK
        _scan_blocks(y[cut:], factor[cut:])
        # The few rows that fill no block come first; what follows them is known.
        for step in range(cut - 1, -1, -1):
            y[step] += factor[step] * y[step + 1]
        return
    reach, product = 1, factor[: length - 1]
    while reach < length and product.any():  # Else every episode is shorter than the reach.
        y[:-reach] += product * y[reach:]
        product = product[:-reach] * product[reach:]
        reach *= 2


def _scan_blocks(y: Array, factor: Array) -> None:
    """Cut a long axis into blocks that run side by side, step by step.

    What each block carries over to the one before it is the same recurrence among the blocks.
    """
    local = y.reshape(-1, _BLOCK, *y.shape[1:])
    product = factor.reshape(local.shape)
    carried = np.empty_like(local[:, 0])
    for step in range(_BLOCK - 2, -1, -1):
        np.multiply(product[:, step], local[:, step + 1], out=carried)
        local[:, step] += carried
        product[:, step] *= product[:, step + 1]
    first = local[:, 0].copy()
    scan_in_place(first, product[:, 0].copy())
    product[:-1] *= first[1:, None]
    local[:-1] += product[:-1]
