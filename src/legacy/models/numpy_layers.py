"""Dense layers and activations in numpy, laid out for small batches on a CPU; no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import ConfigError

Float32 = NDArray[np.float32]
Activation = Callable[[Float32], Any]

# Two layers run as one block-diagonal product while that has at most this many entries: below,
# the calls cost more than the multiplications by zero.
BLOCK_LIMIT = 128 * 128

# Arrays without axes: numpy takes them in faster than numbers.
ZERO = np.array(0.0, np.float32)
HALF = np.array(0.5, np.float32)
ONE = np.array(1.0, np.float32)


def _tanh(x: Float32) -> None:
    np.tanh(x, x)


def _relu(x: Float32) -> None:
    np.maximum(x, ZERO, out=x)


def _elu(x: Float32) -> None:
    np.copyto(x, np.expm1(np.minimum(x, 0)), where=x < 0)


def _one_plus_exp(x: Float32) -> Float32:
    # Cut off before exp overflows: past it the quotients below are zero to every digit.
    powers = np.negative(x)
    np.minimum(powers, np.float32(88.0), out=powers)
    np.exp(powers, out=powers)
    powers += ONE
    return powers


def _sigmoid(x: Float32) -> None:
    np.divide(ONE, _one_plus_exp(x), out=x)


def _swish(x: Float32) -> None:
    x /= _one_plus_exp(x)


def _leaky_relu(x: Float32) -> None:
    np.copyto(x, x * np.float32(0.01), where=x < 0)


def _relu6(x: Float32) -> None:
    np.clip(x, 0, 6, out=x)


def _hardtanh(x: Float32) -> None:
    np.clip(x, -1, 1, out=x)


_IN_ANY_CASE: dict[str, Activation | None] = {
    "linear": None,
    "relu": _relu,
    "tanh": _tanh,
    "swish": _swish,
    "silu": _swish,
    "elu": _elu,
}
_BY_CLASS: dict[str, Activation] = {
    "Sigmoid": _sigmoid,
    "LeakyReLU": _leaky_relu,
    "ReLU6": _relu6,
    "Hardtanh": _hardtanh,
}


def numpy_activation(name: Any) -> Activation | None:
    """Look up an activation that changes an array in place; `None` for the linear one.

    Args:
        name: As in the model settings.

    Raises:
        ConfigError: It has no numpy form (torch may have one).
    """
    if name is None:
        return None
    if isinstance(name, str):
        if name.lower() in _IN_ANY_CASE:
            return _IN_ANY_CASE[name.lower()]
        if name in _BY_CLASS:
            return _BY_CLASS[name]
    raise ConfigError(
        "this activation has no numpy form",
        expected=f"one of {', '.join([*_IN_ANY_CASE, *_BY_CLASS])}",
        found=repr(name),
    )


@dataclass(frozen=True)
class Dense:
    """One dense layer.

    Args:
        weight: `(in, out)`, contiguous.
        bias: `(out,)`.
        act: Changes the outputs in place; `None` for a linear layer.
    """

    weight: Float32
    bias: Float32
    act: Activation | None = None


def dense(weight: Any, bias: Any, act: Activation | None = None) -> Dense:
    """Make a layer from torch's layout of its weight, `(out, in)`."""
    return Dense(
        np.ascontiguousarray(np.asarray(weight, np.float32).T),
        np.ascontiguousarray(bias, np.float32),
        act,
    )


class Stack:
    """Dense layers one after another; an empty stack gives its input back.

    Args:
        layers: The layers.
    """

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

    Args:
        first: Its outputs come first.
        second: The other one.

    Returns:
        The joint stack; `None` if their layers do not pair up or it would not be faster.
    """
    if not first.layers or len(first.layers) != len(second.layers):
        return None
    joint = []
    for i, (a, b) in enumerate(zip(first.layers, second.layers, strict=True)):
        weight = _columns(a, b) if i == 0 else _blocks(a, b)
        if a.act is not b.act or (i and weight.size > BLOCK_LIMIT):
            return None
        joint.append(Dense(weight, np.concatenate([a.bias, b.bias]), a.act))
    return Stack(joint)


def entrance(first: Stack, second: Stack) -> Stack | None:
    """The first layers of two stacks over one input as one layer, their outputs side by side.

    Args:
        first: Its outputs come first.
        second: The other one.

    Returns:
        A stack of that layer; `None` if a stack has no more layers, or they do not pair up.
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
