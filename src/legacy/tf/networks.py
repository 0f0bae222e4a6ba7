"""Arrays that TensorFlow saves of each network, in order.

Keras lists a model's layers by their distance from its outputs, the farthest first; of layers
equally far those on the way to the first output come first. Layers without weights count.

| network | layers, besides those of the value |
|---|---|
| dense | log_std, fc_1, ..., fc_n, fc_out |
| images | conv1, ..., convn, conv_out, post_fcnet_1, ... |
| nested | each part's network, then a dense one without outputs, then logits, value_out |
| LSTM on top | lstm, logits, values |
| attention on top | dense layers, norms and gates by unit, then dense ones: outputs, value |

A network that ends in its last hidden layer (`no_final_linear`) calls that one fc_out or conv_out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space

from ...core.errors import ConfigError
from ...core.formulas.convolutions import last_cells
from ..distributions.action_leaves import leaf_spaces
from ..models.defaults import get_filter_config
from ..models.leaves import network_kind
from .layers import Layer

Settings = Mapping[str, Any]


_UNSEEN = Layer("unseen", "", "")
"""A layer without weights between others."""


class Chain(NamedTuple):
    """The way from a model's input to one of its outputs.

    Args:
        layers: Those with weights.
        after: How many without weights follow them.
    """

    layers: Sequence[Layer]
    after: int = 0


def in_saved_order(*chains: Chain) -> list[Layer]:
    """All layers of a model with these outputs, as Keras lists them."""
    distance: dict[Layer, int] = {}
    for layers, after in chains:
        for away, layer in enumerate(reversed(layers), start=after):
            distance[layer] = max(away, distance.get(layer, 0))
    return sorted(distance, key=lambda layer: -distance[layer])  # stable: first chains first


def network(
    obs_space: Space[Any],
    num_outputs: int | None,
    config: Settings,
    torch: str = "",
    *,
    named: bool,
) -> list[Layer]:
    """Return the layers of the network for a space.

    A width of 0 is unknown, None means that the network ends in features. If numbers distinguish
    repeated names (`named`), the parts of a nested network are in order of creation.
    """
    kind = network_kind(obs_space)
    if kind == "nested":
        return nested(obs_space, num_outputs, config, torch, named=named)
    if kind == "image":
        return images(obs_space.shape or (), num_outputs, config, torch)
    return dense(num_outputs, config, torch)


def dense(num_outputs: int | None, config: Settings, torch: str = "") -> list[Layer]:
    """A fully connected network."""
    hiddens = [*(config.get("fcnet_hiddens") or []), *(config.get("post_fcnet_hiddens") or [])]
    ends_hidden = bool(config.get("no_final_linear")) and num_outputs is not None
    free = bool(config.get("free_log_std")) and num_outputs is not None

    layers = [
        Layer("dense", f"fc_{i}", f"{torch}_hidden_layers.{i - 1}._model.0", width)
        for i, width in enumerate(hiddens, start=1)
    ]
    below_value = layers
    if ends_hidden and hiddens:
        below_value = layers[:-1]
        last = layers[-1]._replace(saved="fc_out", width=num_outputs)
        layers = [*below_value, last]
    elif num_outputs is not None:
        width = num_outputs // 2 if free else num_outputs
        layers = [*layers, Layer("dense", "fc_out", f"{torch}_logits._model.0", width)]
    if not config.get("vf_share_layers"):
        below_value = [
            Layer("dense", f"fc_value_{i}", f"{torch}_value_branch_separate.{i - 1}._model.0", w)
            for i, w in enumerate(hiddens, start=1)
        ]
    value = Layer("dense", "value_out", f"{torch}_value_branch._model.0", 1)
    free_layers = (
        [Layer("array", "log_std", f"{torch}_append_free_log_std.log_std", width)] if free else []
    )
    return free_layers + in_saved_order(Chain(layers, int(free)), Chain([*below_value, value]))


def images(
    shape: tuple[int, ...], num_outputs: int | None, config: Settings, torch: str = ""
) -> list[Layer]:
    """Convolutions, all but the last padded, with dense layers behind them if there are any."""
    filters = config.get("conv_filters") or get_filter_config(shape)
    widths = [int(entry[0]) for entry in filters]
    post = list(config.get("post_fcnet_hiddens") or [])
    if num_outputs is None and last_cells(shape[:2], filters) != (1, 1):
        raise ConfigError("its convolutions leave more than a cell, in another order than torch's.")
    ends_hidden = bool(config.get("no_final_linear")) and num_outputs is not None
    layers = _convolutions("conv{}", f"{torch}_convs", widths)
    if ends_hidden and not post:
        layers[-1] = layers[-1]._replace(saved="conv_out", width=num_outputs)
    elif post:
        layers = _post(layers, post, num_outputs, torch, ends_hidden)
    elif num_outputs is not None:
        layers.append(Layer("conv", "conv_out", f"{torch}_logits._model.1", num_outputs))
    outputs = Chain(layers, 2 if num_outputs is None and not post else 1)

    if config.get("vf_share_layers"):
        value = Layer("dense", "value_out", f"{torch}_value_branch._model.0", 1)
        return in_saved_order(outputs, Chain([value]))
    branch = f"{torch}_value_branch_separate"
    value_layers = _convolutions("conv_value_{}", branch, widths)
    value = Layer("conv", "conv_value_out", f"{branch}.{len(widths)}._model.0", 1)
    return in_saved_order(outputs, Chain([*value_layers, value], 2))


def _convolutions(name: str, torch: str, widths: Sequence[int]) -> list[Layer]:
    last = len(widths) - 1
    # In torch, the padding is a separate module before the convolution.
    return [
        Layer("conv", name.format(i + 1), f"{torch}.{i}._model.{int(i < last)}", width)
        for i, width in enumerate(widths)
    ]


def _post(
    convolutions: list[Layer],
    post: list[int],
    num_outputs: int | None,
    torch: str,
    ends_hidden: bool,
) -> list[Layer]:
    """Convolutions and the dense layers behind them; on the way to outputs one is saved as conv."""
    twins = [f"{torch}_post_fcnet.{i}._model.0" for i in range(len(post))]
    if num_outputs is None:
        layers, widths, kinds = [*convolutions, _UNSEEN], post, ["dense"] * len(post)
        names = [f"post_fcnet_{i}" for i in range(len(post))]
    elif ends_hidden:
        layers = [*convolutions[:-1], convolutions[-1]._replace(saved="conv_out")]
        widths, kinds = [*post[:-1], num_outputs], ["dense"] * len(post)
        names = [f"post_fcnet_{i}" for i in range(len(post))]
    else:
        layers, widths = convolutions, [*post, num_outputs]
        kinds = ["cell"] + ["dense"] * len(post)
        names = ["conv_out", *(f"post_fcnet_{i}" for i in range(1, len(post) + 1))]
        twins.append(f"{torch}_logits._model.0")
    return layers + [Layer(*entry) for entry in zip(kinds, names, twins, widths, strict=True)]


def nested(
    obs_space: Space[Any],
    num_outputs: int | None,
    config: Settings,
    torch: str = "",
    *,
    named: bool,
) -> list[Layer]:
    """One network for each part of a nested observation, joined by a dense one; see `network`."""
    parts: dict[str, list[list[Layer]]] = {"cnn": [], "one_hot": [], "flatten": []}
    for i, space in enumerate(leaf_spaces(getattr(obs_space, "original_space", obs_space))):
        if isinstance(space, Box) and len(space.shape) == 3:
            kind, settings = "cnn", {"conv_filters": config.get("conv_filters")}
            part = images(space.shape, None, settings, f"{torch}{kind}_{i}.")
        else:
            kind = "one_hot" if isinstance(space, (Discrete, MultiDiscrete)) else "flatten"
            settings = {"fcnet_hiddens": config.get("fcnet_hiddens")}
            part = dense(None, settings, f"{torch}{kind}_{i}.")
        parts["cnn" if named else kind].append(part)
    layers = [layer for kind in parts.values() for part in kind for layer in part]
    joined = {"fcnet_hiddens": config.get("post_fcnet_hiddens")}
    layers += dense(None, joined, f"{torch}post_fc_stack.")
    if num_outputs is not None:
        layers.append(Layer("dense", "logits", f"{torch}logits_layer._model.0", num_outputs))
        layers.append(Layer("dense", "value_out", f"{torch}value_layer._model.0", 1))
    return layers


def recurrent(num_outputs: int, config: Settings) -> list[Layer]:
    """The LSTM on top of another network's features."""
    cells = int(config["lstm_cell_size"])
    return [
        Layer("lstm", "lstm", "lstm.", 4 * cells),
        Layer("dense", "logits", "_logits_branch._model.0", num_outputs),
        Layer("dense", "values", "_value_branch._model.0", 1),
    ]


