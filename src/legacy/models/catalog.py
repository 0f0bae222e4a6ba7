"""Which network a space and a set of model settings give, as the old stack chose it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from gymnasium.spaces import Dict, Space, Tuple

from ...core.errors import ConfigError
from ...core.text.near_names import did_you_mean
from ..distributions.choice import CUSTOM_MODELS
from .attention import AttentionWrapper
from .base import TorchModelV2
from .complex import ComplexInputNetwork
from .defaults import with_defaults
from .fcnet import FullyConnectedNetwork
from .leaves import network_kind
from .lstm import LSTMWrapper
from .plain_module import model_of
from .visionnet import VisionNetwork

ModelFactory = Callable[..., Any]

# Algorithms whose value branch has layers of its own unless the settings say otherwise.
_OWN_VALUE_NET = {"PPO"}
_CLASSES: Mapping[str, type[TorchModelV2]] = {
    "dense": FullyConnectedNetwork,
    "image": VisionNetwork,
    "nested": ComplexInputNetwork,
}


def build_model(
    obs_space: Space[Any],
    action_space: Space[Any],
    num_outputs: int | None,
    model_config: Mapping[str, Any],
    *,
    algorithm: str = "",
    custom_models: Mapping[str, ModelFactory] | None = None,
    interface: type | None = None,
    default_model: type | None = None,
    name: str = "default_model",
    **interface_settings: Any,
) -> Any:
    """Build the network for a space and model settings, with fresh weights.

    `original_space` of what the policy sees tells the nested one; without `num_outputs` the width
    is left to the network. The algorithm decides `vf_share_layers` where that is unset. `interface`
    (what DQN, SAC... add) is mixed in front of the chosen network, or of `default_model`.

    Raises:
        ConfigError: The settings contradict each other, or name a model nobody supplied.
    """
    config = with_defaults(model_config)
    if "vf_share_layers" not in model_config:
        config["vf_share_layers"] = algorithm.upper() not in _OWN_VALUE_NET
    _check(config, action_space)
    positional = (obs_space, action_space, num_outputs, config, name)
    if not config["custom_model"]:
        trunk = _wrapped(default_model or default_class(obs_space), config)
        return _mixed(interface, trunk)(*positional, **interface_settings)
    custom = _custom(config["custom_model"], custom_models or {})
    settings = {**interface_settings, **(config["custom_model_config"] or {})}
    if not (isinstance(custom, type) and issubclass(custom, TorchModelV2)):
        return model_of(custom, positional, settings)
    wraps = config["use_lstm"] or config["use_attention"]
    # Ray hands the custom settings to the model itself, and drops them if the model is wrapped.
    settings = interface_settings if wraps else settings
    chosen: type = custom
    mixed = _wrapped(_mixed(interface, chosen), config)
    return _built(mixed, positional, settings, interface_settings)


def default_class(obs_space: Space[Any]) -> type[TorchModelV2]:
    """Choose the network class for what the policy sees; see `network_kind`."""
    return _CLASSES[network_kind(obs_space)]


def _check(config: Mapping[str, Any], action_space: Space[Any]) -> None:
    if config["use_lstm"] and config["use_attention"]:
        raise ConfigError("a model has use_lstm or use_attention, not both.")
    sees_actions = (config["use_lstm"] and config["lstm_use_prev_action"]) or (
        config["use_attention"] and config["attention_use_n_prev_actions"]
    )
    if (
        sees_actions
        and isinstance(action_space, (Dict, Tuple))
        and not config["_disable_action_flattening"]
    ):
        raise ConfigError(
            "a model that sees earlier actions needs them unflattened when they are nested",
            expected="_disable_action_flattening=True",
            found=f"False with {action_space}",
        )


def _wrapped(trunk: type, config: Mapping[str, Any]) -> type:
    if config["use_lstm"]:
        return _mixed(LSTMWrapper, trunk)
    return _mixed(AttentionWrapper, trunk) if config["use_attention"] else trunk


@lru_cache(maxsize=256)
def _mixed(front: type | None, trunk: type) -> type:
    if front is None or issubclass(trunk, front):
        return trunk
    return type(f"{trunk.__name__}_as_{front.__name__}", (front, trunk), {})


def _custom(model: Any, supplied: Mapping[str, ModelFactory]) -> ModelFactory:
    label = model if isinstance(model, str) else getattr(model, "__name__", repr(model))
    supplied = {**CUSTOM_MODELS, **supplied}
    for key in (label, label.rsplit(".", 1)[-1]):
        if key in supplied:
            return supplied[key]
    if isinstance(model, type) and issubclass(model, TorchModelV2):
        return model
    raise ConfigError(
        f"the model {label!r} is the author's own class, which a checkpoint does not hold.",
        hint=did_you_mean(label, supplied, otherwise=f'pass custom_models={{"{label}": cls}}.'),
        model=label,
        supplied=sorted(supplied),
    )


def _built(
    model_class: type,
    positional: tuple[Any, ...],
    settings: Mapping[str, Any],
    needed: Mapping[str, Any],
) -> Any:
    """The model with all its settings, or where it does not take them with the needed ones."""
    try:
        return model_class(*positional, **settings)
    except TypeError as error:
        # Older models read their settings from model_config["custom_model_config"] themselves,
        # and so do those behind an interface, which takes its own settings alone.
        if "unexpected keyword argument" not in str(error) or settings == needed:
            raise
        return model_class(*positional, **needed)
