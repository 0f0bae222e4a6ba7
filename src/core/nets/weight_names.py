"""The weights of a layer by prefix, with the suffixes of torch and Keras."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count
from typing import Final, NamedTuple

from ..errors import WeightsError
from ..text.near_names import near_names
from .description import Layer
from .kinds import KINDS

_STEMS: Final = ("", "._model.0", "._model.1", "._model")
"""RLlib's own layers keep torch's inside a list, behind an activation or a padding."""

_KERAS: Final[Mapping[str, Mapping[str, str]]] = {
    "batch_norm": {
        "weight": "gamma",
        "bias": "beta",
        "running_mean": "moving_mean",
        "running_var": "moving_variance",
    },
    "convolution": {"weight": "kernel", "bias": "bias"},
    "dense": {"weight": "kernel", "bias": "bias"},
    "embedding": {"weight": "embeddings"},
    "layer_norm": {"weight": "gamma", "bias": "beta"},
    "lstm": {"weight_ih": "kernel", "weight_hh": "recurrent_kernel", "bias_ih": "bias"},
}
_COUNTED: Final = "num_batches_tracked"
"""A counter that torch stores with the weights of a batch norm."""
_CELL: Final = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
_KERAS_STEMS: Final = ("", "/lstm_cell")
_FIRST: Final = {
    "batch_norm": "running_mean",
    "gru": "weight_ih",
    "lstm": "weight_ih",
    "squash": "low_action",
}
"""The part that each layer of a kind has; `weight` of the others."""


class Found(NamedTuple):
    """The weights of a layer by part; those of stacked layers as `weight_ih_l1`.

    With `is_keras` they lie as Keras has them: inputs first, channels last.
    """

    names: dict[str, str]
    is_keras: bool


def weights_of(layer: Layer, names: Collection[str]) -> Found:
    """The weights that a layer's prefix, or its own list, means.

    Raises:
        WeightsError: There are none of that name.
    """
    if layer.weights:
        for part, name in layer.weights.items():
            if name not in names:
                raise _missing(layer, f"{part}={name!r}", name, names)
        if first_part(layer.kind) not in layer.weights:
            raise WeightsError(
                f"layer {layer.name!r} of the network has no {first_part(layer.kind)!r}",
                expected=f"its name in weights = {{{first_part(layer.kind)} = ...}}",
                found=", ".join(layer.weights),
            )
        return Found(dict(layer.weights), is_keras=False)
    layer_weights = weights_below(layer.kind, layer.value, names)
    if layer_weights is None:
        raise _missing(layer, f"weights with the prefix {layer.value!r}", layer.value, names)
    return layer_weights


def weights_below(kind: str, prefix: str, names: Collection[str]) -> Found | None:
    """Return the weights of a layer with this prefix; None if there are none."""
    first = first_part(kind)
    if kind in ("lstm", "gru"):
        for suffix in ("", "_l0"):
            if f"{prefix}.weight_ih{suffix}" in names:
                return Found(_cells(prefix, bool(suffix), names), is_keras=False)
    else:
        for stem in _STEMS:
            by_part = {part: f"{prefix}{stem}.{part}" for part in (*KINDS[kind].parts, _COUNTED)}
            if by_part[first] in names:
                return Found({p: n for p, n in by_part.items() if n in names}, is_keras=False)
    for stem in _KERAS_STEMS:
        for separator in ("/", "."):
            for ending in ("", ":0"):
                by_part = {
                    part: f"{prefix}{stem}{separator}{torch_name}{ending}"
                    for part, torch_name in _KERAS.get(kind, {}).items()
                }
                if by_part.get(first) in names:
                    return Found({p: n for p, n in by_part.items() if n in names}, is_keras=True)
    return None


def first_part(kind: str) -> str:
    """The part that each layer of a kind has."""
    return _FIRST.get(kind, "weight")


def _cells(prefix: str, is_numbered: bool, names: Collection[str]) -> dict[str, str]:
    cells: dict[str, str] = {}
    for index in count():
        ending = f"_l{index}" if is_numbered else ""
        here = {f"{part}_l{index}": f"{prefix}.{part}{ending}" for part in _CELL}
        here = {part: name for part, name in here.items() if name in names}
        cells.update(here)
        if not here or not is_numbered:
            break
    return cells


def _missing(layer: Layer, what: str, name: str, names: Collection[str]) -> WeightsError:
    near = near_names(name, [each for each in names if len(each) < 200])
    stems = sorted({each.rpartition(".")[0] or each.rpartition("/")[0] or each for each in names})
    beside = near_names(name, stems) or near
    shown = ", ".join(stems[:12]) + (" ..." if len(stems) > 12 else "")
    return WeightsError(
        f"layer {layer.name!r} of the network has no such weights",
        expected=what,
        found=shown or "no weights",
        hint=f"did you mean {beside[0]!r}?" if beside else "use the names in the file.",
        layer=layer.name,
    )
