"""The forward pass of a described network in numpy, float32; equal to torch's up to rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..errors import PieceError
from .activations import ACTIVATIONS, Float32, sigmoid
from .array_images import LOWEST, Compute, Weights, convolution, joined, pool
from .binding import BoundNetwork, Step
from .numpy_lstm import NumpyLstm

Recur = Callable[[Float32, Sequence[Any], int], tuple[Float32, list[Float32]]]


class ArrayNetwork:
    """A described network in numpy; it holds weights only, so threads may share it.

    Args:
        bound: The network, held to its weights.
        weights: Arrays by name.

    Example:
        >>> from .binding import bind
        >>> from .description import network_of
        >>> network = network_of({"layers": [{"dense": "out"}], "outputs": {"logits": "out"}})
        >>> weights = {"out.weight": np.ones((2, 3)), "out.bias": np.zeros(2)}
        >>> shapes = {name: array.shape for name, array in weights.items()}
        >>> net = ArrayNetwork(bind(network, shapes, {"obs": (3,)}), weights)
        >>> net({"obs": np.ones((1, 3))})[0]["logits"].tolist()
        [[3.0, 3.0]]
    """

    def __init__(self, bound: BoundNetwork, weights: Mapping[str, Any]) -> None:
        self.bound = bound
        held = {name: np.asarray(weights[name], np.float32) for name in bound.used}
        self._steps: list[tuple[Step, Compute | None, Recur | None]] = []
        for step in bound.steps:
            own = {part: held[name] for part, name in step.weights.items()}
            recur = _RECURRENT.get(step.layer.kind)
            if recur is not None:
                self._steps.append((step, None, recur(step, own)))
            else:
                self._steps.append((step, _LAYERS[step.layer.kind](step, own), None))

    def initial_state(self) -> list[Float32]:
        """The state at an episode's start, without batch; empty if the network has none."""
        return [np.zeros(shape, np.float32) for shape in self.bound.states]

    def __call__(
        self, inputs: Mapping[str, Any], state: Sequence[Any] = (), sequences: int | None = None
    ) -> tuple[dict[str, Float32], list[Float32]]:
        """Compute the outputs.

        Args:
            inputs: What goes in by name, `(B, ...)` each.
            state: One array `(S, ...)` per entry of `initial_state`.
            sequences: How many sequences of one length the rows are; None where each is its own.

        Returns:
            The outputs by name, `(B, n)`, values `(B,)`; and the state afterwards.
        """
        if len(state) != len(self.bound.states):
            raise PieceError(
                "this network needs its state",
                expected=f"{len(self.bound.states)} arrays",
                found=str(len(state)),
            )
        known: dict[str, Any] = {
            name: np.asarray(inputs[name], np.float32) for name in self.bound.inputs
        }
        rows = len(next(iter(known.values()))) if known else 1
        after: list[Float32] = []
        for step, compute, recur in self._steps:
            seen = [known[name] for name in step.inputs]
            if compute is not None:
                found = compute(seen) if seen else np.repeat(compute([])[None], rows, 0)
            else:
                assert recur is not None  # one of the two
                own = state[step.state : step.state + _states(step)]
                found, last = recur(joined(seen), own, sequences or rows)
                after += last
            act = ACTIVATIONS[step.layer.activation]
            if act is not None:
                act(found)
            known[step.layer.name] = found
        outputs = {what: known[name] for what, name in self.bound.network.outputs.items()}
        if "value" in outputs:
            outputs["value"] = outputs["value"].reshape(-1)
        return outputs, after


def _states(step: Step) -> int:
    return int(step.settings["layers"]) * (2 if step.layer.kind == "lstm" else 1)


def _copied(seen: list[Any]) -> Float32:
    """What goes in, as an array of its own: activations write in place."""
    return np.array(seen[0]) if len(seen) == 1 else np.concatenate(seen, -1)


def _activation(step: Step, weights: Weights) -> Compute:
    act = ACTIVATIONS[step.layer.value]

    def compute(seen: list[Any]) -> Float32:
        found = _copied(seen)
        if act is not None:
            act(found)
        return found

    return compute


def _dense(step: Step, weights: Weights) -> Compute:
    weight = weights["weight"] if step.settings["is_turned"] else weights["weight"].T
    kernel, bias = np.ascontiguousarray(weight), weights.get("bias")

    def compute(seen: list[Any]) -> Float32:
        found: Float32 = np.matmul(joined(seen), kernel)
        if bias is not None:
            found += bias
        return found

    return compute


def _layer_norm(step: Step, weights: Weights) -> Compute:
    weight, bias = weights["weight"], weights.get("bias")
    axes = tuple(range(-step.settings["axes"], 0))
    epsilon = np.float32(step.settings["epsilon"])

    def compute(seen: list[Any]) -> Float32:
        found = _copied(seen)
        found -= found.mean(axes, keepdims=True)
        found /= np.sqrt((found * found).mean(axes, keepdims=True) + epsilon)
        found *= weight
        if bias is not None:
            found += bias
        return found

    return compute


def _batch_norm(step: Step, weights: Weights) -> Compute:
    axes = len(step.shape)
    spread = np.sqrt(weights["running_var"] + np.float32(step.settings["epsilon"]))
    scale = weights.get("weight", np.float32(1)) / spread
    shift = weights.get("bias", np.float32(0)) - weights["running_mean"] * scale
    place = (-1,) if step.settings["is_last"] else (-1, *[1] * (axes - 1))

    def compute(seen: list[Any]) -> Float32:
        found: Float32 = joined(seen) * scale.reshape(place) + shift.reshape(place)
        return found

    return compute


