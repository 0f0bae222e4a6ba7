"""The learner of CQL: SAC on recorded steps, held back where nobody has been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor
from typing_extensions import override

from ...core.columns import ALL_MODULES, Columns
from ...core.data.checked import count
from ...core.data.damage import at
from ..metrics import names
from ..modules import sac as outputs
from .minibatches import Batch
from .q_losses import (
    conservative_penalty,
    expected_loss,
    mean_error,
    temperature_loss,
    uniform_log_density,
    worth_of_the_next,
)
from .sac import ALPHA_LOSS_KEY, Q_LOSSES, Q_PREDS, SACTorchLearner
from .train_batch import needed

CQL_LOSS_KEY: Final = "cql_loss"
_PREFIXES: Final = ("q", "q_twin")
_NEEDED = (Columns.ACTIONS, Columns.REWARDS, Columns.NEXT_OBS, Columns.TERMINATEDS)


class CQLTorchLearner(SACTorchLearner):
    """CQL on torch modules: a policy that clones for `bc_iters` gradient steps, then improves."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._iterations = 0

    @override
    def _update(self, batch: Batch) -> tuple[Any, dict[str, Any], Any]:
        self._iterations += 1
        key = (ALL_MODULES, names.TRAINING_ITERATION)
        self.metrics.log_value(key, int(self.is_first), reduce="sum")
        return super()._update(batch)

    @override
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute CQL's losses; they go to `metrics`."""
        needed(batch, _NEEDED, type(self).__name__, module_id)
        module = self.module[module_id].unwrapped()
        log_alpha = self.curr_log_alpha[module_id]
        alpha, logp = log_alpha.detach().exp(), fwd_out[outputs.LOGP_RESAMPLED]
        next_values = fwd_out[outputs.QF_TARGET_NEXT]
        if not config.deterministic_backup:
            next_values = next_values - alpha * fwd_out[outputs.LOGP_NEXT_RESAMPLED]
        worth_next = worth_of_the_next(config.gamma, 1, batch[Columns.TERMINATEDS])
        targets = batch[Columns.REWARDS] + worth_next * next_values
        if self._iterations >= config.bc_iters:
            worth = fwd_out[outputs.Q_CURR]
        else:
            policy = module.get_train_action_dist_cls().from_logits(
                fwd_out[Columns.ACTION_DIST_INPUTS]
            )
            worth = policy.logp(batch[Columns.ACTIONS])
        losses = {
            names.POLICY_LOSS_KEY: (alpha * logp - worth).mean(),
            ALPHA_LOSS_KEY: temperature_loss(log_alpha, logp, self.target_entropy[module_id]),
        }
        qs = [fwd_out[key] for key in Q_PREDS if key in fwd_out]
        terms = [expected_loss(q, targets, 1.0, "mse") for q in qs]
        even = uniform_log_density(batch[Columns.ACTIONS].shape[-1])
        penalties = []
        for key, q, term, prefix in zip(Q_LOSSES, qs, terms, _PREFIXES, strict=False):
            drawn = [
                (fwd_out[f"{prefix}_rand_repeat"], even),
                (fwd_out[f"{prefix}_next_repeat"], fwd_out["logps_next_repeat"]),
                (fwd_out[f"{prefix}_curr_repeat"], fwd_out["logps_curr_repeat"]),
            ]
            penalties.append(
                conservative_penalty(
                    q, drawn, temperature=config.temperature, min_q_weight=config.min_q_weight
                )
            )
            losses[key] = term.losses.mean() + penalties[-1]
        self._tell(
            module_id,
            {**losses, CQL_LOSS_KEY: penalties[0]},
            alpha,
            logp,
            fwd_out["q_curr_repeat"],
            mean_error(terms),
        )
        self._keep_losses(module_id, losses)
        # As in RLlib, the total tells the mean of twins; each learns by the whole of its own.
        critics = torch.stack([losses[key] for key in Q_LOSSES if key in losses]).mean()
        total: Tensor = losses[names.POLICY_LOSS_KEY] + losses[ALPHA_LOSS_KEY] + critics
        return total

    @override
    def get_state(self, components: Any = None, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_state(components, **kwargs), "bc_iterations": self._iterations}

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        with at("bc_iterations"):
            self._iterations = count(state.get("bc_iterations", self._iterations))
