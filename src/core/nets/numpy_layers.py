"""Dense layers and activations in numpy, laid out for small batches on a CPU; no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..errors import ConfigError
from .activations import ACTIVATIONS, Activation, Float32, activation_name

# Two layers run as one block-diagonal product while that has at most this many entries: below,
# the calls cost more than the multiplications by zero.
BLOCK_LIMIT = 128 * 128

_IN_ANY_CASE: Final = ("linear", "relu", "tanh", "swish", "silu", "elu")
_BY_CLASS: Final = ("Sigmoid", "LeakyReLU", "ReLU6", "Hardtanh")


def numpy_activation(name: Any) -> Activation | None:
    """Look up an activation that changes an array in place; `None` for the linear one."""
    return ACTIVATIONS[described_activation(name)]


def described_activation(name: Any) -> str:
    """The name in a network's description for an activation of the model settings.

    Raises:
        ConfigError: It has no numpy form (torch may have one).
    """
    is_known = isinstance(name, str) and (name.lower() in _IN_ANY_CASE or name in _BY_CLASS)
    if name is None or is_known:
        return activation_name(name)
    raise ConfigError(
        "this activation has no numpy form",
        expected=f"one of {', '.join([*_IN_ANY_CASE, *_BY_CLASS])}",
        found=repr(name),
    )


@dataclass(frozen=True)
class Dense:
    """One dense layer: `weight` `(in, out)`, contiguous, and `bias` `(out,)`.

    `act` changes the outputs in place; None for a linear layer.
    """

    weight: Float32
    bias: Float32
    act: Activation | None = None


def dense(weight: Any, bias: Any, act: Activation | None = None) -> Dense:
    """Make a layer from torch's layout of its weight, `(out, in)`."""
    kernel = np.ascontiguousarray(np.asarray(weight, np.float32).T)
    return Dense(kernel, np.ascontiguousarray(bias, np.float32), act)


class Stack:
    """Dense layers one after another; an empty stack returns its input."""

    __slots__ = ("_steps", "layers")

    def __init__(self, layers: Sequence[Dense]) -> None:
        self.layers = tuple(layers)
        # Biases as one row: numpy adds two arrays of the same shape in half the time.
        self._steps = tuple((layer.weight, layer.bias[None], layer.act) for layer in layers)

    def __call__(self, x: Float32) -> Float32:
        """Map `(B, in)` to `(B, out)`; the input is left unchanged."""
        for weight, bias, act in self._steps:
            x = x.dot(weight)
            x += bias
            if act is not None:
                act(x)
        return x


def beside(first: Stack, second: Stack) -> Stack | None:
    """Join two stacks over one input into one that gives both outputs side by side.

    None if their layers do not pair up, or it would not be faster.
    """
    if not first.layers or len(first.layers) != len(second.layers):
        return None
    joint = []
    for i, (a, b) in enumerate(zip(first.layers, second.layers, strict=True)):
        size = math.prod(map(sum, zip(a.weight.shape, b.weight.shape, strict=True)))
        if a.act is not b.act or (i and size > BLOCK_LIMIT):
            return None
        weight = _columns(a, b) if i == 0 else _blocks(a, b)
        joint.append(Dense(weight, np.concatenate([a.bias, b.bias]), a.act))
    return Stack(joint)


def entrance(first: Stack, second: Stack) -> Stack | None:
    """The first layers of two stacks over one input as one layer, their outputs side by side.

    None if a stack has no more layers, or they do not pair up.
    """
    if min(len(first.layers), len(second.layers)) < 2:
        return None
    a, b = first.layers[0], second.layers[0]
    if a.act is not b.act:
        return None
    return Stack([Dense(_columns(a, b), np.concatenate([a.bias, b.bias]), a.act)])


def _columns(a: Dense, b: Dense) -> Float32:
    return np.concatenate([a.weight, b.weight], axis=1)


def _blocks(a: Dense, b: Dense) -> Float32:
    (rows, columns), shape = a.weight.shape, b.weight.shape
    joint = np.zeros((rows + shape[0], columns + shape[1]), np.float32)
    joint[:rows, :columns] = a.weight
    joint[rows:, columns:] = b.weight
    return joint
