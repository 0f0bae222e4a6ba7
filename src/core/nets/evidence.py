"""Recorded outputs that decide between guesses: which network gives them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np

from ..errors import RlconnectError
from ..types import Array
from .arrays import ArrayNetwork
from .binding import BoundNetwork, bind
from .description import Layer, Network
from .facts import Facts
from .image_guesses import other_scale
from .observed import Part, split_vector
from .proposal import Proposal

TOLERANCE: Final = 1e-3
"""A network gives what was recorded if no number differs by more, absolutely and relatively."""

_ROWS: Final = 16
_FEW_IMAGES: Final = 4
_TRIED: Final = ("relu", "tanh", "elu", "silu", "leaky_relu", "gelu", "sigmoid", "selu", "linear")
_COLUMNS: Final = {"logits": "action_dist_inputs", "value": "vf_preds", "q": "q_values"}
_MOST: Final = 4_000


@dataclass(frozen=True)
class Records:
    """Recorded observations and outputs, columns by name, and the states that went in.

    `obs` is nested where the observations are; `path` is where the records lie.
    """

    path: str
    columns: Mapping[str, Any]
    states: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Decision:
    """The network that fits the records best.

    The network that comes closest, how far it is from what was recorded, by output, and how many
    networks and recorded observations were tried.
    """

    network: Network
    errors: Mapping[str, float]
    tried: int
    rows: int

    @property
    def decided(self) -> list[str]:
        """The outputs that the network reproduces."""
        return [output for output, error in self.errors.items() if error <= TOLERANCE]

    def __str__(self) -> str:
        lines = [
            f"{output} within {error:.1e}" if error <= TOLERANCE else f"{output} off by {error:.2g}"
            for output, error in self.errors.items()
        ]
        sure = len(self.decided) == len(self.errors)
        verdict = "reproduces" if sure else "does not reproduce all of"
        return (
            f"the best of {self.tried:,} networks {verdict} the {self.rows} recorded steps: "
            f"{', '.join(lines)}"
        )


def decide(
    proposal: Proposal, facts: Facts, weights: Mapping[str, Any], records: Records
) -> Decision | None:
    """Let records decide which guess is right; None where they hold nothing to compare."""
    inputs = _seen(records, facts)
    if inputs is None:
        return None
    judge = _Judge(facts, weights, inputs, records)
    best: tuple[float, Network] | None = None
    for structure in _structures(proposal):
        for network in _uniform(structure):
            error = judge.total(network)
            if best is None or error < best[0]:
                best = error, network
        if best is not None and best[0] <= TOLERANCE:
            break
    if best is None:
        return None
    network = best[1]
    if best[0] > TOLERANCE:
        for structure in _structures(proposal):
            network = judge.refined(structure, network)
            if judge.total(network) <= TOLERANCE:
                break
    errors = judge.errors(network)
    return Decision(network, errors, judge.tried, judge.rows) if errors else None


class _Judge:
    def __init__(
        self,
        facts: Facts,
        weights: Mapping[str, Any],
        inputs: Mapping[str, Array],
        records: Records,
    ) -> None:
        self.facts, self.weights = facts, dict(weights)
        most = _FEW_IMAGES if any(part.ndim > 3 for part in inputs.values()) else _ROWS
        self.inputs = {name: part[:most] for name, part in inputs.items()}
        self.rows = len(next(iter(self.inputs.values())))
        self.states = [state[: self.rows] for state in records.states]
        self.wanted = {
            output: np.asarray(records.columns[column], np.float64)[: self.rows]
            for output, column in _COLUMNS.items()
            if column in records.columns
        }
        if "logits" in self.wanted and "q" not in self.wanted and facts.is_q:
            self.wanted["q"] = self.wanted["logits"]
        self.tried = 0
        self._bound: dict[Any, BoundNetwork] = {}

    def errors(self, network: Network) -> dict[str, float]:
        """Return the error of each recorded output; empty if none can be compared."""
        self.tried += 1
        try:
            outputs = self._outputs(network)
        except (RlconnectError, ValueError, FloatingPointError):
            return {}
        errors = {}
        for output, expected in self.wanted.items():
            if output in outputs and outputs[output].size == expected.size:
                computed = outputs[output].reshape(expected.shape)
                # Masked actions are as low as floats go, here and there.
                near = np.abs(computed - expected) / (1 + np.abs(expected))
                errors[output] = float(np.max(np.where(expected < -1e30, computed > -1e30, near)))
        return {output: e if np.isfinite(e) else np.inf for output, e in errors.items()}

    def total(self, network: Network) -> float:
        """The largest error; infinite where nothing can be compared."""
        return max(self.errors(network).values(), default=np.inf)

    def refined(self, structure: Network, start: Network) -> Network:
        """Return the best network of a structure, with activations chosen per part."""
        best = (self.total(start), start)
        for output in ("logits", "q", "value"):
            if output not in self.wanted or output not in structure.outputs:
                continue
            base = best[1] if _key(best[1]) == _key(structure) else structure
            best_of_layer = (self.errors(base).get(output, np.inf), base)
            for network in _mixed(base, output):
                if self.tried > _MOST or best_of_layer[0] <= TOLERANCE:
                    break
                error = self.errors(network).get(output, np.inf)
                if error < best_of_layer[0]:
                    best_of_layer = error, network
            total = self.total(best_of_layer[1])
            if total < best[0] or _key(best[1]) == _key(structure):
                best = total, best_of_layer[1]
        return best[1]

    def _outputs(self, network: Network) -> Mapping[str, Any]:
        shapes = {name: part.shape[1:] for name, part in self.inputs.items()}
        bound = bind(network, self.facts.shapes, shapes)
        with np.errstate(all="ignore"):
            states = self.states
            if len(states) != len(bound.states):
                if states:
                    return {}
                states = [np.zeros((self.rows, *shape), np.float32) for shape in bound.states]
            return ArrayNetwork(bound, self.weights)(self.inputs, states)[0]


def _structures(proposal: Proposal) -> Iterator[Network]:
    for network in (proposal.network, *proposal.others):
        yield network
        if any(layer.kind == "convolution" for layer in network.layers):
            yield other_scale(network)


def _uniform(network: Network) -> Iterator[Network]:
    """The network with one activation for all of its hidden layers."""
    yield network
    hidden = _hidden(network)
    for name in _TRIED:
        yield _with(network, dict.fromkeys(hidden, name))


def _mixed(network: Network, output: str) -> Iterator[Network]:
    """The network with activations by kind of layer, among those that lead to an output."""
    leading = _leading_to(network, network.outputs[output])
    layers = [layer for layer in network.layers if layer.name in leading]
    groups = [
        [layer.name for layer in layers if layer.kind == "convolution"],
        [layer.name for layer in layers if layer.kind == "dense"][:-1],
    ]
    hidden = set(_hidden(network))
    groups = [[name for name in group if name in hidden] for group in groups]
    groups = list(filter(None, groups))
    last = [group[-1] for group in groups if len(group) > 1][-1:]
    choices = [*groups, last] if last else groups
    for names in product(_TRIED, repeat=len(choices)):
        by_group = zip(choices, names, strict=True)
        yield _with(network, {layer: name for group, name in by_group for layer in group})
    norms = [layer.name for layer in layers if layer.kind.endswith("_norm")]
    for name in _TRIED if norms else ():  # in front of norms, or behind them
        yield _with(
            network, {**{x: name for x in norms}, **{x: "linear" for g in groups for x in g}}
        )


def _with(network: Network, activations: Mapping[str, str]) -> Network:
    layers = tuple(
        replace(layer, activation=activations.get(layer.name, layer.activation))
        for layer in network.layers
    )
    return replace(network, layers=layers)


def _hidden(network: Network) -> list[str]:
    """Layers whose activation may differ: those that other layers read."""
    heads = set(network.outputs.values())
    read = {name for layer in network.layers for name in layer.inputs}
    return [
        layer.name
        for layer in network.layers
        if layer.kind in ("dense", "convolution")
        and layer.name in read
        and layer.name not in heads
        and not layer.name.startswith(("advantage_module.", "value_module."))
        and not _is_joined_output(network, layer)
    ]


def _is_joined_output(network: Network, layer: Layer) -> bool:
    """True if only a join of outputs, or a mask, reads a layer."""
    readers = [each for each in network.layers if layer.name in each.inputs]
    return all(
        each.kind == "mask" or (each.kind == "flatten" and len(each.inputs) > 1) for each in readers
    )


def _leading_to(network: Network, name: str) -> set[str]:
    names = {name}
    for layer in reversed(network.layers):
        if layer.name in names:
            names |= set(layer.inputs)
            if isinstance(layer.value, (list, tuple)):
                names |= {each for each in layer.value if isinstance(each, str)}
    return names


def _key(network: Network) -> Any:
    """A key that networks share if they differ in activations only."""
    return str([replace(layer, activation="linear") for layer in network.layers])


def _seen(records: Records, facts: Facts) -> dict[str, Array] | None:
    """The recorded observations by name; None if they do not fit the spaces."""
    obs, shapes = records.columns.get("obs"), facts.inputs
    if obs is None:
        return None
    if isinstance(obs, Mapping):
        columns = dict(_named(obs, "obs"))
        return columns if columns.keys() & shapes.keys() - {"obs"} else None
    rows = np.asarray(obs, np.float32)
    obs_shape = shapes.get("obs", rows.shape[1:])
    if int(np.prod(rows.shape[1:])) != int(np.prod(obs_shape)):
        return None
    vector = rows.reshape(len(rows), -1)
    starts: dict[str, Part] = facts.parts or {"obs": Part(0, vector.shape[1], tuple(obs_shape))}
    columns = split_vector(vector, starts, starts)
    for name in ("prev_actions", "prev_rewards"):
        if name in records.columns:
            column = np.asarray(records.columns[name], np.float32)
            if name == "prev_rewards":
                columns[name] = column.reshape(-1, 1)
            elif column.ndim == 1 and facts.action_width > 1:
                columns[name] = np.eye(facts.action_width, dtype=np.float32)[column.astype(np.intp)]
            else:
                columns[name] = column.reshape(len(column), -1)
    return columns


def _named(value: Mapping[str, Any], name: str) -> Iterator[tuple[str, Array]]:
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield from _named(part, f"{name}.{key}")
        else:
            yield f"{name}.{key}", np.asarray(part, np.float32)
