"""An old policy's network as a native default RLModule with the same weights."""

from __future__ import annotations

from math import inf
from typing import Any, Final

import torch
from gymnasium import spaces
from gymnasium.spaces import Space
from torch import Tensor, nn

from ...core.algorithms import family_of
from ...core.errors import RlconnectError
from ...core.nets.observed import over_vector
from ...core.nets.setting import NETWORK
from ...legacy.heads.described_model import DescribedModel
from ...legacy.models.complex import ComplexInputNetwork
from ...legacy.models.lstm import LSTMWrapper
from ...legacy.models.rlmodule import LstmEncoder, RLModuleNet
from ...legacy.models.visionnet import VisionNetwork
from ...legacy.policy.policy import Policy
from ...v2.modules.bc import DefaultBCTorchRLModule
from ...v2.modules.described import DescribedTorchRLModule
from ...v2.modules.ppo import DefaultAPPOTorchRLModule, DefaultPPOTorchRLModule
from ...v2.modules.rl_module import RLModule
from .layer_stacks import (
    Layer,
    Stack,
    built,
    critic_stack,
    dense_stack,
    fill,
    identity_layer,
    linear_layer,
    merged,
    seen_by_network,
    trunk_stack,
    with_rest,
)
from .q_modules import dqn_module, sac_module
from .twin import NoTwin, Refusal


def nested_module(policy: Policy, model: ComplexInputNetwork, bound: float) -> RLModule:
    """A native module over flattened observations whose layers are block by block the old ones.

    Zeros stand between the blocks, so it computes what the trunks compute; learning on may fill
    them.
    """
    space: Any = policy.observation_space
    if isinstance(model, LSTMWrapper) or model.cnns or hasattr(space, "original_space"):
        raise NoTwin(f"V2 has no default network like {type(model).__name__} with images or LSTM")
    trunks: list[Any] = [
        (model.one_hot if str(place) in model.one_hot else model.flatten)[str(place)]
        for place in range(len(model.flattened_input_space))
    ]
    stacks = [dense_stack(t.layers_by_use().trunk, t.obs_space.shape[0]) for t in trunks]
    joined = _side_by_side(stacks)
    # Actor and critic share the layers that join the trunks; native heads have one copy each.
    last = model.post_fc_stack.layers_by_use().trunk
    after = dense_stack(last, joined.width) if len(last) else None
    assert model.logits_layer is not None, "a policy's network has outputs"
    assert model.value_layer is not None, "and a value"
    settings = with_rest(joined.settings, vf_share_layers=True, log_std_clip_param=bound)
    heads: tuple[Layer, ...] = ()
    if after is not None:
        settings["head_fcnet_hiddens"] = after.settings["fcnet_hiddens"]
        settings["head_fcnet_activation"] = after.settings["fcnet_activation"]
        heads = after.layers
    width = sum(int(trunk.obs_space.shape[0]) for trunk in trunks)
    module: Any = DefaultPPOTorchRLModule(
        observation_space=spaces.Box(-float("inf"), float("inf"), (width,)),
        action_space=policy.action_space,
        inference_only=False,
        model_config=settings,
    )
    fill(module.encoder.encoder, joined.layers)
    fill(module.pi, [*heads, linear_layer(model.logits_layer)])
    fill(module.vf, [*heads, linear_layer(model.value_layer)])
    return module  # type: ignore[no-any-return]  # Any above


def _side_by_side(stacks: list[Stack]) -> Stack:
    """Stacks of one depth and activation as one."""
    kinds = {(len(s.layers), s.settings["fcnet_activation"]) for s in stacks}
    if len(kinds) != 1:
        raise NoTwin("the trunks of its nested observations are built unlike each other")
    layers = []
    for level in zip(*(stack.layers for stack in stacks), strict=True):
        weights = [weight.detach() for weight, _ in level]
        biases = [bias.detach() for _, bias in level]
        joined: Tensor = torch.block_diag(*weights)  # type: ignore[no-untyped-call]
        layers.append((joined, torch.cat(biases)))
    hiddens = [len(weight) for weight, _ in layers]
    settings = {"fcnet_hiddens": hiddens, "fcnet_activation": kinds.pop()[1]}
    return Stack(tuple(layers), settings, hiddens[-1])


