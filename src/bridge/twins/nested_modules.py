"""Networks of nested observations as one dense native network: their trunks side by side."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor

from ...legacy.models.complex import ComplexInputNetwork
from ...legacy.models.lstm import LSTMWrapper
from ...legacy.policy.policy import Policy
from ...v2.modules.ppo import DefaultPPOTorchRLModule
from ...v2.modules.rl_module import RLModule
from .layer_stacks import Layer, Stack, dense_stack, fill, linear_layer, with_rest
from .twin import NoTwin


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
