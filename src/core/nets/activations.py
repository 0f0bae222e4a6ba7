"""Activations by name, in numpy: each changes an array in place; no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
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
