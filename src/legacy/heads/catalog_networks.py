"""Networks of the catalog under the heads of any family: in numpy, and as TensorFlow saves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Space

from ...core.errors import ConfigError
from ..models.as_data import Shapes, catalog_network
from ..models.defaults import with_defaults
from ..models.leaves import network_kind
from .family import Blueprint, explores_by_noise

if TYPE_CHECKING:
    from ...core.nets import Network
    from ..tf.layers import Layer

Settings = Mapping[str, Any]


def network_of_catalog(plan: Blueprint, shapes: Shapes, **outputs: str) -> Network:
    """A network of the catalog as data; see `catalog_network`."""
    return catalog_network(shapes, plan.model_config, **outputs)


def catalog_layers(plan: Blueprint, named: bool) -> list[Layer]:
    """The layers of a network of the catalog, in the order TensorFlow saved them."""
    from ..tf.networks import holds_rlmodule, rlmodule

    model = complete(plan.model_config, plan.algorithm)
    outputs = 0 if model["custom_action_dist"] else plan.distribution.size
    if not named and holds_rlmodule(plan.config):
        return rlmodule(plan.obs_space, outputs, model)
    if not model["use_lstm"] and not model["use_attention"]:
        no_lower_value(plan.obs_space, model)
    return wrapped_layers(plan.obs_space, outputs, model, named)


def complete(model_config: Settings, algorithm: str = "") -> dict[str, Any]:
    """All settings of a network of the catalog, as TensorFlow built it."""
    config = with_defaults({"vf_share_layers": algorithm != "PPO", **model_config})
    if config["custom_model"]:
        raise ConfigError("it computes with a custom model.")
    return config


def no_lower_value(obs_space: Space[Any], model: Settings) -> None:
    """Refuse a value that TensorFlow reads one layer below the outputs, and torch from them."""
    dense = network_kind(obs_space) == "dense" or model["post_fcnet_hiddens"]
    if model["no_final_linear"] and model["vf_share_layers"] and dense:
        raise ConfigError("no_final_linear with dense layers that share the value.")


def wrapped_layers(
    obs_space: Space[Any], outputs: int, model: Settings, named: bool
) -> list[Layer]:
    """A network of the catalog, with what is on top of it."""
    from ..tf.networks import attention, network, recurrent

    if not model["use_lstm"] and not model["use_attention"]:
        return network(obs_space, outputs, model, named=named)
    if model["use_attention"] and not named:
        raise ConfigError("eager mode saves only a part of attention's weights.")
    # A wrapper's value layer takes the name of the one below it, which nothing reads.
    features = without(network(obs_space, None, model, named=named), "_value_branch.")
    return [*features, *(recurrent if model["use_lstm"] else attention)(outputs, model)]


def without(layers: Sequence[Layer], prefix: str) -> list[Layer]:
    """Layers of which those under a prefix have no torch twin."""
    return [x._replace(torch="") if x.torch.startswith(prefix) else x for x in layers]


def no_layer_norms(config: Settings) -> None:
    """Refuse layer norms, which no layers of TensorFlow's are described for."""
    if explores_by_noise(config):
        raise ConfigError("it has the layer norms of ParameterNoise.")
