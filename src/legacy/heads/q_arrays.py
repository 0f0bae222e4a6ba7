"""The formulas of `q_formulas.py` on numpy arrays; no torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.formulas.categorical import softmax

Array = npt.NDArray[Any]


def support(num_atoms: int, v_min: float, v_max: float) -> Array:
    """The returns a distributional head tells apart, `(num_atoms,)`, evenly spaced."""
    steps = np.arange(num_atoms, dtype=np.float32)
    return np.asarray(v_min + steps * (v_max - v_min) / float(num_atoms - 1), np.float32)


def expected_return(logits: Array, atoms: Array) -> Array:
    """The mean of a distribution over atoms, `(..., n)` to `(...)`."""
    result: Array = (atoms * softmax(logits)).sum(axis=-1)
    return result


def dueling_q(advantages: Array, value: Array) -> Array:
    """Value plus centred advantages, `(B, n)`; advantages of minus infinity do not count."""
    total = np.add.reduce(advantages, axis=1, keepdims=True)
    count: Any = advantages.shape[1]
    if total.min() == -np.inf:
        counted = advantages != -np.inf
        total = advantages.sum(axis=1, keepdims=True, where=counted)
        count = np.count_nonzero(counted, axis=1, keepdims=True).astype(advantages.dtype)
    result: Array = value + (advantages - total / count)
    return result


def dueling_logits(logits: Array, value_logits: Array) -> Array:
    """The same for distributions: `(B, n, atoms)` and `(B, atoms)` to `(B, n, atoms)`."""
    centred = logits - logits.mean(axis=1, keepdims=True)
    result: Array = value_logits[:, None] + centred
    return result