def _embedding(step: Step, weights: Weights) -> Compute:
    table = weights["weight"]
    if step.settings["is_one_hot"]:
        return lambda seen: np.matmul(joined(seen), table)
    return lambda seen: table[joined(seen).astype(np.int64).clip(0, len(table) - 1)]


def _parameter(step: Step, weights: Weights) -> Compute:
    return lambda seen: weights["weight"].reshape(step.shape)


def _flatten(step: Step, weights: Weights) -> Compute:
    return lambda seen: np.concatenate([x.reshape(len(x), -1) for x in seen], -1)


def _reshape(step: Step, weights: Weights) -> Compute:
    return lambda seen: _copied(seen).reshape(-1, *step.shape)


def _permute(step: Step, weights: Weights) -> Compute:
    axes = (0, *(axis + 1 for axis in step.layer.value))
    return lambda seen: np.transpose(joined(seen), axes).copy()


def _slice(step: Step, weights: Weights) -> Compute:
    start, stop = step.layer.value
    return lambda seen: np.array(joined(seen)[..., start:stop])


def _clip(step: Step, weights: Weights) -> Compute:
    low, high = map(np.float32, step.layer.value)
    return lambda seen: np.clip(joined(seen), low, high)


def _mask(step: Step, weights: Weights) -> Compute:
    def compute(seen: list[Any]) -> Float32:
        with np.errstate(divide="ignore"):
            barred = np.maximum(np.log(np.maximum(seen[-1], 0)), LOWEST)
        found: Float32 = joined(seen[:-1]) + barred
        return found

    return compute


def _sum(step: Step, weights: Weights) -> Compute:
    return lambda seen: np.sum(seen, 0, dtype=np.float32)


def _product(step: Step, weights: Weights) -> Compute:
    return lambda seen: np.prod(seen, 0, dtype=np.float32)


def _dueling(step: Step, weights: Weights) -> Compute:
    return lambda seen: seen[1] + seen[0] - seen[0].mean(-1, keepdims=True)


def _divide(step: Step, weights: Weights) -> Compute:
    by = np.float32(step.layer.value)
    return lambda seen: joined(seen) / by


def _subtract(step: Step, weights: Weights) -> Compute:
    amount = np.float32(step.layer.value)
    return lambda seen: joined(seen) - amount


def _lstm(step: Step, weights: Weights) -> Recur:
    layers = []
    for index in range(step.settings["layers"]):
        wide, high = (weights[f"{part}_l{index}"] for part in ("weight_ih", "weight_hh"))
        if step.settings["is_turned"]:
            wide, high = wide.T, high.T
        zeros = np.zeros(len(wide), np.float32)
        biases = (weights.get(f"{part}_l{index}", zeros) for part in ("bias_ih", "bias_hh"))
        layers.append(NumpyLstm(wide, high, *biases))

    def recur(x: Float32, state: Sequence[Any], sequences: int) -> tuple[Float32, list[Float32]]:
        after: list[Float32] = []
        rows, x = len(x), _sequences(x, sequences)
        for index, layer in enumerate(layers):
            h, c = (np.asarray(each, np.float32) for each in state[2 * index : 2 * index + 2])
            x, h, c = layer.sequence(x, h, c)
            after += [h, c]
        return x.reshape(rows, -1), after

    return recur


def _gru(step: Step, weights: Weights) -> Recur:
    cells = step.settings["cells"]

    def recur(x: Float32, state: Sequence[Any], sequences: int) -> tuple[Float32, list[Float32]]:
        after: list[Float32] = []
        rows, x = len(x), _sequences(x, sequences)
        for index in range(step.settings["layers"]):
            h = np.asarray(state[index], np.float32)
            wide, high = (weights[f"{part}_l{index}"].T for part in ("weight_ih", "weight_hh"))
            first, second = (
                weights.get(f"{part}_l{index}", np.float32(0)) for part in ("bias_ih", "bias_hh")
            )
            seen = x @ wide + first
            outputs = np.empty((*x.shape[:2], cells), np.float32)
            for t in range(x.shape[1]):
                own, new = h @ high + second, seen[:, t]
                gates = own[:, : 2 * cells] + new[:, : 2 * cells]
                sigmoid(gates)
                reset, keep = gates[:, :cells], gates[:, cells:]
                fresh = np.tanh(new[:, 2 * cells :] + reset * own[:, 2 * cells :])
                h = fresh + keep * (h - fresh)
                outputs[:, t] = h
            after.append(h)
            x = outputs
        return x.reshape(rows, -1), after

    return recur


def _sequences(x: Float32, sequences: int) -> Float32:
    """Rows as `(S, T, n)`."""
    if sequences < 1 or len(x) % sequences:
        raise PieceError(
            "rows cannot be cut into sequences of one length",
            expected=f"a multiple of {sequences} sequences",
            found=f"{len(x)} rows",
        )
    return x.reshape(sequences, len(x) // sequences, -1)


_RECURRENT: Final[Mapping[str, Callable[[Step, Weights], Recur]]] = {"gru": _gru, "lstm": _lstm}
_LAYERS: Final[Mapping[str, Callable[[Step, Weights], Compute]]] = {
    "activation": _activation,
    "add": _sum,
    "batch_norm": _batch_norm,
    "clip": _clip,
    "convolution": convolution,
    "dense": _dense,
    "divide": _divide,
    "dueling": _dueling,
    "embedding": _embedding,
    "flatten": _flatten,
    "layer_norm": _layer_norm,
    "mask": _mask,
    "multiply": _product,
    "parameter": _parameter,
    "permute": _permute,
    "pool": pool,
    "reshape": _reshape,
    "slice": _slice,
    "subtract": _subtract,
}
