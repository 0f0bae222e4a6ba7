"""Layers grown so that what they compute stays, number by number, and new weights can learn.

New inputs enter with zero weights. New units see everything, and nobody listens to them yet. A
layer more hands its inputs on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ...core.errors import PieceError
from ...core.types import Array
from ...v2.modules.layers import LayerNorm1D, TorchCNN, TorchMLP


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
