"""Learners of SAC: action values, a policy, and how much its entropy is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.data.checked import number
from ..metrics import names
from ..modules import sac as outputs
from .dqn import (
    QF_LOSS_KEY,
    QF_MAX_KEY,
    QF_MEAN_KEY,
    QF_MIN_KEY,
    TD_ERROR_MEAN_KEY,
    DQNLearner,
)
from .loss_per_network import LossPerNetworkLearner
from .q_losses import expected_loss, mean_error, soft_values, temperature_loss, worth_of_the_next
from .train_batch import needed

QF_TWIN_LOSS_KEY: Final = "qf_twin_loss"
LOGPS_KEY: Final = "logps"
ALPHA_LOSS_KEY: Final = "alpha_loss"

_NEEDED = (
    Columns.ACTIONS,
    Columns.REWARDS,
    Columns.NEXT_OBS,
    Columns.TERMINATEDS,
    "weights",
    "n_step",
)


class SACLearner(DQNLearner):
    """What SAC keeps beside the modules: how much entropy is worth, and how much is wanted.

    Attributes:
        curr_log_alpha: Module id to the logarithm of entropy's worth, a tensor that is trained.
        target_entropy: Module id to how much entropy is wanted, a tensor.
    """

    curr_log_alpha: dict[str, Any]
    target_entropy: dict[str, Any]

    @override
    def build(self) -> None:
        self.curr_log_alpha = self.keep_by_module(  # Optimisers are made of it while it builds.
            "curr_log_alpha",
            lambda module_id: self._get_tensor_variable(
                [math.log(self._config_of(module_id).initial_alpha)], trainable=True
            ),
            Tensor.item,
            _refilled,
        )
        self.target_entropy = self.keep_by_module(
            "target_entropy",
            lambda module_id: self._get_tensor_variable(self._get_target_entropy(module_id)),
        )
        super().build()

    def _get_target_entropy(self, module_id: str) -> float:
        """How much entropy is wanted; by itself, -1 for each number of an action."""
        entropy = self._config_of(module_id).target_entropy
        if entropy is None or entropy == "auto":
            entropy = -np.prod(self.module[module_id].action_space.shape)
        return float(entropy)


@torch.no_grad()
def _refilled(variable: Tensor, saved: Any) -> Tensor:
    return variable.fill_(number(saved))


class SACTorchLearner(LossPerNetworkLearner, SACLearner):
    """SAC on torch modules, for flat Box and for Discrete actions."""

    @override
    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Register Adam for each of `qf`, `qf_twin`, `policy` and `alpha`."""
        settings = self._config_of(module_id) if config is None else config
        self._register_q_networks(module_id, settings)
        self._register_network(module_id, "policy", settings.actor_lr)
        self._register(module_id, "alpha", [self.curr_log_alpha[module_id]], settings.alpha_lr)

    @override
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute SAC's losses; they go to `metrics`, with the errors of action values."""
        needed(batch, _NEEDED, type(self).__name__, module_id)
        log_alpha = self.curr_log_alpha[module_id]
        alpha = log_alpha.detach().exp()
        qs = [fwd_out[key] for key in Q_PREDS if key in fwd_out]
        if isinstance(self.module[module_id].action_space, spaces.Discrete):
            probs, log_probs = fwd_out[outputs.ACTION_PROBS], fwd_out[outputs.ACTION_LOG_PROBS]
            q_curr = qs[0]
            smallest = qs[0] if len(qs) == 1 else torch.minimum(*qs)
            policy_loss = -soft_values(probs, log_probs, smallest.detach(), alpha).mean()
            logp, logps = (log_probs * probs).sum(-1), log_probs
            next_values = soft_values(
                fwd_out[outputs.ACTION_PROBS_NEXT],
                fwd_out[outputs.ACTION_LOG_PROBS_NEXT],
                fwd_out[outputs.QF_TARGET_NEXT],
                alpha,
            )
            chosen = batch[Columns.ACTIONS].long().unsqueeze(-1)
            qs = [each.gather(-1, chosen).squeeze(-1) for each in qs]
        else:
            logp = logps = fwd_out[outputs.LOGP_RESAMPLED]
            q_curr = fwd_out[outputs.Q_CURR]
            policy_loss = (alpha * logp - q_curr).mean()
            next_values = (
                fwd_out[outputs.QF_TARGET_NEXT] - alpha * fwd_out[outputs.LOGP_NEXT_RESAMPLED]
            )
        worth = worth_of_the_next(config.gamma, batch["n_step"], batch[Columns.TERMINATEDS])
        targets = batch[Columns.REWARDS] + worth * next_values
        terms = [expected_loss(q, targets, batch["weights"]) for q in qs]
        errors = mean_error(terms)
        self.metrics.log_value((module_id, names.TD_ERROR_KEY), errors, reduce="item_series")
        losses = {
            names.POLICY_LOSS_KEY: policy_loss,
            ALPHA_LOSS_KEY: temperature_loss(log_alpha, logp, self.target_entropy[module_id]),
            **{key: each.losses.mean() for key, each in zip(Q_LOSSES, terms, strict=False)},
        }
        self._tell(module_id, losses, alpha, logps, q_curr, errors)
        self._keep_losses(module_id, losses)
        return torch.stack([*losses.values()]).sum()

    def _tell(
        self,
        module_id: str,
        losses: Mapping[str, Tensor],
        alpha: Tensor,
        logps: Tensor,
        values: Tensor,
        errors: Tensor,
    ) -> None:
        """Keep for `metrics` what came of a minibatch."""
        target_entropy = self.target_entropy[module_id]
        self._keep_terms(
            module_id,
            losses,
            late=lambda: {
                "alpha_value": alpha[0],
                "log_alpha_value": alpha[0].log(),
                "target_entropy": target_entropy,
                LOGPS_KEY: logps.mean(),
                QF_MEAN_KEY: values.mean(),
                QF_MAX_KEY: values.max(),
                QF_MIN_KEY: values.min(),
                TD_ERROR_MEAN_KEY: errors.mean(),
            },
        )


Q_PREDS: Final = (outputs.QF_PREDS, outputs.QF_TWIN_PREDS)
Q_LOSSES: Final = (QF_LOSS_KEY, QF_TWIN_LOSS_KEY)
