"""What layers and losses compute, in numpy: the names under which RLlib offers it to tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .. import array_namespace as xp
from .. import nest
from ..arrays.one_hot import one_hot_in_space
from ..spaces.walk import struct_of
from ..types import Array, Nest


def relu(x: Array, alpha: float = 0.0) -> Array:
    """`x` where it is positive, `alpha * x` elsewhere.

    Example:
        >>> relu(np.array([-2.0, 3.0]), alpha=0.5)
        array([-1.,  3.])
    """
    return np.maximum(x, x * alpha)


def sigmoid(x: Array, derivative: bool = False) -> Array:
    """`1 / (1 + exp(-x))`; or `x * (1 - x)`, the derivative where `x` is a sigmoid already."""
    return np.asarray(x * (1 - x) if derivative else 1 / (1 + np.exp(-x)))


def softmax(x: npt.ArrayLike, axis: int = -1, epsilon: float | None = None) -> Array:
    """Probabilities in proportion to `exp(x)` along an axis, none below `epsilon`.

    That is 1e-6 where None, as in RLlib; before it they sum to 1.

    Example:
        >>> softmax([0.0, 0.0])
        array([0.5, 0.5])
    """
    exponents = np.exp(np.asarray(x))
    shares = exponents / np.sum(exponents, axis, keepdims=True)
    return np.asarray(np.maximum(shares, 1e-6 if epsilon is None else epsilon))


def huber_loss(x: Any, delta: float = 1.0) -> Any:
    """Half the square up to `delta`, a straight line from there; numpy or torch."""
    lib, size = xp.namespace(x), abs(x)
    return lib.where(size < delta, x**2 * 0.5, delta * (size - 0.5 * delta))


def l2_loss(x: Any) -> Any:
    """Half the sum of squares, numpy or torch."""
    return 0.5 * (x**2).sum()


def fc(x: Any, weights: Any, biases: Any = None, framework: str | None = None) -> Array:
    """A dense layer over `(B, in)`, numpy or torch, by weights `(in, out)`.

    Weights are turned round where only `(out, in)` fits; `framework` is taken for Ray's signature.

    Example:
        >>> fc(np.ones((1, 2)), np.ones((2, 3)), np.ones(3))
        array([[3., 3., 3.]])
    """
    inputs, kernel = xp.to_numpy(x), xp.to_numpy(weights)
    if kernel.shape[0] != inputs.shape[1]:
        kernel = kernel.T
    out = inputs @ kernel
    return np.asarray(out if biases is None else out + xp.to_numpy(biases))


def lstm(
    x: Array,
    weights: Array,
    biases: Array | None = None,
    initial_internal_states: tuple[Array, Array] | None = None,
    time_major: bool = False,
    forget_bias: float = 1.0,
) -> tuple[Array, tuple[Array, Array]]:
    """An LSTM layer over `(B, T, in)`, TensorFlow's gates in order: input, cell, forget, output.

    With `time_major` the first two axes of inputs and outputs are `(T, B)`. Weights are
    `(in + units, 4 * units)`, cell and hidden state `(B, units)`; biases and states are zeros where
    None. Gives the outputs of every step, and the last cell and hidden state.
    """
    steps = x if time_major else x.swapaxes(0, 1)
    units = weights.shape[1] // 4
    bias = np.zeros(4 * units) if biases is None else biases
    zeros = np.zeros((steps.shape[1], units))
    cell, hidden = initial_internal_states or (zeros, zeros)
    outputs = []
    for step in steps:
        gates = np.concatenate([step, hidden], -1) @ weights + bias
        write, new, keep, show = np.split(gates, 4, -1)
        cell = cell * sigmoid(keep + forget_bias) + sigmoid(write) * np.tanh(new)
        hidden = sigmoid(show) * np.tanh(cell)
        outputs.append(hidden)
    stacked = np.stack(outputs).astype(np.float64, copy=False)  # whatever goes in, as in RLlib
    return (stacked if time_major else stacked.swapaxes(0, 1)), (cell, hidden)


def flatten_inputs_to_1d_tensor(
    inputs: Nest,
    spaces_struct: Nest = None,
    time_axis: bool = False,
    batch_axis: bool = True,
) -> Any:
    """All leaves of a nest beside each other in one float32 array, numpy or torch.

    By the nest's space, or a nest of spaces, integers of Discrete and MultiDiscrete spaces become
    one-hot rows; without it all numbers stay themselves. Leaves have the leading axes that are
    named.

    Example:
        >>> inputs = {"b": np.array([1, 0]), "a": np.array([[0.5], [0.25]])}
        >>> struct = {"a": spaces.Box(0, 1, (1,)), "b": spaces.Discrete(2)}
        >>> flatten_inputs_to_1d_tensor(inputs, struct)
        array([[0.5 , 0.  , 1.  ],
               [0.25, 1.  , 0.  ]], dtype=float32)
    """
    leaves = nest.flatten(inputs)
    if isinstance(spaces_struct, spaces.Space):
        spaces_struct = struct_of(spaces_struct)
    kinds = [None] * len(leaves) if spaces_struct is None else nest.flatten(spaces_struct)
    axes = int(batch_axis) + int(time_axis)
    rows = []
    for leaf, space in zip(leaves, kinds, strict=True):
        values = xp.as_array(leaf)
        if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
            values = one_hot_in_space(values, space)
        lead: tuple[int, ...] = tuple(values.shape[:axes])
        rows.append(xp.cast(values.reshape((*lead, -1)), np.float32))
    return xp.concatenate(rows, -1)
