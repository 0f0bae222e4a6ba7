"""The forward pass of a described network in numpy, float32; equal to torch up to rounding.

Layers are combined if that is faster: consecutive dense layers become one `Stack`, and two stacks
over the same input are computed together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import numpy as np

from ..errors import PieceError, SpaceError
from .array_layers import RECURRENT, layer_of
from .binding import BoundNetwork, Step
from .layer_formulas import FORMULAS
from .numpy_layers import (
    ACTIVATIONS,
    ColumnStack,
    Dense,
    Float32,
    Stack,
    beside,
    entrance,
    quickest,
)

Known = dict[Any, Any]
Finish = Callable[[Any], Any]

_STATE: Final = 0
_SEQUENCES: Final = 1
_AFTER: Final = 2
"""Keys that a pass adds to the outputs of layers; the keys of outputs are strings."""


@dataclass(eq=False)
class _Run:
    """Layers that are computed at once, by `compute` or, dense ones in a row, as `layers`.

    `gives` names the outputs, side by side, with the width of each; `kind` is that of a single
    layer; `constant` the output of one that reads nothing.
    """

    reads: tuple[str, ...]
    gives: tuple[tuple[str, int], ...]
    compute: Callable[[Known], None] | None = None
    layers: tuple[Dense, ...] = ()
    kind: str = "dense"
    constant: Float32 | None = None

    def ready(self) -> Callable[[Known], None]:
        """The function that computes them."""
        if self.compute is not None:
            return self.compute
        (source,), stack = self.reads, Stack(self.layers)
        if len(self.gives) == 1:
            name = self.gives[0][0]

            def alone(values: Known) -> None:
                values[name] = stack(values[source])

            return alone
        parts = _parts(self.gives)

        def together(values: Known) -> None:
            outputs = stack(values[source])
            for name, part in parts:
                values[name] = outputs[..., part]

        return together


class ArrayNetwork:
    """A described network in numpy; it holds weights only, so threads may share it.

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
        outputs = bound.network.outputs
        self._what = "q" if "q" in outputs else "logits"
        self._acting, self._value = outputs[self._what], outputs.get("value")
        self._each = _runs(bound, weights)
        self._runs = _joined(self._each, set(outputs.values()))
        self._computes = [run.ready() for run in self._runs]
        self._inputs = tuple(bound.inputs.items())
        self._states = len(bound.states)

    def initial_state(self) -> list[Float32]:
        """The state at an episode's start, without batch; empty if the network has none."""
        return [np.zeros(shape, np.float32) for shape in self.bound.states]

    def __call__(
        self, inputs: Mapping[str, Any], state: Sequence[Any] = (), sequences: int | None = None
    ) -> tuple[dict[str, Float32], list[Float32]]:
        """Compute the outputs by name, `(B, n)`, values `(B,)`, and the state; see `compute`."""
        acting, value, after = self.compute(inputs, state, sequences)
        return {self._what: acting, **({} if value is None else {"value": value})}, after

    def compute(
        self, inputs: Mapping[str, Any], state: Sequence[Any], sequences: int | None
    ) -> tuple[Float32, Float32 | None, list[Float32]]:
        """Compute the actions' inputs, the value if the network has one, and the next state.

        `sequences` says how many sequences of one length the rows are; None where each is its own.

        Raises:
            SpaceError: What goes in has another size than the network sees.
            PieceError: The state is of another network, or rows are no sequences of one length.
        """
        if len(state) != self._states:
            raise PieceError(
                "this network needs its state",
                expected=f"{self._states} arrays",
                found=f"{len(state)} arrays",
                hint="pass the initial state at an episode's start, then what came out last.",
            )
        after: list[Float32] = []
        values: Known = {}
        if self._states:
            values = {_STATE: state, _SEQUENCES: sequences, _AFTER: after}
        for name, shape in self._inputs:
            x = np.asarray(inputs[name], np.float32)
            values[name] = x if x.shape[1:] == shape else shaped(name, x, shape)
        for compute in self._computes:
            compute(values)
        if self._value is None:
            return values[self._acting], None, after
        value = values[self._value]
        return values[self._acting], value[:, 0] if value.ndim == 2 else value.reshape(-1), after

    def from_rows(self) -> Callable[[Any], tuple[Any, Any]] | None:
        """Return a function from float32 observations to the action inputs and the value.

        None if the network does not start with dense layers, or has other inputs than observations.
        """
        first, *behind = self._runs
        read_later = {name for run in behind for name in run.reads} & set(self.bound.inputs)
        shape = self.bound.inputs.get("obs", ())
        is_dense = bool(first.layers) and first.reads == ("obs",) and not self._states
        if not is_dense or read_later or len(shape) != 1:
            return None
        stack, parts = Stack(first.layers), _parts(first.gives)
        acting, value, computes = self._acting, self._value, [run.ready() for run in behind]
        if not behind:
            place, at = dict(parts)[acting], None if value is None else dict(parts)[value].start
            is_whole = len(parts) == 1

            def dense(x: Any) -> tuple[Any, Any]:
                outputs = stack(x if x.shape[1:] == shape else shaped("obs", x, shape))
                inputs = outputs if is_whole else outputs[:, place]
                return inputs, None if at is None else outputs[:, at]

            return dense

        def whole(x: Any) -> tuple[Any, Any]:
            outputs = stack(x if x.shape[1:] == shape else shaped("obs", x, shape))
            values: Known = {name: outputs[:, part] for name, part in parts}
            for compute in computes:
                compute(values)
            return values[acting], None if value is None else values[value][:, 0]

        return whole

    def direct(self) -> tuple[ColumnStack | Stack, Finish | None] | None:
        """Return the network of the action inputs alone, if it starts with dense layers.

        The input are float32 observations `(B, n)`. The second value is what follows the dense
        layers, if anything. None if other layers use the observation, or if there is a state.
        """
        first, *behind = _joined(self._each, {self._acting})
        read_later = {name for run in behind for name in run.reads} & set(self.bound.inputs)
        is_dense = bool(first.layers) and first.reads == ("obs",) and not self.bound.states
        if not is_dense or read_later or len(self.bound.inputs["obs"]) != 1:
            return None
        return quickest(first.layers), _finish(first, behind, self._acting)


