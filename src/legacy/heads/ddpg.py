"""DDPG, TD3 and Apex-DDPG: the policy branch gives the action itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Space

from ...core.errors import ConfigError
from ...core.nets import Layer as NetLayer
from ...core.nets.numpy_layers import described_activation
from ...core.types import Array
from ..distributions.choice import DistributionChoice, by_space, is_simplex, require
from ..models.as_data import Shapes, acting, dense_layer, dense_layers, end_of, has
from .agreement import Claim, twin_claims, width_claims
from .catalog_networks import complete, no_layer_norms, without
from .family import Blueprint, Family, TensorFlowReader, explores_by_noise

if TYPE_CHECKING:
    from ...core.nets import Network
    from ..tf.layers import Layer
    from .head import PolicyHead

Settings = Mapping[str, Any]
Found = list[tuple[str, Array]]

_HIDDENS: Final = [400, 300]
_NUMBERED: Final = re.compile(r"(.*/)?([a-z_]+)/dense(?:_(\d{1,9}))?/(kernel|bias)")
_SCOPES: Final = {"policy": "actor", "p_func": "actor", "critic": "q", "twin_critic": "twin_q"}


def _head(plan: Blueprint) -> PolicyHead:
    from .ddpg_model import DDPGHead, DDPGTorchModel, NoopModel

    config, model_config = plan.config, dict(plan.model_config)
    preprocesses = config.get("use_state_preprocessor") is True
    if preprocesses:
        model_config["no_final_linear"] = True
    return plan.head(
        DDPGHead,
        256 if preprocesses else prod(plan.obs_space.shape or ()),
        model_config=model_config,
        interface=DDPGTorchModel,
        default_model=None if preprocesses else NoopModel,
        name="ddpg_model",
        actor_hiddens=config.get("actor_hiddens", _HIDDENS),
        actor_hidden_activation=config.get("actor_hidden_activation", "relu"),
        critic_hiddens=config.get("critic_hiddens", _HIDDENS),
        critic_hidden_activation=config.get("critic_hidden_activation", "relu"),
        twin_q=bool(config.get("twin_q", plan.algorithm == "TD3")),
        add_layer_norm=explores_by_noise(config),
    )


def _network(plan: Blueprint, shapes: Shapes) -> Network:
    prefixes = ("policy_model.", "q_model.", "twin_q_model.")
    if any("LayerNorm" in key or not key.startswith(prefixes) for key in shapes):
        raise ConfigError("this network runs in torch only: it has norms or layers below.")
    act = described_activation(plan.config.get("actor_hidden_activation", "relu"))
    layers = dense_layers(shapes, "policy_model.action_{}", "obs", act)
    layers.append(dense_layer(shapes, "policy_model.action_out", end_of(layers)))
    squash = "policy_model.action_out_squashed"
    if has(shapes, squash):
        parts = {part: f"{squash}.{part}" for part in ("low_action", "action_range")}
        layers.append(NetLayer("squash", squash, squash, (end_of(layers),), weights=parts))
    return acting(layers, shapes, "logits")


def _distribution(space: Space[Any], algorithm: str, config: Settings) -> DistributionChoice:
    if is_simplex(space):
        return by_space(space)
    require(space, Box, algorithm)
    return DistributionChoice("deterministic", int(np.prod(space.shape or ())), space)


def _claims(config: Settings, weights: Settings, action_space: Any) -> Iterator[Claim]:
    for key, pattern in (
        ("actor_hiddens", "policy_model.action_{}"),
        ("critic_hiddens", "q_model.q_hidden_{}"),
    ):
        if any(name.startswith(pattern.partition("{")[0][:-1]) for name in weights):
            yield from width_claims(config, weights, key, pattern)
    yield from twin_claims(config, weights, "q_model.", "twin_q_model.")


def _layers(plan: Blueprint, named: bool) -> list[Layer]:
    from ..tf.layers import Layer
    from ..tf.networks import network

    config = plan.config
    no_layer_norms(config)
    layers: list[Layer] = []
    if config.get("use_state_preprocessor") is True:
        model = {**complete(plan.model_config), "no_final_linear": True}
        layers = without(network(plan.obs_space, 256, model, named=named), "_value_branch")
    for i, width in enumerate(config.get("actor_hiddens", _HIDDENS)):
        twin = f"policy_model.action_{i}._model.0"
        layers.append(Layer("dense", f"actor_hidden_{i}", twin, width))
    layers.append(Layer("dense", "actor_out", "policy_model.action_out._model.0"))
    for net in ("q", "twin_q")[: 2 if config.get("twin_q", plan.algorithm == "TD3") else 1]:
        for i, width in enumerate(config.get("critic_hiddens", _HIDDENS)):
            twin = f"{net}_model.{net}_hidden_{i}._model.0"
            layers.append(Layer("dense", f"{net}_hidden_{i}", twin, width))
        layers.append(Layer("dense", f"{net}_out", f"{net}_model.{net}_out._model.0", 1))
    return layers


def _with_layer_names(arrays: Found) -> Found:
    """Rename arrays to the layer names that DDPG uses since Ray 0.8.2.

    Before, each network was a scope, whose layers had only numbers: "policy/dense_1".
    """
    depths: dict[str, int] = {}
    for name, _ in arrays:
        match = _NUMBERED.fullmatch(name)
        if match:
            depths[match[2]] = max(depths.get(match[2], 0), int(match[3] or 0))
    named: Found = []
    for name, array in arrays:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            named.append((name, array))
        elif match[2] in _SCOPES:
            number, stem = int(match[3] or 0), _SCOPES[match[2]]
            layer = f"{stem}_out" if number == depths[match[2]] else f"{stem}_hidden_{number}"
            named.append((f"{match[1] or ''}{layer}/{match[4]}", array))
    return named


def _bounds(action_space: Space[Any]) -> dict[str, Array]:
    bounds = squash_bounds(action_space)
    names = ("low_action", "action_range")
    return {
        f"policy_model.action_out_squashed.{name}": bound
        for name, bound in zip(names, bounds or (), strict=bool(bounds))
    }


FAMILY = Family(
    _head,
    _network,
    _distribution,
    _claims,
    TensorFlowReader(_layers, _with_layer_names, _bounds),
)


Float32 = npt.NDArray[np.float32]


def squash_bounds(action_space: Space[Any]) -> tuple[Float32, Float32] | None:
    """Lower ends and widths of an action space; None where actions are not squashed.

    Any component bounded on both sides switches squashing on for all, as in Ray.
    """
    if not isinstance(action_space, Box):
        return None
    if not np.logical_and(action_space.bounded_above, action_space.bounded_below).any():
        return None
    low, high = np.float32(action_space.low), np.float32(action_space.high)
    return np.array(low), np.array(high - low)
