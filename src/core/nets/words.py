"""A described network in one line of words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from .description import Layer, Network

_WEIGHTLESS = ("flatten", "permute", "reshape", "slice", "clip", "divide", "subtract", "activation")


def in_words(network: Network) -> str:
    """The layers that have weights, by kind, and the outputs.

    Example:
        >>> from .description import network_of
        >>> layers = [{"dense": "a", "activation": "tanh"}, {"lstm": "b"}, {"dense": "c"}]
        >>> in_words(network_of({"layers": layers, "outputs": {"logits": "c"}}))
        'described: dense tanh, lstm, dense -> logits'
    """
    shown = [layer for layer in network.layers if layer.kind not in _WEIGHTLESS]
    return f"described: {', '.join(_runs(shown))} -> {', '.join(network.outputs)}"


def _runs(layers: list[Layer]) -> Iterator[str]:
    for (kind, activation), run in groupby(layers, lambda layer: (layer.kind, layer.activation)):
        count = len(list(run))
        words = kind.replace("_", " ") + ("" if activation == "linear" else f" {activation}")
        yield words if count == 1 else f"{count} {words}"


def layer_words(network: Network, guessed: tuple[str, ...] = ()) -> list[str]:
    """Each layer in a line; a question mark behind an activation that is a guess.

    Example:
        >>> from .description import network_of
        >>> layers = [{"dense": "fc", "activation": "relu"}, {"dense": "out"}]
        >>> layer_words(network_of({"layers": layers, "outputs": {"logits": "out"}}), ("fc",))
        ['fc: dense of obs, relu (?)', 'out: dense of fc -> logits']
    """
    heads = {name: output for output, name in network.outputs.items()}
    lines = []
    for layer in network.layers:
        sources = layer.inputs or tuple(map(str, _listed(layer.value)))
        words = f"{layer.name}: {layer.kind.replace('_', ' ')} of {', '.join(sources)}"
        if layer.kind == "parameter":
            words = f"{layer.name}: a parameter"
        settings = ", ".join(f"{name} {value}" for name, value in layer.settings.items())
        words += f", {settings}" if settings else ""
        if layer.activation != "linear":
            words += f", {layer.activation}{' (?)' if layer.name in guessed else ''}"
        lines.append(words + (f" -> {heads[layer.name]}" if layer.name in heads else ""))
    return lines


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []
