"""The losses of PPO, MARWIL and behaviour cloning, as formulas on tensors.

Nothing here knows modules or batches: distributions have given log-probabilities, entropies and
divergences already. Rows may be steps `(B,)` or padded sequences `(B, T)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from ...core.arrays.returns import explained_variance
from ...core.columns import Columns
from ...core.data.teachers import TEACHER_INPUTS
from ...core.errors import PieceError


class PPOTerms(NamedTuple):
    """What PPO's loss is made of; scalars."""

    total: Tensor
    policy_loss: Tensor
    vf_loss: Tensor
    entropy: Tensor
    mean_kl_loss: Tensor


class MARWILTerms(NamedTuple):
    """What MARWIL's loss is made of; scalars."""

    total: Tensor
    policy_loss: Tensor
    vf_loss: Tensor


class RowMean:
    """The mean over the rows that count.

    Args:
        mask: Whether a row counts; None counts all. Rows that do not must still be finite. Where
            none counts, every mean is 0.

    Example:
        >>> RowMean(torch.tensor([True, True, False]))(torch.tensor([1.0, 3.0, 9.0]))
        tensor(2.)
    """

    def __init__(self, mask: Tensor | None = None) -> None:
        self._weights: Tensor | None = None
        if mask is not None:
            flat = _flat(mask).float()
            self._weights = flat / flat.sum().clamp(min=1.0)

    def __call__(self, rows: Tensor) -> Tensor:
        """Take the mean of numbers of the mask's shape."""
        if self._weights is None:
            return rows.mean()
        # Under autocast rows may have fewer bits than the mask's weights.
        return _flat(rows).to(self._weights.dtype).dot(self._weights)


def ppo_terms(
    *,
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    entropy: Tensor | None,
    kl: Tensor | None,
    values: Tensor | None,
    value_targets: Tensor,
    mask: Tensor | None,
    clip_param: float,
    vf_clip_param: float,
    vf_loss_coeff: float,
    entropy_coeff: float,
    kl_coeff: float | Tensor,
) -> PPOTerms:
    """Compute PPO's loss: the clipped surrogate, the value loss, the entropy, the divergence.

    Args:
        logp: Log-probabilities of the actions taken, by the policy now.
        old_logp: By the policy that took them.
        advantages: How much better than expected they turned out.
        entropy: Of the policy now; None leaves it out.
        kl: Divergence from the policy then to the one now; None leaves it out.
        values: Predicted values; None leaves the value loss out.
        value_targets: What they should have been.
        mask: Which rows count; None for all.
        clip_param: How far from 1 the ratio of probabilities earns anything.
        vf_clip_param: The largest squared error of a value that counts.
        vf_loss_coeff: Weight of the value loss.
        entropy_coeff: Weight of the entropy.
        kl_coeff: Weight of the divergence.
    """
    mean = RowMean(mask)
    ratio = torch.exp(logp - old_logp)
    clipped = ratio.clamp(1.0 - clip_param, 1.0 + clip_param)
    policy_loss = -mean(torch.min(advantages * ratio, advantages * clipped))
    total = policy_loss
    mean_entropy = mean_kl = vf_loss = total.new_zeros(())
    if entropy is not None:
        mean_entropy = mean(entropy)
        total = total - entropy_coeff * mean_entropy if entropy_coeff else total
    if kl is not None:
        mean_kl = mean(kl)
        total = total + kl_coeff * mean_kl
    if values is not None:
        vf_loss = mean((values - value_targets).square().clamp(max=vf_clip_param))
        total = total + vf_loss_coeff * vf_loss
    return PPOTerms(total, policy_loss, vf_loss, mean_entropy, mean_kl)


KL_RAISE: Final = 1.5
KL_LOWER: Final = 0.5


def adapted_kl_coeff(coeff: float, kl: float, kl_target: float) -> float:
    """The divergence's next weight: more of it above twice the target, less below half of it.

    Example:
        >>> adapted_kl_coeff(0.2, kl=0.05, kl_target=0.01), adapted_kl_coeff(0.2, 0.001, 0.01)
        (0.30000000000000004, 0.1)
    """
    if kl > 2.0 * kl_target:
        return coeff * KL_RAISE
    if kl < 0.5 * kl_target:
        return coeff * KL_LOWER
    return coeff


