"""A module of the new stack grown for other spaces and larger layers, computing the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from gymnasium.spaces import Space
from torch import nn

from ...core.errors import PieceError
from ...core.types import Array
from ...v2.modules.bc import DefaultBCTorchRLModule
from ...v2.modules.dqn import DefaultDQNTorchRLModule
from ...v2.modules.encoders import (
    TorchActorCriticEncoder,
    TorchCNNEncoder,
    TorchLSTMEncoder,
    TorchMLPEncoder,
)
from ...v2.modules.layers import LayerNorm1D, TorchCNN, TorchFreeLogStdMLPHead, TorchMLP
from ...v2.modules.model_config import LSTM_RESIDUAL, as_settings, with_defaults
from ...v2.modules.ppo import DefaultAPPOTorchRLModule, DefaultPPOTorchRLModule
from .outputs import Outputs


@dataclass(frozen=True)
class Places:
    """Where the values of an old layer are among those of the grown one.

    Args:
        plus: The place of each.
        minus: The place of what is to be subtracted from each; None where nothing is.
        is_positive: Whether none of them is ever below 0.
    """

    plus: Array
    minus: Array | None = None
    is_positive: bool = False

    @classmethod
    def first(cls, count: int, *, is_positive: bool = False) -> Places:
        """The first places, in order."""
        return cls(np.arange(count), None, is_positive)


@dataclass(frozen=True)
class _Unit:
    """A layer, what normalises after it, and its activation."""

    layer: Any
    norm: Any
    activation: nn.Module | None


def grow_dense(old: TorchMLP, new: TorchMLP, before: Places) -> Places:
    """Fill dense layers that all have an activation.

    Args:
        old: The layers as they were.
        new: As many or more, as wide or wider.
        before: Where the old inputs are.

    Returns:
        Where the old outputs are.
    """
    return _grow_units(_units(old.mlp), _units(new.mlp), before)


def grow_head(old: TorchMLP, new: TorchMLP, before: Places, rows: Array | None = None) -> None:
    """Fill dense layers whose last one gives outputs.

    Args:
        old: The layers as they were.
        new: As many or more, as wide or wider.
        before: Where the old inputs are.
        rows: Where the old outputs are; the others give 0 whatever comes.
    """
    (*hidden, last), (*new_hidden, new_last) = _units(old.mlp), _units(new.mlp)
    _fill(last.layer, new_last.layer, _grow_units(hidden, new_hidden, before), rows, is_output=True)


def grow_images(old: TorchCNN, new: TorchCNN, before: Places) -> Places:
    """Fill convolutions of which each has as many channels or more.

    Args:
        old: The convolutions as they were.
        new: As many, with the same kernels and strides.
        before: Where the old channels are.

    Returns:
        Where the old features are, flattened.
    """
    units, new_units = _units(old.cnn), _units(new.cnn)
    shapes = [
        [(unit.layer.kernel_size, unit.layer.stride) for unit in those]
        for those in (units, new_units)
    ]
    if shapes[0] != shapes[1]:
        raise PieceError(
            "convolutions grow in channels only",
            expected=f"kernels and strides {shapes[0]}",
            found=f"{shapes[1]}",
            hint="network={'conv_filters': ...} with the same kernels and strides.",
        )
    before = _grow_units(units, new_units, before)
    cells = np.arange(new.output_height * new.output_width * new.output_depth)
    cells = cells.reshape(-1, new.output_depth)[:, before.plus]
    return Places(cells.reshape(-1), None, before.is_positive)


def grow_lstm(old: nn.LSTM, new: nn.LSTM, before: Places) -> Places:
    """Fill an LSTM with as many cells or more.

    Args:
        old: The layer as it was.
        new: The wider one.
        before: Where the old inputs are.

    Returns:
        Where the old outputs are.
    """
    cells, more = old.hidden_size, new.hidden_size
    if more < cells:
        raise _narrower(more, cells)
    after = Places.first(cells)
    rows = (np.arange(4)[:, None] * more + np.arange(cells)).reshape(-1)  # by gate
    with torch.no_grad():
        for name, weight in old.named_parameters():
            target = new.get_parameter(name)
            target[rows] = 0.0
            if weight.ndim == 1:
                target[rows] = weight
            else:
                _put(target, rows, weight, before if "_ih_" in name else after)
    return after


def _units(layers: nn.Sequential) -> list[_Unit]:
    units: list[_Unit] = []
    for part in layers:
        if isinstance(part, (nn.Linear, nn.Conv2d)):
            units.append(_Unit(part, None, None))
        elif isinstance(part, (nn.LayerNorm, LayerNorm1D)):
            units[-1] = _Unit(units[-1].layer, part, None)
        elif not isinstance(part, nn.ZeroPad2d):
            units[-1] = _Unit(units[-1].layer, units[-1].norm, part)
    return units


def _grow_units(old: Sequence[_Unit], new: Sequence[_Unit], before: Places) -> Places:
    if len(new) < len(old):
        raise PieceError(
            "a network grows, it does not lose layers",
            expected=f"at least {len(old)} layers",
            found=f"{len(new)}",
        )
    for unit, grown in zip(old, new, strict=False):
        before = _grow_unit(unit, grown, before)
    for grown in new[len(old) :]:
        before = _hand_on(grown, before)
    return before


def _grow_unit(old: _Unit, new: _Unit, before: Places) -> Places:
    size, more = len(old.layer.weight), len(new.layer.weight)
    kinds = type(old.activation), type(new.activation)
    if kinds[0] is not kinds[1]:
        raise PieceError(
            "a network keeps its activations",
            expected=_name(old.activation),
            found=_name(new.activation),
            hint="leave fcnet_activation and conv_activation as they are.",
        )
    if (old.norm is None) != (new.norm is None) or (old.norm is not None and size != more):
        raise PieceError(
            "a layer that is normalised over its units cannot get more of them",
            expected=f"{size} units",
            found=f"{more}",
        )
    _fill(old.layer, new.layer, before)
    if old.norm is not None:
        new.norm.load_state_dict(old.norm.state_dict())
    return Places.first(size, is_positive=isinstance(old.activation, nn.ReLU))


def _hand_on(new: _Unit, before: Places) -> Places:
    """Fill a layer that was not there so that it gives what it gets.

    A rectifier lets nothing below 0 through: what may be below takes two units, one of which gives
    it with the other sign.
    """
    count, more = len(before.plus), len(new.layer.weight)
    is_plain = new.activation is None
    if not is_plain and not isinstance(new.activation, nn.ReLU):
        raise PieceError(
            f"a layer more with {_name(new.activation)} behind it cannot hand its inputs on",
            expected="a layer with relu, or none",
            hint="make layers wider; or put layers into the heads: "
            f"network={{'head_fcnet_hiddens': [{2 * count}], 'head_fcnet_activation': 'relu'}}.",
        )
    if new.norm is not None:
        raise PieceError("a layer more that is normalised cannot hand its inputs on")
    is_paired = not is_plain and not before.is_positive
    units = count * (1 + is_paired)
    if more < units:
        raise _narrower(more, units)
    rows = np.arange(units)
    weight = torch.eye(count)
    if is_paired:
        weight = torch.cat([weight, -weight])
    with torch.no_grad():
        new.layer.weight[rows] = 0.0
        new.layer.bias[rows] = 0.0
        _put(new.layer.weight, rows, weight, before)
    return Places(rows[:count], rows[count:] if is_paired else None, not (is_plain or is_paired))


def _fill(
    old: Any, new: Any, before: Places, rows: Array | None = None, *, is_output: bool = False
) -> None:
    """Put the weights of a layer where its inputs and outputs are now."""
    size, more = len(old.weight), len(new.weight)
    if more < size:
        raise _narrower(more, size)
    rows = np.arange(size) if rows is None else rows
    cleared: Any = slice(None) if is_output else rows
    with torch.no_grad():
        new.weight[cleared] = 0.0
        _put(new.weight, rows, old.weight, before)
        if new.bias is not None:
            new.bias[cleared] = 0.0
            new.bias[rows] = old.bias


def _put(target: Any, rows: Array, weight: Any, before: Places) -> None:
    at = torch.as_tensor(rows)[:, None]
    target[at, torch.as_tensor(before.plus)] = weight
    if before.minus is not None:
        target[at, torch.as_tensor(before.minus)] = -weight


def _name(activation: nn.Module | None) -> str:
    return "no activation" if activation is None else type(activation).__name__


def _narrower(found: int, expected: int) -> PieceError:
    return PieceError(
        "a network grows, it does not get narrower",
        expected=f"at least {expected} units",
        found=f"{found}",
    )


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