_GATE = ("_w_r", "_w_z", "_w_h", "_u_r", "_u_z", "_u_h", "_bias_z")


def attention(num_outputs: int, config: Settings) -> list[Layer]:
    """The gated transformer on top of another network's features."""
    width = int(config["attention_dim"])
    layers = [Layer("dense", "dense", "gtrxl.linear_layer._model.0", width)]
    for i in range(int(config["attention_num_transformer_units"])):
        attend = f"gtrxl.attention_layers.{2 * i}"
        dense = f"gtrxl.attention_layers.{2 * i + 1}"
        layers += [
            Layer("array", "Variable", f"{attend}._layer._uvar"),
            Layer("array", "Variable", f"{attend}._layer._vvar"),
            Layer("plain", "dense", f"{attend}._layer._qkv_layer._model.0"),
            Layer("plain", "time_distributed", f"{attend}._layer._linear_layer._model.0", width),
            Layer("plain", "dense", f"{attend}._layer._pos_proj._model.0"),
            Layer("norm", "layer_normalization", f"{attend}._layer._input_layernorm", width),
            *_gate(attend),
            Layer("norm", "layer_normalization", f"{dense}._layer.0", width),
            Layer("dense", "dense", f"{dense}._layer.1._model.0"),
            Layer("dense", "dense", f"{dense}._layer.2._model.0", width),
            *_gate(dense),
        ]
    return [
        *layers,
        Layer("dense", "dense", "_logits_branch._model.0", num_outputs),
        Layer("dense", "dense", "_value_branch._model.0", 1),
    ]