def _finish(first: _Run, behind: Sequence[_Run], name: str) -> Finish | None:
    """A function from the outputs of the first layers to the output `name`; None if they are it."""
    if not behind and len(first.gives) == 1:
        return None
    parts, computes = _parts(first.gives), [run.ready() for run in behind]

    def finish(outputs: Any) -> Any:
        values: Known = {part: outputs[..., place] for part, place in parts}
        for compute in computes:
            compute(values)
        return values[name]

    return finish


def _parts(gives: Sequence[tuple[str, int]]) -> list[tuple[str, slice]]:
    ends = accumulate(width for _, width in gives)
    return [(name, slice(end - width, end)) for (name, width), end in zip(gives, ends, strict=True)]


def shaped(name: str, x: Any, shape: tuple[int, ...]) -> Any:
    """Rows in another form of the same numbers."""
    if x.ndim and math.prod(x.shape[1:]) == math.prod(shape):
        return x.reshape(len(x), *shape)
    expected = ", ".join(map(str, ("B", *shape)))
    raise SpaceError(
        f"{'observations' if name == 'obs' else name} do not fit the network",
        expected=f"({expected})",
        found=str(x.shape),
    )


def _runs(bound: BoundNetwork, weights: Mapping[str, Any]) -> list[_Run]:
    runs: list[_Run] = []
    for step in bound.steps:
        arrays = {name: np.asarray(weights[at], np.float32) for name, at in step.weights.items()}
        gives = ((step.layer.name, step.shape[-1] if step.shape else 1),)
        dense = _dense(step, arrays)
        if dense is not None:
            runs.append(_Run(step.inputs, gives, None, (dense,)))
        else:
            constant = arrays["weight"] if step.layer.kind == "parameter" else None
            is_plain = step.layer.activation == "linear"
            kind = step.layer.kind if is_plain or step.layer.kind in RECURRENT else ""
            compute = _computed(step, arrays, len(bound.states))
            runs.append(_Run(step.inputs, gives, compute, (), kind, constant))
    return runs


def _dense(step: Step, weights: Mapping[str, Float32]) -> Dense | None:
    """A dense layer over one input; None of any other layer."""
    if step.layer.kind != "dense" or len(step.inputs) != 1:
        return None
    weight, bias = weights["weight"], weights.get("bias")
    kernel = np.ascontiguousarray(weight if step.settings["is_turned"] else weight.T)
    if bias is None:
        bias = np.zeros(kernel.shape[1], np.float32)
    return Dense(kernel, np.ascontiguousarray(bias), ACTIVATIONS[step.layer.activation])


def _states(step: Step) -> int:
    return int(step.settings["layers"]) * (2 if step.layer.kind == "lstm" else 1)


