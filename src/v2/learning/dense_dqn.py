"""DQN's loss and its gradients by hand, where its networks are dense layers on a CPU.

The same numbers as `q_losses` and autograd give, up to rounding. What is not of the usual kind in
any way is left to them: distributions over returns, sequences, modules that anybody changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Self

from ...core.columns import Columns
from ...core.nets.numpy_layers import HALF, ONE, Float32
from ..modules.dense_pass import is_unwatched
from ..modules.dqn import DefaultDQNTorchRLModule
from .dense_layers import DenseLayers, Room, has_axes, side_by_side

_COLUMNS: Final = {Columns.OBS: 2, Columns.NEXT_OBS: 2, Columns.REWARDS: 1, "weights": 1}
"""Columns of single precision, by how many axes they have."""

_METHODS: Final = (
    *("forward_train", "_forward_train", "compute_q_values", "forward_target"),
    "_qf_forward_helper",
)


class DQNTerms(NamedTuple):
    """The mean loss, how far each row's value was off, and the values of the actions done."""

    loss: Tensor
    td_error: Tensor
    chosen: Tensor


class QNetwork:
    """Dense layers from observations to the values of actions.

    Args:
        encoder: From observations to features.
        scores: From features to a number for each action.
        value: From features to the state's value, of a dueling network; scores are then told from
            their mean.
    """

    def __init__(self, encoder: DenseLayers, scores: DenseLayers, value: DenseLayers | None):
        self.encoder, self._scores, self._value = encoder, scores, value
        heads = [scores] if value is None else [scores, value]
        self.gradients = {
            param: gradient
            for layers in (encoder, *heads)
            for param, gradient in layers.gradients.items()
        }

    @classmethod
    def of(cls, module: Any, prefix: str, room: Room | None) -> Self | None:
        """The networks of a module whose names begin so; None of another kind."""
        parts = [
            DenseLayers.of_encoder(getattr(module, f"{prefix}encoder", None), room),
            DenseLayers.of_head(getattr(module, f"{prefix}af", None), room),
        ]
        if module.uses_dueling:
            parts.append(DenseLayers.of_head(getattr(module, f"{prefix}vf", None), room))
        if None in parts:
            return None
        return cls(*parts, *[None] * (3 - len(parts)))  # type: ignore[arg-type]  # no other None

    def forward(self, obs: Float32) -> Float32:
        """The values of all actions `(B, n)`; the next call may write where this one did."""
        features = self.encoder.forward(obs)
        scores = self._scores.forward(features)
        if self._value is None:
            return scores
        values: Float32 = scores - scores.mean(-1, keepdims=True)
        values += self._value.forward(features)
        return values

    def backward(self, gradient: Float32) -> None:
        """Write the gradients of all layers, given that of the values of the first rows."""
        of_scores, of_value = gradient, None
        if self._value is not None:
            of_value = self._value.backward(gradient.sum(-1, keepdims=True), is_first=False)
            of_scores = gradient - gradient.mean(-1, keepdims=True)
        of_features = self._scores.backward(of_scores, is_first=False)
        if of_value is not None:
            of_features += of_value
        self.encoder.backward(of_features)


class DenseDQN:
    """DQN's loss for one module, and its gradients by parameter.

    Args:
        network: The one that learns.
        copy: The one that follows it.
    """

    def __init__(self, network: QNetwork, copy: QNetwork) -> None:
        self._network, self._copy = network, copy
        self._of_values: Float32 | None = None

    @classmethod
    def of(cls, module: Any) -> Self | None:
        """The module's; None where it is not as it comes, or somebody watches it."""
        if type(module) is not DefaultDQNTorchRLModule or module.num_atoms > 1:
            return None
        if not is_unwatched(module, *_METHODS):
            return None
        trained = {param for param in module.parameters() if param.requires_grad}
        network = QNetwork.of(module, "", side_by_side(trained))
        copy = QNetwork.of(module, "_target_", None)
        if network is None or copy is None:
            return None
        return cls(network, copy) if network.gradients.keys() == trained else None

    def takes(self, batch: Mapping[str, Any], config: Any) -> bool:
        """Whether a minibatch has the usual columns, and is quicker by hand."""
        if Columns.LOSS_MASK in batch or config.num_atoms > 1:
            return False
        if not all(has_axes(batch.get(name), axes) for name, axes in _COLUMNS.items()):
            return False
        for name in (Columns.ACTIONS, Columns.TERMINATEDS, "n_step"):
            column = batch.get(name)
            if type(column) is not Tensor or column.dim() != 1 or column.is_floating_point():
                return False
        return self._network.encoder.serves(batch[Columns.OBS])

    def terms(self, batch: Mapping[str, Any], config: Any) -> DQNTerms:
        """Compute the loss, and what `gradients` needs.

        Args:
            batch: Columns that it takes.
            config: DQN's settings.
        """
        obs, after, rewards, weights = (batch[name].numpy() for name in _COLUMNS)
        rows = np.arange(len(obs))
        actions = batch[Columns.ACTIONS].numpy()
        with np.errstate(all="ignore"):  # Bad numbers show in the loss.
            next_values = self._copy.forward(after)
            # One pass over both, where both are needed.
            values = self._network.forward(np.concatenate([obs, after]) if config.double_q else obs)
            judge = values[len(obs) :] if config.double_q else next_values
            worth = np.power(np.float32(config.gamma), batch["n_step"].numpy(), dtype=np.float32)
            worth[batch[Columns.TERMINATEDS].numpy().astype(bool)] = 0
            chosen = values[rows, actions]
            off = chosen - (rewards + worth * next_values[rows, judge.argmax(-1)])
            td_error = np.abs(off)
            if config.td_error_loss_fn == "huber":
                slope = np.clip(off, -ONE, ONE)
                losses = slope * (off - HALF * slope)  # Squares up to 1, beyond it lines.
            else:
                slope, losses = off + off, off * off
            losses *= weights
            slope *= weights / np.float32(len(obs))
            self._of_values = np.zeros((len(obs), values.shape[1]), np.float32)
            self._of_values[rows, actions] = slope
            loss = torch.tensor(losses.mean())
        return DQNTerms(loss, torch.from_numpy(td_error), torch.from_numpy(chosen))

    def gradients(self) -> dict[Tensor, Tensor]:
        """Gradients by parameter, of the loss computed last; the next ones are written there."""
        assert self._of_values is not None
        with np.errstate(all="ignore"):
            self._network.backward(self._of_values)
        return self._network.gradients
