"""Networks of the catalog under the heads of any family: in numpy, and as TensorFlow saves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Space

from ...core.errors import ConfigError
from ..models.defaults import with_defaults
from ..models.network_kind import network_kind
from ..models.numpy_forward import NumpyNet
from .array_head import Array, ArrayHead, ArrayOutputs, Columns, Weights
from .family import Blueprint, explores_by_noise

if TYPE_CHECKING:
    from ..tf.layers import Layer

Settings = Mapping[str, Any]


def catalog_array_head(
    plan: Blueprint, weights: Weights, *, outputs_are: str = "", value: str = ""
) -> ArrayHead | None:
    """The numpy head of a network of the catalog.

    Args:
        plan: What it is built from.
        weights: Saved weights by Ray's names.
        outputs_are: What the outputs are called among the fetches; empty if they are none.
        value: What the value is called there.
    """
    settings = with_defaults(plan.model_config)
    if not NumpyNet.fits(weights, settings):
        return None
    drawn = plan.distribution
    net = NumpyNet.from_weights(weights, settings, plan.obs_space, drawn.space, drawn.size)
    sees_actions = net.is_recurrent and settings["lstm_use_prev_action"]
    sees_rewards = net.is_recurrent and settings["lstm_use_prev_reward"]

    def forward(columns: Columns, state: Sequence[Array], seq_lens: Any) -> ArrayOutputs:
        before = net.encode_actions(columns["prev_actions"]) if sees_actions else None
        reward = columns["prev_rewards"] if sees_rewards else None
        outputs, worth, after = net.forward(columns["obs"], state, before, reward, seq_lens)
        extra: dict[str, Array] = {}
        if value and worth is not None:
            extra[value] = worth
        if outputs_are:
            extra[outputs_are] = outputs
        return ArrayOutputs(outputs, after, extra)

    bare = any(key.startswith("encoder.") for key in weights)
    return ArrayHead(plan.algorithm, drawn, forward, net.get_initial_state(), bare, net.direct())


def catalog_layers(plan: Blueprint, named: bool) -> list[Layer]:
    """The layers of a network of the catalog, in the order TensorFlow saved them."""
    from ..tf.rlmodules import holds_rlmodule, rlmodule

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
