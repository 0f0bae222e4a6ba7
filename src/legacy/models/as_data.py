"""Networks of the old stack as data, read off the names of their weights; no torch.

Only what numpy computes as Ray did: dense layers, plain or under an LSTM, and RLModules of them.
Anything else is a `ConfigError`, which leaves the network to torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from typing import Any, Final

from ...core.errors import ConfigError
from ...core.nets import Layer, Network
from ...core.nets.numpy_layers import described_activation
from .defaults import with_defaults

Shapes = Mapping[str, tuple[int, ...]]
"""Shapes of the weights of a policy, by Ray's names."""

_CATALOG: Final = ("_hidden_layers.", "_logits", "_value_branch", "lstm.", "_append_free_log_std.")
"""Prefixes of weight names in networks of dense layers and an LSTM."""

_UNREAD: Final = (".log_std_clip_param_const", ".sigma_w", ".sigma_b")
"""Ends of names of weights that acting does not need: bounds that do not bind, and noise."""


def catalog_network(
    shapes: Shapes, model_config: Mapping[str, Any], *, acts_by: str = "logits", value: str = ""
) -> Network:
    """Describe a catalog network, or the RLModule of an old policy, as data.

    Args:
        shapes: Of the weights by Ray's names.
        model_config: The model settings.
        acts_by: The type of its outputs: `logits` or `q`.
        value: The name of the value output; empty to leave it out.

    Raises:
        ConfigError: It is of a kind that only torch runs.
    """
    config = with_defaults(model_config)
    if config["custom_model"] or config["use_attention"]:
        raise ConfigError("this network runs in torch only: it is custom or has attention.")
    if is_dense_module(shapes):
        policy, worth = _module(shapes, config)
    else:
        refuse_others(shapes, _CATALOG)
        is_recurrent = "lstm.weight_ih_l0" in shapes
        policy, worth = (_lstm if is_recurrent else _dense)(shapes, config)
    layers = {layer.name: layer for layer in (*policy, *worth)}
    if not policy:
        raise ConfigError("this network runs in torch only: it has no layers.")
    outputs = {acts_by: policy[-1].name, **({value: worth[-1].name} if value and worth else {})}
    unread = ("_value_branch_separate.",) if "lstm.weight_ih_l0" in shapes else ()
    return Network(tuple(layers.values()), outputs, shapes=read_shapes(shapes, unread))


def is_dense_module(shapes: Shapes) -> bool:
    """Whether weights are those of an RLModule of dense layers only."""
    return any(name.startswith("encoder.") for name in shapes) and all(
        ".net.mlp." in name and len(shape) == (2 if name.endswith(".weight") else 1)
        for name, shape in shapes.items()
        if not name.endswith(_UNREAD)
    )


def trunk(shapes: Shapes, model_config: Mapping[str, Any], prefix: str = "") -> list[Layer]:
    """A fully connected network without its value branch.

    Raises:
        ConfigError: It is of another kind, which only torch runs.
    """
    config = with_defaults(model_config)
    rest_shapes = {
        name.removeprefix(prefix): shape
        for name, shape in shapes.items()
        if name.startswith(prefix)
    }
    refuse_others(rest_shapes, ("_hidden_layers.", "_logits.", "_value_branch"))
    if config["custom_model"] or config["free_log_std"]:
        raise ConfigError("this network runs in torch only: it is custom or has free deviations.")
    layers = dense_layers(shapes, f"{prefix}_hidden_layers.{{}}", "obs", _activation(config))
    if f"{prefix}_logits._model.0.weight" in shapes:
        layers.append(dense_layer(shapes, f"{prefix}_logits", end_of(layers)))
    return layers


def dense_layers(
    shapes: Shapes, pattern: str, source: str, activation: str = "linear"
) -> list[Layer]:
    """The dense layers whose names are a pattern with the numbers 0, 1..., one after the other."""
    layers: list[Layer] = []
    for name in takewhile(lambda name: has(shapes, name), map(pattern.format, count())):
        layers.append(dense_layer(shapes, name, end_of(layers, source), activation))
    return layers


def dense_layer(shapes: Shapes, name: str, source: str, activation: str = "linear") -> Layer:
    """One dense layer, or a noisy one without its noise, by the name of the module that it is."""
    is_noisy = f"{name}.w" in shapes
    inner = "" if f"{name}.weight" in shapes else "._model.0"
    parts = ("w", "b") if is_noisy else (f"{inner}.weight"[1:], f"{inner}.bias"[1:])
    named = {"weight": f"{name}.{parts[0]}", "bias": f"{name}.{parts[1]}"}
    return Layer("dense", name, name, (source,), activation, {"turned": is_noisy}, named)


