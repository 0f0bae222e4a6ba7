"""Layers without products of their own: one formula each, for arrays and tensors alike."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final

import numpy as np

from .. import array_namespace as xp
from .binding import Step
from .q_values import dueling_logits, dueling_q, expected_return, support

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