def _gate(torch: str) -> list[Layer]:
    names = ["gru_gate{}/Variable" + (f"_{i}" if i else "") for i in range(len(_GATE))]
    twins = [f"{torch}._fan_in_layer.{part}" for part in _GATE]
    return [Layer("array", name, twin) for name, twin in zip(names, twins, strict=True)]


def holds_rlmodule(config: Settings) -> bool:
    """Whether a trainer config makes RLModules."""
    return any(config.get(k) is True for k in ("_enable_rl_module_api", "_enable_new_api_stack"))


def rlmodule(obs_space: Space[Any], num_outputs: int, config: Settings) -> list[Layer]:
    """The module of the actor-critic algorithms.

    Raises:
        ConfigError: The module has an LSTM or sees nested observations.
    """
    kind = network_kind(obs_space)
    if kind == "nested" or config["use_lstm"]:
        what = "with an LSTM" if config["use_lstm"] else "of nested observations"
        raise ConfigError(f"RLModules {what} are not described.")
    layers: list[Layer] = []
    shared = bool(config["vf_share_layers"])
    for name in ("encoder",) if shared else ("actor_encoder", "critic_encoder"):
        if kind == "image":
            filters = config["conv_filters"] or get_filter_config(obs_space.shape or ())
            step = 2 + _acts(config["conv_activation"])  # padding, convolution, activation
            layers += [
                Layer("conv", "conv2d", f"encoder.{name}.net.0.cnn.{step * i + 1}", int(entry[0]))
                for i, entry in enumerate(filters)
            ]
        else:
            hiddens = config["fcnet_hiddens"] or []
            layers += _dense(f"encoder.{name}", hiddens, config["fcnet_activation"])
    post, act = list(config["post_fcnet_hiddens"] or []), config["post_fcnet_activation"]
    free = bool(config["free_log_std"])
    means = num_outputs // 2 if free else num_outputs
    layers += _dense("pi", [*post, means], act)
    if free:
        layers.append(Layer("array", "log_std", "pi.log_std", means))
    return [*layers, *_dense("vf", [*post, 1], act)]


def _dense(name: str, widths: Sequence[int], act: Any) -> list[Layer]:
    step = 1 + _acts(act)
    return [
        Layer("dense", "dense", f"{name}.net.mlp.{step * i}", width)
        for i, width in enumerate(widths)
    ]


def _acts(activation: Any) -> int:
    """Return the number of torch modules of an activation."""
    return int(str(activation or "linear").lower() != "linear")