_CLASSES: dict[str, Any] = {"APPO": DefaultAPPOTorchRLModule, "BC": DefaultBCTorchRLModule}
_EXPLORES = {"StochasticSampling", "EpsilonGreedy"}
_DISTRIBUTIONS = {
    "categorical",
    "multi_categorical",
    "diag_gaussian",
    "squashed_gaussian",
    "multi_action",
}


def native_module(policy: Policy) -> RLModule | Refusal:
    """A module with a policy's outputs, values and states; or why the new stack has none.

    Dense, convolutional and LSTM networks move, and those of nested observations without images,
    with a value branch that shares layers or has its own, with free log-deviations, for PPO, APPO,
    IMPALA, A2C, A3C, PG, MARWIL, BC, DQN and SAC.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> policy = Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0})
        >>> type(native_module(policy)).__name__
        'DefaultPPOTorchRLModule'
    """
    try:
        return _module(policy)
    except NoTwin as no:
        return no.refusal
    except RlconnectError as error:  # the native classes refuse some spaces themselves
        return Refusal(f"V2's default module refuses: {error.summary}")


def _module(policy: Policy) -> RLModule:
    head = policy.networks.torch().head
    model = head.model
    _check_ours(model)
    if head.distribution.kind not in _DISTRIBUTIONS:
        raise NoTwin(f"V2 has no distribution like {head.distribution.kind!r}")
    explores = type(policy.exploration).__name__
    if explores not in _EXPLORES:
        raise NoTwin(f"it explores by {explores}, which native modules do not")
    if isinstance(model, DescribedModel):
        return described_module(policy, model, seen_by_network(policy))
    if isinstance(model, RLModuleNet):
        return module_of_weights(policy, model)
    family = family_of(policy.algorithm)
    if family in ("dqn", "simple_q"):
        return dqn_module(policy, model)
    if family == "sac":
        return sac_module(policy, model)
    if family not in ("actor", "actor_critic"):
        raise NoTwin(f"V2 has no module for {policy.algorithm}")
    return _actor_critic(policy, model)


def _actor_critic(policy: Policy, model: Any) -> RLModule:
    if isinstance(model, ComplexInputNetwork) and policy.algorithm not in _CLASSES:
        return nested_module(policy, model, inf)
    trunk = trunk_stack(model)
    is_recurrent = isinstance(model, LSTMWrapper)
    critic = None if is_recurrent else critic_stack(model)
    if critic is not None and not critic.is_like(trunk):
        raise NoTwin("its value branch differs in structure from its policy branch")
    has_free_std = bool(getattr(model, "free_log_std", False)) and not is_recurrent
    settings = with_rest(
        trunk.settings,
        vf_share_layers=critic is None,
        use_lstm=is_recurrent,
        free_log_std=has_free_std,
        log_std_clip_param=inf,  # the old stack has no bound
        max_seq_len=int(model.model_config.get("max_seq_len") or 20),
    )
    if is_recurrent:
        if model.use_prev_action or model.use_prev_reward:
            raise NoTwin(
                "its LSTM takes earlier actions or rewards beside the features, past the layers; "
                "V2's default LSTM takes features only"
            )
        settings["lstm_cell_size"] = model.cell_size
    cls = _CLASSES.get(policy.algorithm, DefaultPPOTorchRLModule)
    module = built(cls, policy, settings)
    _fill_head(module.pi, _output_layer(model, trunk), model, has_free_std)
    if cls is DefaultBCTorchRLModule:
        _fill_encoder(module.encoder, trunk, model)
        return module  # type: ignore[no-any-return]  # Any above
    if critic is None:
        _fill_encoder(module.encoder.encoder, trunk, model)
    else:
        fill(module.encoder.actor_encoder, trunk.layers)
        fill(module.encoder.critic_encoder, critic.layers)
    fill(module.vf, [linear_layer(model.layers_by_use().value)])
    return module  # type: ignore[no-any-return]  # Any above


def _output_layer(model: Any, trunk: Stack) -> Layer:
    output = model.layers_by_use().output
    if output is None:
        return identity_layer(trunk.width)
    last = linear_layer(output)
    if isinstance(model, LSTMWrapper):
        return last
    between = _dense_after_convolutions(model)
    for block in reversed(between):
        last = merged(linear_layer(block), last)
    return last


def _dense_after_convolutions(model: Any) -> list[nn.Module]:
    """The layer between convolutions and outputs; the old stack has no activation after one."""
    if not isinstance(model, VisionNetwork):
        return []
    dense = [
        block
        for block in model.layers_by_use().trunk
        if any(isinstance(part, nn.Linear) for part in block.modules())
    ]
    if len(dense) > 1:
        raise NoTwin("it has several post_fcnet_hiddens, which V2's value head would get as well")
    return dense


