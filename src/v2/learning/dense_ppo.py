"""PPO's loss and its gradients by hand, where actor and critic are dense layers on a CPU.

The same numbers as `ppo_terms` and autograd give, up to rounding, in three fifths of the time.
What is not of the usual kind in any way is left to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import log, pi
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Self

from ...core.columns import Columns
from ...core.data.teachers import TEACHER_INPUTS
from ...core.nets.numpy_layers import HALF, ONE, Float32
from ..distributions.torch_continuous import TorchDiagGaussian
from ..distributions.torch_discrete import TorchCategorical
from ..modules.dense_pass import is_unwatched
from ..modules.encoders import TorchActorCriticEncoder
from ..modules.layers import TorchFreeLogStdMLPHead, TorchMLPHead
from ..modules.ppo import DefaultPPOTorchRLModule
from .dense_layers import DenseLayers, Room, has_axes, is_plain, side_by_side
from .losses import PPOTerms

_COLUMNS: Final = {
    Columns.OBS: 2,
    Columns.ACTION_LOGP: 1,
    Columns.ADVANTAGES: 1,
    Columns.VALUE_TARGETS: 1,
    Columns.ACTION_DIST_INPUTS: 2,
}
"""Columns of single precision, by how many axes they have."""

_METHODS: Final = ("forward_train", "_forward_train", "compute_values")


class Choices:
    """Numbered actions by logits `(B, n)`, as `TorchCategorical`."""

    def __init__(self, inputs: Float32) -> None:
        shifted = inputs - inputs.max(-1, keepdims=True)
        self.probs = np.exp(shifted)
        total = self.probs.sum(-1, keepdims=True)
        self.probs /= total
        self.logits = np.subtract(shifted, np.log(total), out=shifted)

    @staticmethod
    def fit(actions: Any, inputs: Tensor) -> bool:
        """Whether actions are those of such inputs."""
        return actions.dim() == 1 and not actions.is_floating_point()

    def logp(self, actions: Any) -> Float32:
        """Log-probabilities of actions."""
        self._chosen = np.arange(len(actions)), actions
        logp: Float32 = self.logits[self._chosen]
        return logp

    def entropy(self) -> Float32:
        """How open the choice is."""
        entropy: Float32 = -(self.probs * self.logits).sum(-1)
        return entropy

    def kl_from(self, before: Choices) -> Float32:
        """Divergence from what it was before to this."""
        terms = before.probs * (before.logits - self.logits)
        divergence: Float32 = np.where(before.probs > 0, terms, np.float32(0)).sum(-1)
        return divergence

    def of_logp(self, gradient: Float32) -> Float32:
        """The gradient of the inputs, of that of `logp`."""
        of_inputs: Float32 = self.probs * -gradient[:, None]
        of_inputs[self._chosen] += gradient
        return of_inputs

    def of_entropy(self, gradient: Float32) -> Float32:
        """The gradient of the inputs, of that of `entropy`."""
        of_inputs: Float32 = self.probs * (self.logits + self.entropy()[:, None])
        return of_inputs * -gradient[:, None]

    def of_kl(self, before: Choices, gradient: Float32) -> Float32:
        """The gradient of the inputs, of that of `kl_from`."""
        of_inputs: Float32 = (self.probs - before.probs) * gradient[:, None]
        return of_inputs


class Normals:
    """Means and logarithms of deviations `(B, 2n)`, as `TorchDiagGaussian`."""

    def __init__(self, inputs: Float32) -> None:
        width = inputs.shape[1] // 2
        self.mean, self.log_std = inputs[:, :width], inputs[:, width:]
        self.variance = np.exp(2 * self.log_std)

    @staticmethod
    def fit(actions: Any, inputs: Tensor) -> bool:
        """Whether actions are those of such inputs."""
        is_float = actions.dtype is torch.float32 and actions.dim() == 2
        return is_float and 2 * actions.shape[1] == inputs.shape[1]

    def logp(self, actions: Any) -> Float32:
        """Log-densities of actions."""
        self._off = actions - self.mean
        self._squares = self._off * self._off / self.variance
        halves = (self._squares + np.float32(log(2 * pi))) / 2
        logp: Float32 = -(halves + self.log_std).sum(-1)
        return logp

    def entropy(self) -> Float32:
        """How wide they are."""
        entropy: Float32 = (self.log_std + np.float32(0.5 + 0.5 * log(2 * pi))).sum(-1)
        return entropy

    def kl_from(self, before: Normals) -> Float32:
        """Divergence from what it was before to this."""
        apart = self.log_std - before.log_std
        divergence: Float32 = (apart + (self._spread(before) - ONE) * HALF).sum(-1)
        return divergence

    def _spread(self, before: Normals) -> Float32:
        off = self.mean - before.mean
        spread: Float32 = np.divide(before.variance + off * off, self.variance, dtype=np.float32)
        return spread

    def of_logp(self, gradient: Float32) -> Float32:
        """The gradient of the inputs, of that of `logp`."""
        both: Float32 = np.concatenate([self._off / self.variance, self._squares - 1], -1)
        return both * gradient[:, None]

    def of_entropy(self, gradient: Float32) -> Float32:
        """The gradient of the inputs, of that of `entropy`."""
        both: Float32 = np.concatenate([np.zeros_like(self.mean), np.ones_like(self.mean)], -1)
        return both * gradient[:, None]

    def of_kl(self, before: Normals, gradient: Float32) -> Float32:
        """The gradient of the inputs, of that of `kl_from`."""
        of_mean = (self.mean - before.mean) / self.variance
        both: Float32 = np.concatenate([of_mean, 1 - self._spread(before)], -1)
        return both * gradient[:, None]


_KINDS: Final[Mapping[Any, Any]] = {TorchCategorical: Choices, TorchDiagGaussian: Normals}


class PolicyHead:
    """The layers behind an actor's features, with what holds deviations in bounds.

    Args:
        layers: The dense ones.
        head: The torch module.
        room: Gives room for gradients.
    """

    def __init__(self, layers: DenseLayers, head: Any, room: Room) -> None:
        self.layers = layers
        self._bound = float(head.log_std_clip_param_const) if head.clip_log_std else None
        self.gradients = dict(layers.gradients)
        self._free: Float32 | None = None
        self._inside: Any = None
        """Which deviations the bound left as they are, where not all."""
        if type(head) is TorchFreeLogStdMLPHead:
            self._free = head.log_std.detach().numpy()
            self.gradients[head.log_std] = place = room(head.log_std.detach())
            self._of_free = place.numpy()

    @classmethod
    def of(cls, head: Any, room: Room) -> Self | None:
        """The head of a module; None of another kind."""
        if type(head) not in (TorchMLPHead, TorchFreeLogStdMLPHead) or not is_unwatched(head):
            return None
        if type(head) is TorchFreeLogStdMLPHead and not is_plain(head.log_std):
            return None
        layers = DenseLayers.of_mlp(head.net, room)
        return None if layers is None else cls(layers, head, room)

    def forward(self, features: Float32) -> Float32:
        """The distribution's inputs."""
        out = self.layers.forward(features)
        if self._free is not None:
            out = np.concatenate([out, np.broadcast_to(self._free, out.shape)], -1)
        if self._bound is not None:
            log_std = out[:, out.shape[1] // 2 :]
            inside = np.abs(log_std) <= self._bound
            self._inside = None if inside.all() else inside
            if self._inside is not None:
                np.clip(log_std, -self._bound, self._bound, out=log_std)
        return out

    def backward(self, gradient: Float32) -> Float32:
        """The gradient of the features."""
        width = gradient.shape[1] // 2
        if self._inside is not None:
            gradient[:, width:] *= self._inside
        if self._free is not None:
            gradient[:, width:].sum(0, out=self._of_free)
            gradient = gradient[:, :width]
        return self.layers.backward(gradient, is_first=False)


class DensePPO:
    """PPO's loss for one module, and its gradients by parameter.

    Args:
        encoders: The actor's, and the critic's, which may be the same.
        policy: The actor's head.
        values: The critic's head.
        kind: Its distribution.

    Attributes:
        by_parameter: The gradients, as they were written last.
    """

    def __init__(
        self,
        encoders: tuple[DenseLayers, DenseLayers],
        policy: PolicyHead,
        values: DenseLayers,
        kind: Any,
    ) -> None:
        self._actor, self._critic = encoders
        self._policy, self._values, self._kind = policy, values, kind
        self._pending: tuple[Float32, Float32] | None = None
        self.by_parameter: dict[Tensor, Tensor] = {}
        for part in (*encoders, policy, values):
            self.by_parameter.update(part.gradients)

    @classmethod
    def of(cls, module: Any) -> Self | None:
        """The module's; None where it is not as it comes, or somebody watches it."""
        if type(module) is not DefaultPPOTorchRLModule or not is_unwatched(module, *_METHODS):
            return None
        kind = module.get_train_action_dist_cls()
        if kind not in _KINDS or module.get_exploration_action_dist_cls() is not kind:
            return None
        encoder = module.encoder
        if type(encoder) is not TorchActorCriticEncoder or not is_unwatched(encoder):
            return None
        is_shared = encoder.config.shared
        both = [encoder.encoder] if is_shared else [encoder.actor_encoder, encoder.critic_encoder]
        room = side_by_side(module.parameters())
        encoders = [DenseLayers.of_encoder(each, room) for each in both]
        policy, values = PolicyHead.of(module.pi, room), DenseLayers.of_head(module.vf, room)
        if policy is None or values is None or None in encoders:
            return None
        plan = cls((encoders[0], encoders[-1]), policy, values, _KINDS[kind])  # type: ignore[arg-type]  # no None is left
        return plan if plan.by_parameter.keys() == set(module.parameters()) else None

    def takes(self, batch: Mapping[str, Any], config: Any) -> bool:
        """Whether a minibatch has the usual columns, and is quicker by hand."""
        if TEACHER_INPUTS in batch or not config.use_critic:
            return False
        if not all(has_axes(batch.get(name), axes) for name, axes in _COLUMNS.items()):
            return False
        mask, actions = batch.get(Columns.LOSS_MASK), batch.get(Columns.ACTIONS)
        return (
            (mask is None or mask.dim() == 1)
            and type(actions) is Tensor
            and self._kind.fit(actions, batch[Columns.ACTION_DIST_INPUTS])
            and self._actor.serves(batch[Columns.OBS])
        )

    def terms(
        self, batch: Mapping[str, Any], config: Any, entropy_coeff: float, kl_coeff: float
    ) -> tuple[PPOTerms, Tensor]:
        """Compute the loss, and what `gradients` needs.

        Args:
            batch: Columns that it takes.
            config: PPO's settings.
            entropy_coeff: Weight of the entropy.
            kl_coeff: Weight of the divergence.

        Returns:
            The terms, as `ppo_terms` gives them, and the values.
        """
        x, old_logp, advantages, targets, old_inputs = (batch[name].numpy() for name in _COLUMNS)
        with np.errstate(all="ignore"):  # Bad numbers show in the loss.
            weights = _weights(batch.get(Columns.LOSS_MASK), len(x))
            features = self._actor.forward(x)
            now = self._kind(self._policy.forward(features))
            logp = now.logp(batch[Columns.ACTIONS].numpy())
            ratio = np.exp(logp - old_logp)
            low, high = np.float32(1 - config.clip_param), np.float32(1 + config.clip_param)
            free, held = advantages * ratio, advantages * np.clip(ratio, low, high)
            policy_loss = -np.minimum(free, held).dot(weights)
            of_inputs = now.of_logp(np.where(free <= held, free, np.float32(0)) * -weights)
            entropy, kl = now.entropy().dot(weights), np.float32(0)
            total = policy_loss
            if entropy_coeff:
                total = total - np.float32(entropy_coeff) * entropy
                of_inputs += now.of_entropy(weights * np.float32(-entropy_coeff))
            if config.use_kl_loss:
                before = self._kind(old_inputs)
                kl = now.kl_from(before).dot(weights)
                total = total + np.float32(kl_coeff) * kl
                of_inputs += now.of_kl(before, weights * np.float32(kl_coeff))
            if self._critic is not self._actor:
                features = self._critic.forward(x)
            values = self._values.forward(features)[:, 0].copy()
            off = values - targets
            squares = off * off
            bound = np.float32(config.vf_clip_param)
            vf_loss = np.minimum(squares, bound).dot(weights)
            total = total + np.float32(config.vf_loss_coeff) * vf_loss
            scale = weights * np.float32(2 * config.vf_loss_coeff)
            self._pending = of_inputs, (off * scale * (squares <= bound))[:, None]
        told = (total, policy_loss, vf_loss, entropy, kl)
        return PPOTerms(*torch.from_numpy(np.array(told)).unbind()), torch.from_numpy(values)

    def gradients(self) -> dict[Tensor, Tensor]:
        """Gradients by parameter, of the loss computed last; the next ones are written there."""
        assert self._pending is not None
        of_inputs, of_values = self._pending
        with np.errstate(all="ignore"):
            of_features = self._policy.backward(of_inputs)
            of_critic = self._values.backward(of_values, is_first=False)
            if self._critic is self._actor:
                of_features += of_critic
            else:
                self._critic.backward(of_critic)
            self._actor.backward(of_features)
        return self.by_parameter


def _weights(mask: Tensor | None, rows: int) -> Float32:
    """What each row counts in means."""
    if mask is None:
        return _alike(rows)
    counts = mask.numpy().astype(np.float32)
    counts /= max(counts.sum(), np.float32(1))
    return counts


@lru_cache(maxsize=8)
def _alike(rows: int) -> Float32:
    weights = np.full(rows, 1 / rows, np.float32)
    weights.flags.writeable = False
    return weights
