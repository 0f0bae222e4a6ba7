"""Each kind of layer as a numpy function, float32; arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..errors import PieceError
from .binding import Step
from .layer_formulas import FORMULAS, LOWEST, dueling_arrays, expected_return, joined, support
from .numpy_layers import ACTIVATIONS, HALF, ONE, Float32, sigmoid


class NumpyLstm:
    """An LSTM layer over `(B, T, features)`.

    The four gates are one product: their rows are put in the order input, forget, output, cell
    and the first three are halved, so that one tanh serves all (a sigmoid is `tanh(x/2)/2 + 1/2`).

    Weights and biases are torch's, gates i, f, g, o: `(4 * cells, features)`, `(4 * cells, cells)`.
    """

    def __init__(self, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any) -> None:
        self.cells = int(np.shape(weight_hh)[1])
        self.features = int(np.shape(weight_ih)[1])
        n = self.cells
        self._weight = np.empty((self.features + n, 4 * n), np.float32)
        self._weight_x = self._weight[: self.features]
        self._weight_h = self._weight[self.features :]
        bias = np.asarray(bias_ih, np.float32) + np.asarray(bias_hh, np.float32)
        self._bias = np.empty((1, 4 * n), np.float32)
        self._places = tuple(slice(start, start + n) for start in range(0, 4 * n, n))
        self._factor = np.full((1, 4 * n), 0.5, np.float32)
        self._factor[:, 3 * n :] = 1
        self._offset = 1 - self._factor  # of a sigmoid a half, of a tanh nothing
        for place, gate in zip(self._places, (0, 1, 3, 2), strict=True):
            rows = slice(gate * n, gate * n + n)
            self._weight_x[:, place] = weight_ih[rows].T
            self._weight_h[:, place] = weight_hh[rows].T
            self._bias[:, place] = bias[rows]
        self._weight *= self._factor
        self._bias *= self._factor

    def step(self, x: list[Float32], h: Float32, c: Float32) -> tuple[Float32, Float32]:
        """Advance by one step.

        Features `(B, n)` come in parts; `h` and `c` are `(B, cells)`, of the step before.
        """
        gates = np.concatenate([*x, h], 1).dot(self._weight)
        gates += self._bias
        return self._advance(gates, c)

    def sequence(self, x: Float32, h: Float32, c: Float32) -> tuple[Float32, Float32, Float32]:
        """Advance along sequences `(B, T, n)`; gives all outputs, the last output and cells."""
        batch, steps, _ = x.shape
        gates = np.dot(x.reshape(batch * steps, -1), self._weight_x)
        gates += self._bias
        gates = gates.reshape(batch, steps, -1)
        outputs = np.empty((batch, steps, self.cells), np.float32)
        for t in range(steps):
            h, c = self._advance(gates[:, t] + np.dot(h, self._weight_h), c)
            outputs[:, t] = h
        return outputs, h, c

    def _advance(self, gates: Float32, c: Float32) -> tuple[Float32, Float32]:
        enters, stays, leaves, fresh = self._places
        np.tanh(gates, gates)
        gates *= self._factor
        gates += self._offset
        cells = gates[:, stays] * c
        cells += gates[:, enters] * gates[:, fresh]
        h = np.tanh(cells)
        h *= gates[:, leaves]
        return h, cells


Weights = Mapping[str, Float32]
Compute = Callable[[list[Any]], Float32]


def convolution(step: Step, weights: Weights) -> Compute:
    """A convolution as one product over all places of its window."""
    settings, weight, bias = step.settings, weights["weight"], weights.get("bias")
    if settings["is_keras"]:
        weight = np.moveaxis(weight, (-1, -2), (0, 1))
    groups, sides = settings["groups"], weight.shape[2:]
    # One column an output channel, and a row for each number under the window.
    kernels = [
        np.ascontiguousarray(part.reshape(len(part), -1).T) for part in np.split(weight, groups)
    ]

    def compute(inputs: list[Any]) -> Float32:
        image = _first(joined(inputs), settings["is_last"])
        windows = _windows(_padded(image, settings["padding"], 0.0), sides, settings)
        axes = windows.ndim - 2
        places = tuple(range(2, 2 + axes // 2))
        rows = np.transpose(windows, (0, *places, 1, *range(2 + axes // 2, 2 + axes)))
        parts = np.split(rows, groups, axis=1 + len(places))
        shape = rows.shape[: 1 + len(places)]
        flat = [np.ascontiguousarray(part).reshape(*shape, -1) for part in parts]
        outputs = np.concatenate(list(map(np.matmul, flat, kernels)), -1)
        if bias is not None:
            outputs += bias
        return outputs if settings["is_last"] else np.ascontiguousarray(np.moveaxis(outputs, -1, 1))

    return compute


def pool(step: Step, weights: Weights) -> Compute:
    """The largest or the mean number under each place of a window."""
    settings = step.settings
    is_max = step.layer.value == "max"

    def compute(inputs: list[Any]) -> Float32:
        image = _first(joined(inputs), settings["is_last"])
        padded = _padded(image, settings["padding"], LOWEST if is_max else 0.0)
        windows = _windows(padded, settings["sides"], settings)
        axes = tuple(range(-len(settings["sides"]), 0))
        outputs: Float32 = windows.max(axes) if is_max else windows.mean(axes, dtype=np.float32)
        return np.moveaxis(outputs, 1, -1).copy() if settings["is_last"] else outputs

    return compute


def _first(image: Any, is_last: bool) -> Any:
    return np.moveaxis(image, -1, 1) if is_last else image


def _padded(image: Any, padding: Sequence[tuple[int, int]], filler: Any) -> Any:
    if not any(map(any, padding)):
        return image
    return np.pad(image, [(0, 0), (0, 0), *padding], constant_values=filler)


def _windows(image: Any, sides: Sequence[int], settings: Mapping[str, Any]) -> Any:
    """Every place of the window: `(B, channels, *places, *sides)`, a view."""
    gaps, axes = settings["dilation"], tuple(range(2, image.ndim))
    spread = [gap * (side - 1) + 1 for gap, side in zip(gaps, sides, strict=True)]
    windows = sliding_window_view(image, spread, axes)
    steps = [slice(None, None, step) for step in settings["stride"]]
    inside = [slice(None, None, gap) for gap in gaps]
    return windows[tuple([slice(None), slice(None), *steps, *inside])]


Recur = Callable[[list[Any], Sequence[Any], int], tuple[Float32, list[Float32]]]
"""From what goes in, states and the number of sequences to what comes out and the next states."""


def _copied(inputs: list[Any]) -> Float32:
    """The joined inputs as a copy: activations write in place."""
    return np.array(inputs[0]) if len(inputs) == 1 else np.concatenate(inputs, -1)


def _activation(step: Step, weights: Weights) -> Compute:
    act = ACTIVATIONS[step.layer.value]

    def compute(inputs: list[Any]) -> Float32:
        values = _copied(inputs)
        if act is not None:
            act(values)
        return values

    return compute


def _dense(step: Step, weights: Weights) -> Compute:
    weight = weights["weight"] if step.settings["is_turned"] else weights["weight"].T
    kernel, bias = np.ascontiguousarray(weight), weights.get("bias")

    def compute(inputs: list[Any]) -> Float32:
        sums: Float32 = np.matmul(joined(inputs), kernel)
        if bias is not None:
            sums += bias
        return sums

    return compute


def _layer_norm(step: Step, weights: Weights) -> Compute:
    weight, bias = weights["weight"], weights.get("bias")
    axes = tuple(range(-step.settings["axes"], 0))
    epsilon = np.float32(step.settings["epsilon"])

    def compute(inputs: list[Any]) -> Float32:
        values = _copied(inputs)
        values -= values.mean(axes, keepdims=True)
        values /= np.sqrt((values * values).mean(axes, keepdims=True) + epsilon)
        values *= weight
        if bias is not None:
            values += bias
        return values

    return compute


def _dueling(step: Step, weights: Weights) -> Compute:
    if step.settings["atoms"] > 1:
        return partial(FORMULAS["dueling"], step, weights)
    return lambda inputs: dueling_arrays(inputs[0], inputs[1])


def _expected(step: Step, weights: Weights) -> Compute:
    low, high = step.layer.value
    atoms = support(step.settings["atoms"], low, high)  # once, not in each pass
    shape = (-1, *step.shape, len(atoms))
    return lambda inputs: expected_return(joined(inputs).reshape(shape), atoms)


def _squash(step: Step, weights: Weights) -> Compute:
    low, half = weights["low_action"], weights["action_range"] * HALF

    def compute(inputs: list[Any]) -> Float32:
        # By way of tanh: sigmoid(2x) without an overflow to silence.
        bent: Float32 = np.tanh(joined(inputs))
        bent += ONE
        bent *= half
        bent += low
        return bent

    return compute


def _lstm(step: Step, weights: Weights) -> Recur:
    layers = []
    for index in range(step.settings["layers"]):
        wide, high = (weights[f"{part}_l{index}"] for part in ("weight_ih", "weight_hh"))
        if step.settings["is_turned"]:
            wide, high = wide.T, high.T
        zeros = np.zeros(len(wide), np.float32)
        biases = (weights.get(f"{part}_l{index}", zeros) for part in ("bias_ih", "bias_hh"))
        layers.append(NumpyLstm(wide, high, *biases))

    single = layers[0] if len(layers) == 1 else None

    def recur(
        inputs: list[Any], state: Sequence[Any], sequences: int
    ) -> tuple[Float32, list[Float32]]:
        rows = len(inputs[0])
        if single is not None and rows == sequences:
            h, c = state
            after = [*single.step(inputs, np.asarray(h, np.float32), np.asarray(c, np.float32))]
            return after[0], after
        after, parts = [], iter(state)
        if rows == sequences:  # one step of each
            for layer in layers:
                h, c = np.asarray(next(parts), np.float32), np.asarray(next(parts), np.float32)
                h, c = layer.step(inputs, h, c)
                inputs = [h]
                after += (h, c)
            return h, after
        x: Any = _sequences(joined(inputs), sequences)
        for layer in layers:
            h, c = np.asarray(next(parts), np.float32), np.asarray(next(parts), np.float32)
            x, h, c = layer.sequence(x, h, c)
            after += (h, c)
        return x.reshape(rows, -1), after

    return recur


def _gru(step: Step, weights: Weights) -> Recur:
    cells = step.settings["cells"]

    def recur(
        inputs: list[Any], state: Sequence[Any], sequences: int
    ) -> tuple[Float32, list[Float32]]:
        after: list[Float32] = []
        rows = len(inputs[0])
        x: Any = _sequences(joined(inputs), sequences)
        for index in range(step.settings["layers"]):
            h = np.asarray(state[index], np.float32)
            wide, high = (weights[f"{part}_l{index}"].T for part in ("weight_ih", "weight_hh"))
            first, second = (
                weights.get(f"{part}_l{index}", np.float32(0)) for part in ("bias_ih", "bias_hh")
            )
            sums = x @ wide + first
            outputs = np.empty((*x.shape[:2], cells), np.float32)
            for t in range(x.shape[1]):
                remembered, new = h @ high + second, sums[:, t]
                gates = remembered[:, : 2 * cells] + new[:, : 2 * cells]
                sigmoid(gates)
                reset, keep = gates[:, :cells], gates[:, cells:]
                fresh = np.tanh(new[:, 2 * cells :] + reset * remembered[:, 2 * cells :])
                h = fresh + keep * (h - fresh)
                outputs[:, t] = h
            after.append(h)
            x = outputs
        return x.reshape(rows, -1), after

    return recur


def _sequences(x: Float32, sequences: int) -> Float32:
    if sequences < 1 or len(x) % sequences:
        raise PieceError(
            "rows cannot be cut into sequences of one length",
            expected=f"a multiple of {sequences} sequences",
            found=f"{len(x)} rows",
        )
    return x.reshape(sequences, len(x) // sequences, -1)


RECURRENT: Final[Mapping[str, Callable[[Step, Weights], Recur]]] = {"gru": _gru, "lstm": _lstm}


def layer_of(step: Step, weights: Weights) -> Compute:
    """The function that computes a layer that is not recurrent."""
    kind = step.layer.kind
    return (
        _LAYERS[kind](step, weights) if kind in _LAYERS else partial(FORMULAS[kind], step, weights)
    )


_LAYERS: Final[Mapping[str, Callable[[Step, Weights], Compute]]] = {
    "activation": _activation,
    "convolution": convolution,
    "dense": _dense,
    "dueling": _dueling,
    "expected": _expected,
    "layer_norm": _layer_norm,
    "pool": pool,
    "squash": _squash,
}
