"""A network in one line of words, from its config and the shapes of its weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ..algorithms import NETWORKS, acts_by_values, family_of
from ..errors import ConfigError
from ..nets.description import Layer, Network, network_of
from ..nets.setting import NETWORK
from .records.records import ModuleRecord, PolicyRecord
from .records.weights import WeightTable


def network(record: PolicyRecord | ModuleRecord) -> str:
    """The network in one line, from its config and the shapes of its weights."""
    kind = _described(record)
    if not kind and isinstance(record, PolicyRecord) and record.custom_model:
        kind = f"custom model {record.custom_model}"
    kind = kind or ", ".join(_words(record)) or "an unknown network"
    return f"{kind} ({record.weights.parameter_count:,} numbers in {len(record.weights)} arrays)"


def _described(record: PolicyRecord | ModuleRecord) -> str:
    """A network that is data in words; empty for any other."""
    network = record.model_config.get(NETWORK)
    try:
        return "" if network is None else in_words(network_of(network))
    except ConfigError:
        return "a described network that cannot be read"


def _words(record: PolicyRecord | ModuleRecord) -> Iterator[str]:
    config = record.config if isinstance(record, PolicyRecord) else record.model_config
    algorithm = record.algorithm if isinstance(record, PolicyRecord) else ""
    networks = NETWORKS.get(family_of(algorithm))
    if networks:
        names = ("actor", "twin critics" if config.get("twin_q") else "critic")
        for name, (below, hiddens, activation) in zip(names, networks, strict=True):
            settings = config.get(below) if below else config
            layer_settings = settings if isinstance(settings, Mapping) else {}
            yield f"{name} {_dense(layer_settings, hiddens, activation)}"
        return
    yield from _layers(record.model_config, record.weights)
    if acts_by_values(algorithm) or algorithm == "QMIX":
        yield from _heads(config)
    else:
        yield from _value_net(record)


def _layers(model: Mapping[str, Any], weights: WeightTable) -> Iterator[str]:
    ranks = (len(weights.describe(name)[0]) for name in weights)
    if 4 in ranks or any("conv" in name or ".cnn." in name for name in weights):
        yield "convolutions"
    else:
        key = "fcnet_hiddens" if "fcnet_hiddens" in model else "fc_hiddens"
        dense = _dense(model, key, "fcnet_activation")
        if dense:
            yield dense
    if model.get("use_lstm") or any("lstm" in name for name in weights):
        yield f"LSTM {model.get('lstm_cell_size', '')}".strip()
    if model.get("use_attention"):
        yield "attention (GTrXL)"


def _heads(config: Mapping[str, Any]) -> Iterator[str]:
    hiddens = config.get("hiddens")
    name = "dueling heads" if config.get("dueling") else "head"
    if isinstance(hiddens, Sequence) and hiddens:
        yield f"{name} {_sizes(hiddens)} relu"
    atoms = config.get("num_atoms")
    if isinstance(atoms, int) and 1 < atoms < 10_000:
        yield f"{atoms} atoms"
    if config.get("noisy"):
        yield "noisy layers"


def _value_net(record: PolicyRecord | ModuleRecord) -> Iterator[str]:
    names = list(record.weights)
    separate = ("_value_branch_separate", "critic_encoder", "fc_value_")
    if any(part in name for name in names for part in separate):
        yield "separate value net"
    elif record.model_config.get("vf_share_layers") is True and any(
        name.startswith("vf.") or "value" in name for name in names
    ):
        yield "shared value net"


def _dense(config: Mapping[str, Any], hiddens: str, activation: str) -> str:
    """Sizes and activation as in 'dense 256-256 relu'; empty without dense layers."""
    sizes = config.get(hiddens)
    if not isinstance(sizes, Sequence) or isinstance(sizes, str) or not sizes:
        return ""
    word = config.get(activation)
    return f"dense {_sizes(sizes)} {word if isinstance(word, str) else ''}".strip()


def _sizes(sizes: Sequence[Any]) -> str:
    shown = "-".join(str(size)[:8] for size in sizes[:8])
    return f"{shown}-..." if len(sizes) > 8 else shown


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
