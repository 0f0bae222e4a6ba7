"""Networks that estimate action values, as DQN's and SAC's native modules."""

from __future__ import annotations

from math import inf
from typing import Any

import torch
from gymnasium.spaces import Discrete
from torch import nn

from ...core.formulas.schedules import PiecewiseSchedule
from ...legacy.heads.dqn_model import DQNTorchModel
from ...legacy.models.fcnet import FullyConnectedNetwork
from ...legacy.models.lstm import LSTMWrapper
from ...legacy.policy.policy import Policy
from ...v2.modules.dqn import DefaultDQNTorchRLModule
from ...v2.modules.rl_module import RLModule
from ...v2.modules.sac import DefaultSACTorchRLModule
from .layer_stacks import (
    Layer,
    Stack,
    built,
    dense_stack,
    fill,
    identity_layer,
    linear_layer,
    trunk_stack,
    with_rest,
)
from .twin import NoTwin


def dqn_module(policy: Policy, model: Any) -> RLModule:
    """DQN's native module of a Q network: dueling or not, of values or of atoms."""
    config = policy.config
    if isinstance(model, LSTMWrapper):
        raise NoTwin("V2's DQN has no output layer between an LSTM and its branches")
    if config.get("noisy"):
        raise NoTwin("V2's DQN has no noisy layers")
    if float(config.get("categorical_distribution_temperature", 1.0)) != 1.0:
        raise NoTwin("V2's DQN has no temperature")
    trunk = trunk_stack(model)
    advantage, value = _branches(model, trunk)
    settings = with_rest(
        trunk.settings,
        double_q=bool(config.get("double_q", True)),
        num_atoms=int(getattr(model, "num_atoms", 1)),
        v_min=float(getattr(model, "v_min", -10.0)),
        v_max=float(getattr(model, "v_max", 10.0)),
        dueling=value is not None,
        epsilon=_epsilon(policy),
    )
    settings["head_fcnet_hiddens"] = [len(weight) for weight, _ in advantage[:-1]]
    module = built(DefaultDQNTorchRLModule, policy, settings)
    fill(module.encoder, trunk.layers)
    fill(module.af, advantage)
    if value is not None:
        fill(module.vf, value)
    return module  # type: ignore[no-any-return]  # Any above


def _branches(model: Any, trunk: Stack) -> tuple[list[Layer], list[Layer] | None]:
    """The layers of both branches; without those of the value the first one tells all."""
    is_branched = isinstance(model, DQNTorchModel)
    advantage = _layers(model.advantage_module) if is_branched else []
    if not advantage:
        if is_branched and model.dueling:
            raise NoTwin("it duels without layers, which V2's DQN cannot")
        last = model.layers_by_use().output
        return [identity_layer(trunk.width) if last is None else linear_layer(last)], None
    if not model.dueling:
        return advantage, None
    value = _layers(model.value_module)
    if model.num_atoms == 1:
        return advantage, value
    return _joined(advantage, value, model.num_actions, model.num_atoms), None


def _joined(advantage: list[Layer], value: list[Layer], actions: int, atoms: int) -> list[Layer]:
    """Both branches as one, side by side: V2 has one value where the old stack has one per atom.

    The last layer subtracts the mean over the actions and adds the values.
    """
    joined: list[Layer] = []
    for place, ((a, a_bias), (v, v_bias)) in enumerate(
        zip(advantage[:-1], value[:-1], strict=True)
    ):
        weight = torch.cat([a, v]) if place == 0 else torch.block_diag(a, v)  # type: ignore[no-untyped-call]
        joined.append((weight, torch.cat([a_bias, v_bias])))
    (a, a_bias), (v, v_bias) = advantage[-1], value[-1]
    by_action = a.reshape(actions, atoms, -1)
    bias = a_bias.reshape(actions, atoms)
    centred = by_action - by_action.mean(0, keepdim=True)
    of_value = v.expand(actions, *v.shape)
    weight = torch.cat([centred, of_value], -1) if joined else centred + of_value
    total = bias - bias.mean(0, keepdim=True) + v_bias
    return [*joined, (weight.reshape(actions * atoms, -1), total.reshape(-1))]


def _layers(branch: nn.Sequential) -> list[Layer]:
    if any(isinstance(part, nn.LayerNorm) for part in branch.modules()):
        raise NoTwin("its branches have layer norms")
    return [linear_layer(block) for block in branch]


def _epsilon(policy: Policy) -> list[tuple[int, float]]:
    """How often a random action is taken, as V2 spells the schedule."""
    schedule = getattr(policy.exploration, "epsilon_schedule", None)
    if schedule is None:
        raise NoTwin(f"it explores by {type(policy.exploration).__name__}, not by epsilon")
    if not isinstance(schedule, PiecewiseSchedule):
        now = float(schedule.value(policy.exploration.last_timestep))
        return [(0, now), (1, now)]
    points = {int(step): float(value) for step, value in schedule.endpoints}
    points.setdefault(0, float(schedule.value(0)))
    return sorted(points.items())


def sac_module(policy: Policy, model: Any) -> RLModule:
    """SAC's native module; without its Q networks where they are built unlike the policy's."""
    actor = model.action_model
    kind = policy.networks.torch().head.distribution.kind
    if kind == "diag_gaussian":
        raise NoTwin("it acts by a plain normal distribution, V2's SAC by a squashed one")
    if isinstance(actor, LSTMWrapper):
        raise NoTwin("V2's SAC has no LSTM")
    trunk = trunk_stack(actor)
    critics = [] if policy.observation_space.shape is None else _critics(model)
    has_q = bool(critics) and all(critic[0].settings == trunk.settings for critic in critics)
    settings = with_rest(
        trunk.settings,
        twin_q=model.twin_q_net is not None,
        qf_encoder_joins_inputs=not isinstance(policy.action_space, Discrete),
        log_std_clip_param=inf,
    )
    module = built(DefaultSACTorchRLModule, policy, settings, inference_only=not has_q)
    fill(module.pi_encoder, trunk.layers)
    last = actor.layers_by_use().output
    fill(module.pi, [identity_layer(trunk.width) if last is None else linear_layer(last)])
    if has_q:
        for name, (stack, head) in zip(("qf", "qf_twin"), critics, strict=False):
            fill(getattr(module, f"{name}_encoder"), stack.layers)
            fill(getattr(module, name), [head])
    return module  # type: ignore[no-any-return]  # Any above


def _critics(model: Any) -> list[tuple[Stack, Layer]]:
    """The layers of each Q network; none where one is no dense network."""
    nets = [net for net in (model.q_net, model.twin_q_net) if net is not None]
    if not all(isinstance(net, FullyConnectedNetwork) for net in nets):
        return []
    uses = [(net.layers_by_use(), net.obs_space.shape[0]) for net in nets]
    return [(dense_stack(use.trunk, width), linear_layer(use.output)) for use, width in uses]
