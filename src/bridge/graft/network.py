"""A module of the new stack grown for other spaces and larger layers, computing the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from gymnasium.spaces import Space

from ...core.errors import PieceError
from ...v2.modules.bc import DefaultBCTorchRLModule
from ...v2.modules.dqn import DefaultDQNTorchRLModule
from ...v2.modules.encoders import (
    TorchActorCriticEncoder,
    TorchCNNEncoder,
    TorchLSTMEncoder,
    TorchMLPEncoder,
)
from ...v2.modules.layers import TorchFreeLogStdMLPHead
from ...v2.modules.model_config import LSTM_RESIDUAL, as_settings, with_defaults
from ...v2.modules.ppo import DefaultAPPOTorchRLModule, DefaultPPOTorchRLModule
from .layers import Places, grow_dense, grow_head, grow_images, grow_lstm
from .outputs import Outputs

LEARN_FROM: Final = (
    "teach a new network what it does: rlconnect.teach(config, policy, env); in a terminal "
    "rlconnect teach PATH --env ENV."
)
"""What goes for any policy, in words."""

_CLASSES: Final = (
    DefaultPPOTorchRLModule,
    DefaultAPPOTorchRLModule,
    DefaultBCTorchRLModule,
    DefaultDQNTorchRLModule,
)


def grown_module(
    module: Any,
    observation_space: Space[Any],
    outputs: Outputs,
    network: Mapping[str, Any],
    *,
    seed: int,
) -> Any:
    """A module for wider observations and more actions, with the old one's outputs.

    Args:
        module: It stays as it is.
        observation_space: What the new one gets: features or channels more at the end.
        outputs: Where the old outputs are among the new ones.
        network: Settings of the new one that differ: `fcnet_hiddens`, `use_lstm`, ...
        seed: Of new weights.

    Raises:
        PieceError: A part of it cannot grow that way.
    """
    if type(module) not in _CLASSES or module.inference_only:
        only = ", which only acts" if type(module) in _CLASSES else ""
        raise PieceError(
            "this network cannot be grafted",
            expected=" or ".join(sorted(cls.__name__ for cls in _CLASSES)),
            found=f"{type(module).__name__}{only}",
            hint=LEARN_FROM,
        )
    settings = _settings(module, network)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        new = type(module)(
            observation_space=observation_space,
            action_space=outputs.action_space,
            inference_only=False,
            catalog_class=type(module.catalog),
            model_config=settings,
        )
    (encoder, head, values), (new_encoder, new_head, new_values) = parts_of(module), parts_of(new)
    channels = int((module.observation_space.shape or (0,))[-1])
    features = _grow_encoder(encoder, new_encoder, Places.first(channels))
    rows = outputs.rows(atoms_of(module))
    if isinstance(head, TorchFreeLogStdMLPHead):
        half = len(head.log_std)
        grow_head(head.net, new_head.net, features["actor"], rows[:half])
        with torch.no_grad():
            new_head.log_std[rows[half:] - len(new_head.log_std)] = head.log_std
    else:
        grow_head(head.net, new_head.net, features["actor"], rows)
    if values is not None:
        grow_head(values.net, new_values.net, features["critic"])
    return new


def parts_of(module: Any) -> tuple[Any, Any, Any]:
    """The encoder, the head of actions, and that of values or None."""
    if isinstance(module, DefaultBCTorchRLModule):
        return module.encoder, module.pi, None
    if isinstance(module, DefaultDQNTorchRLModule):
        return module.encoder, module.af, module.vf if module.uses_dueling else None
    return module.encoder, module.pi, module.vf


def atoms_of(module: Any) -> int:
    """How many numbers a head gives for each action."""
    return module.num_atoms if isinstance(module, DefaultDQNTorchRLModule) else 1


def _settings(module: Any, network: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the grown network.

    Raises:
        PieceError: One of them is no setting of networks, or cannot change.
    """
    before = as_settings(module.model_config)
    known = {*with_defaults(None), *before, LSTM_RESIDUAL}
    for name in network:
        if name not in known:
            raise PieceError(
                f"a network has no setting {name!r}",
                expected="such as fcnet_hiddens, conv_filters, head_fcnet_hiddens, use_lstm",
            )
    settings = {**before, **network}
    if settings.get("use_lstm") and not before.get("use_lstm"):
        settings[LSTM_RESIDUAL] = True  # what stood without memory goes on beside it
    usual = with_defaults(before)
    for name in ("use_lstm", "vf_share_layers", "free_log_std", "log_std_clip_param"):
        changed = with_defaults(settings)[name]
        if changed != usual[name] and not (name == "use_lstm" and changed):
            raise PieceError(
                f"a grown network keeps its {name}",
                expected=f"{name}={usual[name]}",
                found=f"{name}={changed}",
            )
    return settings


def _grow_encoder(old: Any, new: Any, before: Places) -> dict[str, Places]:
    """Fill an encoder; where the features of actor and critic are."""
    if not isinstance(old, TorchActorCriticEncoder):
        features = _grow_one(old, new, before)
        return {"actor": features, "critic": features}
    if old.config.shared:
        features = _grow_one(old.encoder, new.encoder, before)
        return {"actor": features, "critic": features}
    return {
        "actor": _grow_one(old.actor_encoder, new.actor_encoder, before),
        "critic": _grow_one(old.critic_encoder, new.critic_encoder, before),
    }


def _grow_one(old: Any, new: Any, before: Places) -> Places:
    if isinstance(old, TorchLSTMEncoder) and isinstance(new, TorchLSTMEncoder):
        features = before
        if old.tokenizer is not None:
            features = _grow_one(old.tokenizer, new.tokenizer, before)
        after = grow_lstm(old.lstm, new.lstm, features)  # type: ignore[arg-type]  # LSTMs
        if old.gate is None or new.gate is None:
            return after
        with torch.no_grad():
            at = torch.as_tensor(features.plus)[:, None], torch.as_tensor(after.plus)
            new.gate.weight[at] = old.gate.weight
        return Places(features.plus)  # what comes through the gate may be below 0
    if isinstance(new, TorchLSTMEncoder):  # its gate is closed
        return _grow_one(old, new.tokenizer, before)
    if isinstance(old, TorchMLPEncoder) and isinstance(new, TorchMLPEncoder):
        return grow_dense(old.net, new.net, before)
    if isinstance(old, TorchCNNEncoder) and isinstance(new, TorchCNNEncoder):
        return grow_images(old.net[0], new.net[0], before)  # type: ignore[arg-type]  # TorchCNNs
    raise PieceError("this network cannot be grafted", found=type(old).__name__)