def marwil_terms(
    *,
    logp: Tensor,
    log_std: Tensor | None,
    values: Tensor,
    value_targets: Tensor,
    mask: Tensor | None,
    squared_norm: Tensor,
    update_rate: float | Tensor,
    beta: float,
    vf_coeff: float,
    bc_logstd_coeff: float,
    over_learners: Callable[[Tensor], Tensor] | None = None,
) -> tuple[MARWILTerms, Tensor]:
    """Compute MARWIL's loss: cloning, with better actions weighing exponentially more.

    Args:
        logp: Log-probabilities of the recorded actions.
        log_std: Logarithm of the policy's deviation, one per row; None where it has none.
        values: Predicted values.
        value_targets: What they should have been.
        mask: Which rows count; None for all.
        squared_norm: The moving average of squared advantages so far.
        update_rate: How far it moves towards this batch's.
        beta: How much advantages matter.
        vf_coeff: Weight of the value loss.
        bc_logstd_coeff: How much a wide policy is rewarded.
        over_learners: Gives means over the rows of all learners; None where there is one.

    Returns:
        The terms, and the moving average after this batch.
    """
    mean = RowMean(mask)
    advantages = value_targets - values
    squared = mean(advantages.square())
    norm_seen, is_any = (
        squared.detach(),
        squared.new_ones(()) if mask is None else mask.any().float(),
    )
    if over_learners is not None:
        norm_seen, is_any = over_learners(torch.stack([norm_seen, is_any]))
    if mask is not None:  # Where no row counts there is nothing to move towards.
        update_rate = update_rate * is_any
    norm = squared_norm + update_rate * (norm_seen - squared_norm)
    weights = torch.exp(beta * (advantages.detach() / (1e-8 + norm.sqrt())))
    policy_loss = -mean(weights * _widened(logp, log_std, bc_logstd_coeff))
    vf_loss = 0.5 * squared
    return MARWILTerms(policy_loss + vf_coeff * vf_loss, policy_loss, vf_loss), norm


def cloning_loss(
    *, logp: Tensor, log_std: Tensor | None, mask: Tensor | None, bc_logstd_coeff: float = 0.0
) -> Tensor:
    """Compute the loss of behaviour cloning: MARWIL's where advantages do not matter.

    Args:
        logp: Log-probabilities of the recorded actions.
        log_std: Logarithm of the policy's deviation, one per row; None where it has none.
        mask: Which rows count; None for all.
        bc_logstd_coeff: How much a wide policy is rewarded.
    """
    return -RowMean(mask)(_widened(logp, log_std, bc_logstd_coeff))


def value_error(values: Tensor, value_targets: Tensor, mask: Tensor | None) -> Tensor:
    """The mean squared error of values, however large."""
    with torch.no_grad():
        return RowMean(mask)((values - value_targets).square())


def value_explained(
    values: Tensor,
    value_targets: Tensor,
    mask: Tensor | None,
    added: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """How much of their targets' variance values explain.

    Over all rows of steps as Ray does; over the steps of sequences, where Ray looks at the first
    place alone.

    Args:
        values: The estimates.
        value_targets: What they should be.
        mask: Which steps of sequences count.
        added: Gives the sums of all learners that share the rows; None for one alone.
    """
    with torch.no_grad():
        if value_targets.ndim > 1:
            counts = torch.ones_like(value_targets, dtype=torch.bool) if mask is None else mask
            value_targets, values = value_targets[counts], values[counts]
        if added is not None:
            both = torch.stack([value_targets, value_targets - values]).double()
            here = torch.stack([torch.ones_like(both), both, both.square()]).sum(-1)
            count, total, squares = added(here)
            variance, rest = (squares / count - (total / count).square()).clamp_min(0)
            ratio: Tensor = 1 - rest / variance if variance > 0 else variance.new_full((), -1.0)
            return ratio.clamp_min(-1.0).to(value_targets.dtype)
        if len(value_targets) < 2:  # one number has no variance to explain
            return value_targets.new_full((), -1.0)
        share: Tensor = explained_variance(value_targets, values)
    return share


def _flat(rows: Tensor) -> Tensor:
    return rows if rows.ndim == 1 else rows.reshape(-1)


def _widened(logp: Tensor, log_std: Tensor | None, coeff: float) -> Tensor:
    return logp if log_std is None or not coeff else logp + coeff * log_std


TEACHER_KL: Final = "teacher_kl"
TEACHER_COEFF: Final = "teacher_coeff"


def teacher_kl(module: Any, batch: dict[str, Any], fwd_out: dict[str, Any]) -> Tensor:
    """How far a module's distributions are from the teacher's, row by row.

    Raises:
        PieceError: The teacher gives inputs of another distribution.
    """
    inputs, teacher_inputs = fwd_out[Columns.ACTION_DIST_INPUTS], batch[TEACHER_INPUTS]
    if teacher_inputs.shape[-1] != inputs.shape[-1]:
        raise PieceError(
            "teacher and student have different actions",
            expected=f"{inputs.shape[-1]} inputs of the student's distribution",
            found=f"{teacher_inputs.shape[-1]} of the teacher's",
            hint="graft the teacher for the environment first: "
            "rlconnect.graft(teacher, env, action=..., features=[]).",
        )
    kind = module.get_train_action_dist_cls()
    divergence: Tensor = kind.from_logits(teacher_inputs).kl(kind.from_logits(inputs))
    return divergence
