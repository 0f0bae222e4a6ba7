"""What TensorFlow RLModules inside old policies save: Ray 2.5 to 2.9, eager mode only.

Encoders come first (a shared one, or the actor's and the critic's), then the heads, layer by layer;
free log deviations follow the policy head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.spaces import Space

from ...core.errors import ConfigError
from ..models.defaults import get_filter_config
from ..models.leaves import network_kind
from .layers import Layer

Settings = Mapping[str, Any]


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
    """How many modules an activation is in torch."""
    return int(str(activation or "linear").lower() != "linear")
