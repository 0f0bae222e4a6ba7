"""Values of actions from the branches of a Q network, in numpy and torch alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import array_namespace as xp


def support(num_atoms: int, v_min: float, v_max: float, like: Any = None) -> Any:
    """The returns a distributional head tells apart, `(num_atoms,)`, evenly spaced.

    A tensor beside `like`, or an array.
    """
    if xp.is_tensor(like):
        lib = xp.namespace(like)
        steps = lib.arange(0.0, num_atoms, dtype=lib.float32, device=like.device)
    else:
        steps = np.arange(num_atoms, dtype=np.float32)
    return v_min + steps * (v_max - v_min) / float(num_atoms - 1)


def expected_return(logits: Any, atoms: Any) -> Any:
    """The mean of a distribution over atoms, `(..., n)` to `(...)`."""
    if xp.is_tensor(logits):
        return (atoms * logits.softmax(dim=-1)).sum(-1)
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return (atoms * (powers / powers.sum(-1, keepdims=True))).sum(-1)


def dueling_q(advantages: Any, value: Any) -> Any:
    """Value plus centred advantages, `(B, n)`; advantages of minus infinity do not count."""
    if xp.is_tensor(advantages):
        lib = xp.namespace(advantages)
        counted = advantages != -lib.inf
        total = lib.where(counted, advantages, lib.zeros_like(advantages)).sum(1, keepdim=True)
        return value + (advantages - total / counted.to(advantages.dtype).sum(1, keepdim=True))
    return dueling_arrays(advantages, value)


def dueling_arrays(advantages: Any, value: Any) -> Any:
    """`dueling_q` of arrays."""
    total = np.add.reduce(advantages, axis=1, keepdims=True)
    count: Any = advantages.shape[1]
    # One row is the case of a single step, which has no need of a reduction.
    if (total.item() if total.size == 1 else total.min()) == -np.inf:
        counted = advantages != -np.inf
        total = advantages.sum(axis=1, keepdims=True, where=counted)
        count = np.count_nonzero(counted, axis=1, keepdims=True).astype(advantages.dtype)
    return value + (advantages - total / count)


def dueling_logits(logits: Any, value_logits: Any) -> Any:
    """The same for distributions: `(B, n, atoms)` and `(B, atoms)` to `(B, n, atoms)`."""
    count = logits.shape[1]
    return value_logits[:, None] + (logits - logits.sum(1)[:, None] / count)
