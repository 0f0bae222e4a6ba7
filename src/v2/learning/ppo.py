"""Learners of PPO: a clipped surrogate, a value loss, an adaptive divergence."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nan
from typing import Any

from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.data.checked import amount
from ...core.data.teachers import TEACHER_INPUTS
from ..connectors.learner.general_advantage_estimation import add_value_targets
from ..metrics import names
from ..modules.apis import ValueFunctionAPI
from ..modules.schedules import Scheduler
from .learner import Learner
from .losses import (
    TEACHER_COEFF,
    TEACHER_KL,
    RowMean,
    adapted_kl_coeff,
    ppo_terms,
    teacher_kl,
    value_error,
    value_explained,
)
from .torch_learner import TorchLearner
from .train_batch import needed

_NEEDED = (
    Columns.ACTIONS,
    Columns.ACTION_LOGP,
    Columns.ACTION_DIST_INPUTS,
    Columns.ADVANTAGES,
    Columns.VALUE_TARGETS,
)


class PPOLearner(Learner):
    """What PPO keeps beside the modules: entropy schedules and weights of the divergence.

    Attributes:
        entropy_coeff_schedulers_per_module: Module id to `Scheduler`.
        curr_kl_coeffs_per_module: Module id to the divergence's weight now, a scalar tensor.
    """

    entropy_coeff_schedulers_per_module: dict[str, Scheduler]
    curr_kl_coeffs_per_module: dict[str, Any]
    _steps = 0

    @override
    def build(self) -> None:
        super().build()
        self.curr_kl_coeffs_per_module = self.keep_by_module(
            "curr_kl_coeffs",
            lambda module_id: self._get_tensor_variable(self._config_of(module_id).kl_coeff),
            float,
            lambda _, saved: self._get_tensor_variable(amount(saved)),
        )
        self.entropy_coeff_schedulers_per_module = self.keep_by_module(
            "curr_entropy_coeffs",
            lambda module_id: Scheduler(self._config_of(module_id).entropy_coeff),
            Scheduler.get_current_value,
            _set_back,
        )
        if self.config.add_default_connectors_to_learner_pipeline:
            add_value_targets(
                self._learner_connector, gamma=self.config.gamma, lambda_=self.config.lambda_
            )

    @classmethod
    def rl_module_required_apis(cls) -> list[type]:
        """What a module has to promise."""
        return [ValueFunctionAPI]

    @override
    def before_gradient_based_update(self, *, timesteps: Mapping[Any, Any]) -> None:
        super().before_gradient_based_update(timesteps=timesteps)
        self._steps = timesteps.get(names.NUM_ENV_STEPS_SAMPLED_LIFETIME, 0)

    @override
    def after_gradient_based_update(self, *, timesteps: Mapping[Any, Any]) -> None:
        """Move entropy weights along their schedules, and the divergence's towards its target."""
        super().after_gradient_based_update(timesteps=timesteps)
        step = timesteps.get(names.NUM_ENV_STEPS_SAMPLED_LIFETIME, 0)
        for module_id in self.module:
            config = self._config_of(module_id)
            entropy_coeff = self.entropy_coeff_schedulers_per_module[module_id].update(
                timestep=step
            )
            self.metrics.log_value(
                (module_id, names.LEARNER_RESULTS_CURR_ENTROPY_COEFF_KEY), entropy_coeff, window=1
            )
            kl = float(self.metrics.peek((module_id, names.LEARNER_RESULTS_KL_KEY), default=-inf))
            if config.use_kl_loss and kl != -inf:  # NaN tells the weight, and leaves it.
                self._update_module_kl_coeff(module_id=module_id, config=config, kl_loss=kl)

    def _update_module_kl_coeff(self, *, module_id: str, config: Any, kl_loss: float) -> None:
        """Adapt the divergence's weight of a module."""
        coeff = self.curr_kl_coeffs_per_module[module_id]
        coeff.fill_(adapted_kl_coeff(float(coeff), kl_loss, config.kl_target))
        self.metrics.log_value(
            (module_id, names.LEARNER_RESULTS_CURR_KL_COEFF_KEY), coeff.item(), window=1
        )


def _set_back(schedule: Scheduler, saved: Any) -> Scheduler:
    schedule.set_current_value(amount(saved))
    return schedule


class PPOTorchLearner(PPOLearner, TorchLearner):
    """PPO on torch modules.

    A module without a value function, or with `config.use_critic=False`, learns without a value
    loss.
    """

    @override
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute PPO's loss; its terms go to `metrics`."""
        needed(batch, _NEEDED, type(self).__name__, module_id)
        module = self.module[module_id].unwrapped()
        current = module.get_train_action_dist_cls().from_logits(
            fwd_out[Columns.ACTION_DIST_INPUTS]
        )
        kl = None
        if config.use_kl_loss:
            sampling = module.get_exploration_action_dist_cls()
            kl = sampling.from_logits(batch[Columns.ACTION_DIST_INPUTS]).kl(current)
        values = None
        if config.use_critic:
            values = module.compute_values(batch, embeddings=fwd_out.get(Columns.EMBEDDINGS))
        targets, mask = batch[Columns.VALUE_TARGETS], batch.get(Columns.LOSS_MASK)
        entropy_coeff = self.entropy_coeff_schedulers_per_module[module_id].get_current_value()
        terms = ppo_terms(
            logp=current.logp(batch[Columns.ACTIONS]),
            old_logp=batch[Columns.ACTION_LOGP],
            advantages=batch[Columns.ADVANTAGES],
            entropy=current.entropy() if entropy_coeff else None,
            kl=kl,
            values=values,
            value_targets=targets,
            mask=mask,
            clip_param=config.clip_param,
            vf_clip_param=config.vf_clip_param,
            vf_loss_coeff=config.vf_loss_coeff,
            entropy_coeff=entropy_coeff,
            kl_coeff=self.curr_kl_coeffs_per_module[module_id],
        )
        total, teaching = terms.total, {}
        if TEACHER_INPUTS in batch:
            apart = RowMean(mask)(teacher_kl(module, batch, fwd_out))
            weight = Scheduler(config.teacher_coeff).at(self._steps)
            total = total + weight * apart
            teaching = {TEACHER_KL: apart, TEACHER_COEFF: apart.new_tensor(weight)}
        self._keep_terms(
            module_id,
            {
                names.POLICY_LOSS_KEY: terms.policy_loss,
                names.VF_LOSS_KEY: terms.vf_loss,
                names.ENTROPY_KEY: terms.entropy,
                names.LEARNER_RESULTS_KL_KEY: terms.mean_kl_loss,
                **teaching,
            },
            late=lambda: {
                # Without a weight it is only reported: once an update.
                names.ENTROPY_KEY: terms.entropy
                if entropy_coeff
                else RowMean(mask)(current.entropy().detach()),
                **_value_report(values, targets, mask, self._sums(batch)),
                **_unless_empty(names.LEARNER_RESULTS_KL_KEY, terms.mean_kl_loss, mask),
            },
        )
        return total


def _unless_empty(name: str, term: Any, mask: Any) -> dict[str, Any]:
    """A term as NaN where no row counts: it says nothing, and moves no coefficient."""
    if mask is None or bool(mask.any()):
        return {}
    return {name: term.new_full((), nan)}


def _value_report(values: Any, targets: Any, mask: Any, added: Any) -> dict[str, Any]:
    predicted = targets.new_zeros(targets.shape) if values is None else values
    error = targets.new_zeros(()) if values is None else value_error(values, targets, mask)
    return {
        names.LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY: error,
        names.LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY: value_explained(
            predicted, targets, mask, added
        ),
    }