def _fill_head(head: Any, layer: Layer, model: Any, has_free_std: bool) -> None:
    fill(head, [layer])
    if has_free_std:
        with torch.no_grad():
            head.log_std.copy_(model.layers_by_use().log_std)


def _fill_encoder(encoder: Any, trunk: Stack, model: Any) -> None:
    if not isinstance(model, LSTMWrapper):
        fill(encoder, trunk.layers)
        return
    fill(encoder.tokenizer, trunk.layers)
    lstm = dict(model.lstm.named_parameters())
    with torch.no_grad():
        for name, parameter in encoder.lstm.named_parameters():
            weight: Any = lstm[name]
            if name == "weight_ih_l0" and trunk.image is not None:
                # Old features are flattened channels first, native ones channels last.
                weight = weight.reshape(-1, *trunk.image).permute(0, 2, 3, 1).flatten(1)
            parameter.copy_(weight)


def _check_ours(model: Any) -> None:
    for kind in type(model).__mro__:
        module = kind.__module__
        is_known = module.startswith((__name__.split(".")[0] + ".", "torch.", "builtins", "abc"))
        if not is_known and "_as_" not in kind.__name__:
            raise NoTwin(f"its network {kind.__name__} is a class of its author's")


_BESIDE: Final = ("prev_actions", "prev_rewards")


def described_module(policy: Policy, model: DescribedModel, vector_space: Space[Any]) -> RLModule:
    """The module of a policy whose network is data.

    Raises:
        NoTwin: It acts by Q values, or sees earlier actions or rewards.
    """
    network = model.bound.described()
    if "q" in network.outputs:
        raise NoTwin("its described network gives Q values, V2's described module a distribution")
    if any(name in _BESIDE for name in network.inputs):
        raise NoTwin("its described network sees earlier actions or rewards, V2's modules do not")
    network = over_vector(network, model.observed.parts, tuple(vector_space.shape or ()))
    module = DescribedTorchRLModule(
        observation_space=vector_space,
        action_space=policy.action_space,
        inference_only=False,
        model_config={NETWORK: network.as_data()},
    )
    module.set_state(policy.get_weights())
    return module


def module_of_weights(policy: Policy, net: RLModuleNet) -> RLModule:
    """A native module with an old RLModule's settings and weights."""
    weights = policy.get_weights()
    config = net.model_config
    part = net.encoders[0]
    plain: Any = part.tokenizer if isinstance(part, LstmEncoder) else part
    if plain is None or any(isinstance(layer, nn.LayerNorm) for layer in net.modules()):
        raise NoTwin("its encoder has layer norms or no tokenizer")
    dense = [layer for layer in plain.modules() if isinstance(layer, nn.Linear)]
    settings = with_rest(
        {
            "fcnet_hiddens": [layer.out_features for layer in dense],
            "fcnet_activation": config.get("fcnet_activation"),
            "conv_activation": config.get("conv_activation"),
        },
        vf_share_layers=net.is_shared,
        use_lstm=isinstance(part, LstmEncoder),
        free_log_std=net.pi.log_std is not None,
        log_std_clip_param=inf,
        max_seq_len=int(config.get("max_seq_len") or 20),
    )
    if not dense:
        settings.pop("fcnet_hiddens")
        settings["conv_filters"] = config.get("conv_filters")
    if isinstance(part, LstmEncoder):
        settings["lstm_cell_size"] = part.lstm.hidden_size
    heads = [layer for layer in net.pi.modules() if isinstance(layer, nn.Linear)]
    settings["head_fcnet_hiddens"] = [layer.out_features for layer in heads[:-1]]
    settings["head_fcnet_activation"] = config.get("post_fcnet_activation") or "relu"
    module = built(DefaultPPOTorchRLModule, policy, settings, inference_only=net.vf is None)
    apart = {
        name
        for name in set(module.get_state()) ^ set(weights)
        if not name.endswith("log_std_clip_param_const")
    }
    if apart:
        raise NoTwin(f"its weights have other names than V2's: {', '.join(sorted(apart)[:3])}")
    module.set_state({**module.get_state(), **weights})
    return module  # type: ignore[no-any-return]  # Any above