def end_of(layers: Sequence[Layer], source: str = "obs") -> str:
    """Return the name of the output of consecutive layers; the source if there are none."""
    return layers[-1].name if layers else source


def has(shapes: Shapes, name: str) -> bool:
    """Whether there are weights of a module."""
    is_usual = f"{name}._model.0.weight" in shapes
    return is_usual or any(key.startswith(f"{name}.") for key in shapes)


def read_shapes(shapes: Shapes, unread: tuple[str, ...] = ()) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights for inference, without names with these prefixes."""
    return {
        name: shape
        for name, shape in shapes.items()
        if not name.endswith(_UNREAD) and not (unread and name.startswith(unread))
    }


def acting(layers: Sequence[Layer], shapes: Shapes, acts_by: str) -> Network:
    """The network of layers that acting needs; no others of the weights have a place in it."""
    if not layers:
        raise ConfigError("this network runs in torch only: it has no layers.")
    names = [name for layer in layers for name in layer.weights.values()]
    own_shapes = {name: shapes[name] for name in names if name in shapes}
    return Network(tuple(layers), {acts_by: layers[-1].name}, shapes=own_shapes)


def refuse_others(shapes: Shapes, prefixes: tuple[str, ...]) -> None:
    """Leave a network to torch that has weights of other names, or images."""
    foreign = [name for name in shapes if not name.startswith(prefixes)]
    if foreign or max(map(len, shapes.values()), default=0) > 2:
        raise ConfigError(f"this network runs in torch only: it has {foreign[:3] or 'images'}.")


Branches = tuple[list[Layer], list[Layer]]
"""The layers that lead to the outputs, and those that lead to the value."""


def _dense(shapes: Shapes, config: Mapping[str, Any]) -> Branches:
    act = _activation(config)
    hidden = dense_layers(shapes, "_hidden_layers.{}", "obs", act)
    policy = list(hidden)
    if has(shapes, "_logits"):
        policy.append(dense_layer(shapes, "_logits", end_of(hidden)))
        if config["free_log_std"]:
            free = Layer("parameter", "_append_free_log_std.log_std", "log_std", ())
            both = Layer("flatten", True, "logits", (policy[-1].name, free.name))
            policy += [free, both]
    separate = dense_layers(shapes, "_value_branch_separate.{}", "obs", act)
    below = separate or hidden
    return policy, [*below, dense_layer(shapes, "_value_branch", end_of(below))]


def _lstm(shapes: Shapes, config: Mapping[str, Any]) -> Branches:
    hidden = dense_layers(shapes, "_hidden_layers.{}", "obs", _activation(config))
    beside = [f"prev_{what}s" for what in ("action", "reward") if config[f"lstm_use_prev_{what}"]]
    cells = Layer("lstm", "lstm", "lstm", (end_of(hidden), *beside))
    heads = [dense_layer(shapes, f"_{name}_branch", "lstm") for name in ("logits", "value")]
    return [*hidden, cells, heads[0]], [*hidden, cells, heads[1]]


def _module(shapes: Shapes, config: Mapping[str, Any]) -> Branches:
    act = described_activation(config["fcnet_activation"])
    # BC has one encoder, which has no name, and no values.
    places = ("encoder.encoder", "encoder")
    shared = next(filter(None, (_mlp(shapes, place, "obs", act, act) for place in places)), [])
    actor = shared or _mlp(shapes, "encoder.actor_encoder", "obs", act, act)
    critic = shared or _mlp(shapes, "encoder.critic_encoder", "obs", act, act)
    post = described_activation(config["post_fcnet_activation"])
    worth = _mlp(shapes, "vf", end_of(critic), post)
    policy = [*actor, *_mlp(shapes, "pi", end_of(actor), post)]
    return policy, [*critic, *worth] if worth or not shared else []


def _mlp(shapes: Shapes, place: str, source: str, act: str, last: str = "linear") -> list[Layer]:
    """Dense layers of an RLModule: between them in the list stand their activations."""
    step = 1 if act == "linear" else 2
    names = [f"{place}.net.mlp.{step * number}" for number in range(len(shapes))]
    there = list(takewhile(lambda name: f"{name}.weight" in shapes, names))
    layers: list[Layer] = []
    for name in there:
        activation = last if name == there[-1] else act
        layers.append(dense_layer(shapes, name, end_of(layers, source), activation))
    return layers


def _activation(config: Mapping[str, Any]) -> str:
    """Ray uses the post activation only where there is nothing before the post layers."""
    first = "fcnet" if config["fcnet_hiddens"] else "post_fcnet"
    return described_activation(config[f"{first}_activation"])
