"""Dense layers and activations in numpy, for batches on a CPU; no torch.

`Stack` is laid out for small batches. `ColumnStack` has one column for each row of a batch, the
quickest form on one core: features lie along the first axis, a bias is one more feature that is
always one, so that the product adds it, each layer writes where the next one reads, and the
numbers of one output lie side by side. Both are equal up to rounding.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, SpaceError
from ..importing.torch_needed import has_torch
from ..runtime.cache import LastFew
from ..text.near_names import did_you_mean

Float32 = NDArray[np.float32]
Activation = Callable[[Float32], Any]

# Arrays without axes: numpy takes them in faster than numbers.
ZERO = np.array(0.0, np.float32)
HALF = np.array(0.5, np.float32)
ONE = np.array(1.0, np.float32)


def tanh(x: Float32) -> None:
    """Hyperbolic tangent."""
    np.tanh(x, x)


def relu(x: Float32) -> None:
    """`x` where it is positive, else 0."""
    np.maximum(x, ZERO, out=x)


def elu(x: Float32) -> None:
    """`x` where it is positive, else `exp(x) - 1`."""
    np.copyto(x, np.expm1(np.minimum(x, 0)), where=x < 0)


def _one_plus_exp(x: Float32) -> Float32:
    # Cut off before exp overflows: past it the quotients below are zero to every digit.
    powers = np.negative(x)
    np.minimum(powers, np.float32(88.0), out=powers)
    np.exp(powers, out=powers)
    powers += ONE
    return powers


def sigmoid(x: Float32) -> None:
    """`1 / (1 + exp(-x))`."""
    np.divide(ONE, _one_plus_exp(x), out=x)


def swish(x: Float32) -> None:
    """`x * sigmoid(x)`."""
    x /= _one_plus_exp(x)


def leaky_relu(x: Float32) -> None:
    """`x` where it is positive, else `x / 100`."""
    np.copyto(x, x * np.float32(0.01), where=x < 0)


def relu6(x: Float32) -> None:
    """`x` between 0 and 6."""
    np.clip(x, 0, 6, out=x)


def hardtanh(x: Float32) -> None:
    """`x` between -1 and 1."""
    np.clip(x, -1, 1, out=x)


def softplus(x: Float32) -> None:
    """`log(1 + exp(x))`."""
    np.logaddexp(x, ZERO, out=x)


def selu(x: Float32) -> None:
    """`elu`, scaled so that layers keep mean and deviation."""
    np.copyto(x, np.float32(1.6732632423543772) * np.expm1(np.minimum(x, 0)), where=x < 0)
    x *= np.float32(1.0507009873554805)


def gelu_tanh(x: Float32) -> None:
    """`gelu` by way of tanh, as TensorFlow's `gelu(approximate=True)`."""
    bent = np.tanh(np.float32(0.7978845608028654) * (x + np.float32(0.044715) * x**3))
    bent += ONE
    bent *= HALF
    x *= bent


def gelu(x: Float32) -> None:
    """`x` times the share of a normal distribution below `x`."""
    bent = _erf(x * np.float32(0.7071067811865476))
    bent += ONE
    bent *= HALF
    x *= bent


def mish(x: Float32) -> None:
    """`x * tanh(softplus(x))`."""
    x *= np.tanh(np.logaddexp(x, ZERO))


def softsign(x: Float32) -> None:
    """`x / (1 + |x|)`."""
    x /= np.abs(x) + ONE


def exp(x: Float32) -> None:
    """`e` to the `x`."""
    np.exp(x, out=x)


def softmax(x: Float32) -> None:
    """Shares of the last axis in proportion to `exp(x)`."""
    x -= x.max(-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(-1, keepdims=True)


def log_softmax(x: Float32) -> None:
    """The logarithm of `softmax`."""
    x -= x.max(-1, keepdims=True)
    x -= np.log(np.exp(x).sum(-1, keepdims=True))


def _erf(x: Float32) -> Float32:
    """The error function to 1.2e-7: a Chebyshev fit of its complement in double precision."""
    wide = np.abs(x.astype(np.float64))
    t = 1.0 / (1.0 + 0.5 * wide)
    total = np.full_like(t, _ERFC[-1])
    for number in reversed(_ERFC[:-1]):
        total = total * t + number
    tail = t * np.exp(-wide * wide + total)
    return np.asarray(np.where(x < 0, tail - 1.0, 1.0 - tail), np.float32)


# Numerical Recipes' coefficients of log(erfc(z) / t) + z^2 in t = 1 / (1 + z / 2).
_ERFC: Final = (
    *(-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806),
    *(0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277),
)

ACTIVATIONS: Final[Mapping[str, Activation | None]] = {
    "elu": elu,
    "exp": exp,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "hardtanh": hardtanh,
    "leaky_relu": leaky_relu,
    "linear": None,
    "log_softmax": log_softmax,
    "mish": mish,
    "relu": relu,
    "relu6": relu6,
    "selu": selu,
    "sigmoid": sigmoid,
    "silu": swish,
    "softmax": softmax,
    "softplus": softplus,
    "softsign": softsign,
    "tanh": tanh,
}
"""Each activation a network's description may name; None changes nothing."""

_OTHER_NAMES: Final = {
    "identity": "linear",
    "leakyrelu": "leaky_relu",
    "logsoftmax": "log_softmax",
    "none": "linear",
    "swish": "silu",
}


def activation_name(name: Any) -> str:
    """The name in `ACTIVATIONS` for an activation, however it is spelled; torch's class names too.

    Raises:
        ConfigError: There is none.

    Example:
        >>> activation_name("LeakyReLU"), activation_name("swish"), activation_name(None)
        ('leaky_relu', 'silu', 'linear')
    """
    bare = "linear" if name is None else name.strip().lower() if isinstance(name, str) else ""
    bare = _OTHER_NAMES.get(bare, bare)
    if bare in ACTIVATIONS:
        return bare
    raise ConfigError(
        "unknown activation",
        expected=f"one of {', '.join(ACTIVATIONS)}",
        found=repr(name)[:80],
        hint=did_you_mean(bare, ACTIVATIONS),
    )


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
    """Merge the first layers of two stacks over the same input into one layer.

    None if a stack has only one layer, or if they are not compatible.
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
        """Map `(B, in)` to `(out, B)`; returns a new array."""
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
        """Return the buffers for a number of rows.

        The buffer of the input; for each product but the last: its weights, its input, its output
        and the activation; and the input of the last product.
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