def _computed(step: Step, weights: Mapping[str, Float32], states: int) -> Callable[[Known], None]:
    layer, name, act = step.layer, step.layer.name, ACTIVATIONS[step.layer.activation]
    if layer.kind in RECURRENT:
        recur, count = RECURRENT[layer.kind](step, weights), _states(step)

        reads, first, is_only = step.inputs, step.state, count == states

        def advance(values: Known) -> None:
            inputs, state = [values[source] for source in reads], values[_STATE]
            before = state if is_only else state[first : first + count]
            outputs, after = recur(inputs, before, values[_SEQUENCES] or len(inputs[0]))
            values[_AFTER] += after
            if act is not None:
                act(outputs)
            values[name] = outputs

        return advance
    compute = layer_of(step, weights)
    if act is None and len(step.inputs) in (1, 2):
        source, other = step.inputs[0], step.inputs[-1]
        if len(step.inputs) == 1:

            def of_one(values: Known) -> None:
                values[name] = compute([values[source]])

            return of_one

        def of_two(values: Known) -> None:
            values[name] = compute([values[source], values[other]])

        return of_two

    def run(values: Known) -> None:
        inputs = [values[source] for source in step.inputs]
        outputs = compute(inputs) if inputs else np.repeat(compute([])[None], _rows(values), 0)
        if act is not None:
            outputs = np.array(outputs) if layer.kind in FORMULAS else outputs  # perhaps a view
            act(outputs)
        values[name] = outputs

    return run


def _rows(values: Known) -> int:
    return next((len(part) for name, part in values.items() if isinstance(name, str)), 1)


def _joined(runs: Sequence[_Run], ends: Collection[str]) -> list[_Run]:
    """The runs that lead to `ends`, or carry a state, with dense layers joined."""
    needed, chain = set(ends), list[_Run]()
    for run in reversed(runs):
        if run.gives[0][0] in needed or run.kind in RECURRENT:
            chain.insert(0, run)
            needed.update(run.reads)
    chained = _chained(_with_constants(chain, ends), ends)
    pairs = [
        (i, j)
        for i, one in enumerate(chained)
        for j, other in enumerate(chained[i + 1 :], i + 1)
        if one.layers and other.layers and one.reads == other.reads
    ]
    if len(pairs) != 1:
        return chained
    (i, j), gives = pairs[0], chained[pairs[0][0]].gives + chained[pairs[0][1]].gives
    one, other = chained[i], chained[j]
    both = beside(Stack(one.layers), Stack(other.layers))
    if both is not None:
        replaced = [_Run(one.reads, gives, None, both.layers)]
    else:
        both = entrance(Stack(one.layers), Stack(other.layers))
        if both is None:
            return chained
        # Inner names that no layer has.
        inner = tuple((f"{run.gives[0][0]}\0", run.layers[0].bias.size) for run in (one, other))
        replaced = [_Run(one.reads, inner, None, both.layers)]
        replaced += [
            _Run((name,), run.gives, None, run.layers[1:])
            for (name, _), run in zip(inner, (one, other), strict=True)
        ]
    rest = [run for place, run in enumerate(chained) if place not in (i, j)]
    return _chained([*rest[:i], *replaced, *rest[i:]], ends)


def _chained(runs: list[_Run], ends: Collection[str]) -> list[_Run]:
    """Dense layers merged with the next ones where only those read them."""
    readers, chains = _readers(runs), list[_Run]()
    places: dict[str, int] = {}  # of those found, by the first name that each gives
    for run in runs:
        source = run.reads[0] if run.layers else ""
        place = places.get(source)
        before = None if place is None else chains[place]
        joins = before is not None and bool(before.layers) and len(before.gives) == 1
        if before is None or place is None or not joins or source in ends or readers[source] > 1:
            place = len(chains)
            chains.append(run)
        else:
            chains[place] = _Run(before.reads, run.gives, None, before.layers + run.layers)
            del places[source]
        places.setdefault(run.gives[0][0], place)
    return chains


def _with_constants(runs: Sequence[_Run], ends: Collection[str]) -> list[_Run]:
    """Append constant parameters to the outputs of a dense layer, as units without inputs."""
    merged = list(runs)
    if not any(run.kind == "flatten" for run in runs):
        return merged
    makers, readers = {run.gives[0][0]: run for run in runs}, _readers(runs)
    for run in runs:
        parts = [makers.get(name) for name in run.reads] if run.kind == "flatten" else []
        one, other = parts if len(parts) == 2 else (None, None)
        if not one or not other or not one.layers or other.constant is None:
            continue
        (layer,), free = one.layers, other.constant.reshape(-1)
        is_own = layer.act is None and not {one.gives[0][0], other.gives[0][0]} & set(ends)
        if is_own and all(readers[name] == 1 for name in run.reads):
            weight = np.pad(layer.weight, [(0, 0), (0, free.size)])
            widened = Dense(weight, np.concatenate([layer.bias, free]))
            merged[merged.index(run)] = _Run(one.reads, run.gives, None, (widened,))
            merged = [each for each in merged if each is not one and each is not other]
    return merged


def _readers(runs: Sequence[_Run]) -> Mapping[str, int]:
    return Counter(name for run in runs for name in run.reads)
