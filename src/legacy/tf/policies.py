"""What the policies of each algorithm save: their networks one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.spaces import Box, Discrete, Space, Tuple

from ...core.errors import ConfigError
from ...core.formulas.schedules import class_name
from ..distributions.choice import distribution_for
from ..heads.algorithms import FAMILIES
from ..heads.sac_config import net_config
from ..models.defaults import with_defaults
from ..models.network_kind import network_kind
from .layers import Layer
from .networks import attention, network, recurrent
from .rlmodules import holds_rlmodule, rlmodule

Settings = Mapping[str, Any]


def policy_layers(
    algorithm: str,
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Settings,
    *,
    named: bool,
) -> list[Layer]:
    """All layers of a policy, in saved order.

    Args:
        algorithm: The algorithm's name.
        obs_space: What the policy sees, preprocessed.
        action_space: Where actions come from.
        config: The trainer config.
        named: Whether layers are told apart by name; see `networks.network`.

    Raises:
        ConfigError: The network is not described.
    """
    family = FAMILIES.get(algorithm)
    if family in ("dqn", "ddpg"):
        _no_layer_norms(config)
    if family == "dqn":
        return _q_policy(obs_space, action_space, config, named)
    if family == "sac":
        return _sac(obs_space, action_space, config, named)
    if family == "ddpg":
        return _ddpg(algorithm, obs_space, config, named)
    if family in ("actor", "actor_critic", "simple_q"):
        model = _complete(config.get("model") or {}, algorithm)
        custom = model["custom_action_dist"]
        outputs = 0 if custom else distribution_for(action_space, model, algorithm).size
        if not named and holds_rlmodule(config):
            return rlmodule(obs_space, outputs, model)
        if not model["use_lstm"] and not model["use_attention"]:
            _no_lower_value(obs_space, model)
        return _wrapped(obs_space, outputs, model, named)
    raise ConfigError(f"the networks of {algorithm} are not described.")


def _complete(model_config: Settings, algorithm: str = "") -> dict[str, Any]:
    config = with_defaults({"vf_share_layers": algorithm != "PPO", **model_config})
    if config["custom_model"]:
        raise ConfigError("it computes with a custom model.")
    return config


def _no_lower_value(obs_space: Space[Any], model: Settings) -> None:
    """Refuse a value that TensorFlow reads one layer below the outputs, and torch from them."""
    dense = network_kind(obs_space) == "dense" or model["post_fcnet_hiddens"]
    if model["no_final_linear"] and model["vf_share_layers"] and dense:
        raise ConfigError("no_final_linear with dense layers that share the value.")


def _wrapped(obs_space: Space[Any], outputs: int, model: Settings, named: bool) -> list[Layer]:
    """A network of the catalog, with what is on top of it."""
    if not model["use_lstm"] and not model["use_attention"]:
        return network(obs_space, outputs, model, named=named)
    if model["use_attention"] and not named:
        raise ConfigError("eager mode saves only a part of attention's weights.")
    # A wrapper's value layer takes the name of the one below it, which nothing reads.
    features = _without(network(obs_space, None, model, named=named), "_value_branch.")
    return [*features, *(recurrent if model["use_lstm"] else attention)(outputs, model)]


def _without(layers: Sequence[Layer], prefix: str) -> list[Layer]:
    """Layers of which those under a prefix have no torch twin."""
    return [x._replace(torch="") if x.torch.startswith(prefix) else x for x in layers]


def _q_policy(
    obs_space: Space[Any], action_space: Space[Any], config: Settings, named: bool
) -> list[Layer]:
    model = _complete(config.get("model") or {})
    hiddens = list(config.get("hiddens", [256]) or [])
    dueling, noisy = bool(config.get("dueling", True)), bool(config.get("noisy"))
    actions, atoms = int(action_space.n), int(config.get("num_atoms", 1))  # type: ignore[attr-defined]  # Discrete
    outputs = actions
    if hiddens:  # the trunk ends in its last hidden layer
        outputs = [256, *(config.get("model") or {}).get("fcnet_hiddens", [256, 256])][-1]
        model["no_final_linear"] = True
    elif noisy or atoms > 1:
        raise ConfigError("Q branches without hiddens are noisy or distributional.")
    trunk = _without(_wrapped(obs_space, outputs, model, named), "_value_branch")
    if not hiddens:
        value = Layer("dense", "dense", "value_module.V._model.0", 1)
        return [*trunk, value] if dueling else trunk
    branches = _branch("A", "advantage_module", hiddens, actions * atoms, noisy)
    if dueling:
        branches += _branch("V", "value_module", hiddens, atoms, noisy)
    return trunk + branches


def _branch(letter: str, torch: str, hiddens: list[int], outputs: int, noisy: bool) -> list[Layer]:
    layers: list[Layer] = []
    for i, width in enumerate(hiddens):
        twin = f"{torch}.dueling_{letter}_{i}"
        if noisy:
            name = f"hidden_{i}" if letter == "A" else f"dueling_hidden_{i}"
            layers.append(Layer("noisy", name, twin, width))
            continue
        name = f"hidden_{i}" if letter == "A" else "dense"
        layers.append(Layer("dense", name, f"{twin}._model.0", width))
    if noisy:
        name = "output" if letter == "A" else "dueling_output"
        return [*layers, Layer("noisy", name, f"{torch}.{letter}", outputs)]
    return [*layers, Layer("dense", "dense", f"{torch}.{letter}._model.0", outputs)]


def _no_layer_norms(config: Settings) -> None:
    explores = (config.get("exploration_config") or {}).get("type", "")
    if class_name(explores) == "ParameterNoise":
        raise ConfigError("it has the layer norms of ParameterNoise.")


def _sac(
    obs_space: Space[Any], action_space: Space[Any], config: Settings, named: bool
) -> list[Layer]:
    policy = _complete(net_config(config, "policy_model_config", "policy_model"))
    q_net = _complete(net_config(config, "q_model_config", "Q_model"))
    seen, q_outputs = obs_space, 1
    original = getattr(obs_space, "original_space", obs_space)
    if isinstance(action_space, Discrete):
        q_outputs = int(action_space.n)
    elif not (isinstance(original, Box) and len(original.shape) == 1):
        seen = Tuple([original, action_space])
    for space, settings in ((obs_space, policy), (seen, q_net)):
        _no_lower_value(space, settings)
    outputs = distribution_for(action_space, {}, "SAC", config=config).size
    layers = network(obs_space, outputs, policy, "action_model.", named=named)
    for name in ("q_net.", "twin_q_net.")[: 2 if config.get("twin_q", True) else 1]:
        layers += network(seen, q_outputs, q_net, name, named=named)
    return [*layers, Layer("scalar", "log_alpha", "log_alpha")]


def _ddpg(algorithm: str, obs_space: Space[Any], config: Settings, named: bool) -> list[Layer]:
    layers: list[Layer] = []
    if config.get("use_state_preprocessor") is True:
        model = {**_complete(config.get("model") or {}), "no_final_linear": True}
        layers = _without(network(obs_space, 256, model, named=named), "_value_branch")
    for i, width in enumerate(config.get("actor_hiddens", [400, 300])):
        twin = f"policy_model.action_{i}._model.0"
        layers.append(Layer("dense", f"actor_hidden_{i}", twin, width))
    layers.append(Layer("dense", "actor_out", "policy_model.action_out._model.0"))
    for net in ("q", "twin_q")[: 2 if config.get("twin_q", algorithm == "TD3") else 1]:
        for i, width in enumerate(config.get("critic_hiddens", [400, 300])):
            twin = f"{net}_model.{net}_hidden_{i}._model.0"
            layers.append(Layer("dense", f"{net}_hidden_{i}", twin, width))
        layers.append(Layer("dense", f"{net}_out", f"{net}_model.{net}_out._model.0", 1))
    return layers
