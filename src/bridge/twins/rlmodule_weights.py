"""RLModules that Ray 2.5 to 2.9 saved inside old policies: native ones but for their settings."""

from __future__ import annotations

from math import inf
from typing import Any

from torch import nn

from ...legacy.models.rlmodule import RLModuleNet
from ...legacy.models.rlmodule_layers import LstmEncoder
from ...legacy.policy.policy import Policy
from ...v2.modules.ppo import DefaultPPOTorchRLModule
from ...v2.modules.rl_module import RLModule
from .module_settings import with_rest
from .refusal import NoTwin


def module_of_weights(policy: Policy, net: RLModuleNet) -> RLModule:
    """A native module with an old RLModule's settings and weights."""
    from .native_module import seen_by_network

    weights = policy.get_weights()
    config = net.model_config
    part = net.encoders[0]
    plain: Any = part.tokenizer if isinstance(part, LstmEncoder) else part
    if plain is None or any(isinstance(each, nn.LayerNorm) for each in net.modules()):
        raise NoTwin("its encoder has layer norms or no tokenizer")
    dense = [each for each in plain.modules() if isinstance(each, nn.Linear)]
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
    heads = [each for each in net.pi.modules() if isinstance(each, nn.Linear)]
    settings["head_fcnet_hiddens"] = [layer.out_features for layer in heads[:-1]]
    settings["head_fcnet_activation"] = config.get("post_fcnet_activation") or "relu"
    module = DefaultPPOTorchRLModule(
        observation_space=seen_by_network(policy),
        action_space=policy.action_space,
        inference_only=net.vf is None,
        model_config=settings,
    )
    native_names = {
        name for name in module.get_state() if not name.endswith("log_std_clip_param_const")
    }
    apart = native_names ^ {
        name for name in weights if not name.endswith("log_std_clip_param_const")
    }
    if apart:
        raise NoTwin(f"its weights have other names than V2's: {', '.join(sorted(apart)[:3])}")
    module.set_state({**module.get_state(), **weights})
    return module
