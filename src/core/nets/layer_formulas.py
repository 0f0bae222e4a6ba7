"""Layers without matrix products: one formula each, for arrays and tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final

import numpy as np

from .. import array_namespace as xp
from .binding import Step

Weights = Mapping[str, Any]
Formula = Callable[[Step, Weights, list[Any]], Any]
"""From a layer, its weights and what goes in to what comes out, which may be a view of that."""

LOWEST: Final = float(np.finfo(np.float32).min)


def joined(inputs: list[Any]) -> Any:
    """The inputs of a layer, concatenated."""
    return inputs[0] if len(inputs) == 1 else xp.concatenate(inputs, -1)


def _batch_norm(step: Step, weights: Weights, inputs: list[Any]) -> Any:
    scale = (weights["running_var"] + step.settings["epsilon"]) ** -0.5
    if "weight" in weights:
        scale = scale * weights["weight"]
    shift = -weights["running_mean"] * scale
    if "bias" in weights:
        shift = shift + weights["bias"]
    place = (-1,) if step.settings["is_last"] else (-1, *[1] * (len(step.shape) - 1))
    return joined(inputs) * scale.reshape(place) + shift.reshape(place)


def _embedding(step: Step, weights: Weights, inputs: list[Any]) -> Any:
    x, table = joined(inputs), weights["weight"]
    if step.settings["is_one_hot"]:
        return x @ table
    return table[xp.clip(xp.cast(x, np.int64), 0, table.shape[0] - 1)]


def _permute(step: Step, weights: Weights, inputs: list[Any]) -> Any:
    x, axes = joined(inputs), (0, *(axis + 1 for axis in step.layer.value))
    return x.permute(axes) if xp.is_tensor(x) else x.transpose(axes)


def _mask(step: Step, weights: Weights, inputs: list[Any]) -> Any:
    allowed = xp.clip(inputs[-1], 0.0, math.inf)
    if xp.is_tensor(allowed):
        barred = allowed.log().clamp(min=LOWEST)
    else:
        with np.errstate(divide="ignore"):
            barred = np.maximum(np.log(allowed), np.float32(LOWEST))  # numpy 1 widens for a float
    return joined(inputs[:-1]) + barred


def _dueling(step: Step, weights: Weights, inputs: list[Any]) -> Any:
    atoms = step.settings["atoms"]
    if atoms == 1:
        return dueling_q(*inputs)
    rows = inputs[0].shape[0]
    return dueling_logits(inputs[0].reshape(rows, -1, atoms), inputs[1]).reshape(rows, -1)


def _expected(step: Step, weights: Weights, inputs: list[Any]) -> Any:
    x, count = joined(inputs), step.settings["atoms"]
    low, high = step.layer.value
    return expected_return(x.reshape(x.shape[0], -1, count), support(count, low, high, like=x))


FORMULAS: Final[Mapping[str, Formula]] = {
    "add": lambda step, weights, inputs: reduce(operator.add, inputs),
    "batch_norm": _batch_norm,
    "clip": lambda step, weights, inputs: xp.clip(joined(inputs), *step.layer.value),
    "divide": lambda step, weights, inputs: joined(inputs) / step.layer.value,
    "dueling": _dueling,
    "embedding": _embedding,
    "expected": _expected,
    "flatten": lambda step, weights, inputs: xp.concatenate(
        [x.reshape(x.shape[0], -1) for x in inputs], -1
    ),
    "mask": _mask,
    "multiply": lambda step, weights, inputs: reduce(operator.mul, inputs),
    "parameter": lambda step, weights, inputs: weights["weight"].reshape(step.shape),
    "permute": _permute,
    "reshape": lambda step, weights, inputs: joined(inputs).reshape(-1, *step.shape),
    "slice": lambda step, weights, inputs: joined(inputs)[..., slice(*step.layer.value)],
    "subtract": lambda step, weights, inputs: joined(inputs) - step.layer.value,
}


def support(num_atoms: int, v_min: float, v_max: float, like: Any = None) -> Any:
    """Return the atoms of a distributional head, `(num_atoms,)`, evenly spaced.

    A tensor on the device of `like`, or an array.
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
