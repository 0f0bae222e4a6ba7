"""Learners from recorded episodes: cloning what was done, and cloning the better part of it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.data.checked import amount
from ..connectors.learner.general_advantage_estimation import add_value_targets
from ..distributions.torch_continuous import TorchDiagGaussian
from ..metrics import names
from ..modules.apis import ValueFunctionAPI
from .learner import Learner
from .losses import cloning_loss, marwil_terms, value_explained
from .torch_learner import TorchLearner
from .train_batch import needed

_MOVING_NORM: Final = "moving_avg_sqd_adv_norm"
_EXPLAINED: Final = "vf_explained_variance"


class MARWILLearner(Learner):
    """What MARWIL keeps beside the modules: how large squared advantages are on average.

    Attributes:
        moving_avg_sqd_adv_norms_per_module: Module id to that average, a scalar tensor.
    """

    moving_avg_sqd_adv_norms_per_module: dict[str, Any]

    @override
    def build(self) -> None:
        super().build()
        self.moving_avg_sqd_adv_norms_per_module = self.keep_by_module(
            "moving_avg_sqd_adv_norms",
            lambda module_id: self._get_tensor_variable(
                self._config_of(module_id).moving_average_sqd_adv_norm_start
            ),
            float,
            lambda _, saved: self._get_tensor_variable(amount(saved)),
        )
        if self._needs_value_targets() and self.config.add_default_connectors_to_learner_pipeline:
            add_value_targets(
                self._learner_connector, gamma=self.config.gamma, lambda_=self.config.lambda_
            )

    def _needs_value_targets(self) -> bool:
        return any(isinstance(module, ValueFunctionAPI) for module in self.module.values())


class MARWILTorchLearner(MARWILLearner, TorchLearner):
    """MARWIL on torch modules; with `beta=0` behaviour cloning."""

    def _beta(self, config: Any) -> float:
        """How much advantages matter."""
        return float(config.beta)

    @override
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute MARWIL's loss; its terms go to `metrics`."""
        needed(batch, (Columns.ACTIONS,), type(self).__name__, module_id)
        module = self.module[module_id].unwrapped()
        policy = module.get_train_action_dist_cls().from_logits(fwd_out[Columns.ACTION_DIST_INPUTS])
        mask = batch.get(Columns.LOSS_MASK)
        cloning = {
            "logp": policy.logp(batch[Columns.ACTIONS]),
            "log_std": _log_std(policy) if config.bc_logstd_coeff else None,
            "mask": mask,
            "bc_logstd_coeff": config.bc_logstd_coeff,
        }
        beta = self._beta(config)
        if not beta:
            loss = cloning_loss(**cloning)
            self._keep_terms(module_id, {names.POLICY_LOSS_KEY: loss})
            return loss
        needed(batch, (Columns.VALUE_TARGETS,), type(self).__name__, module_id)
        targets = batch[Columns.VALUE_TARGETS]
        values = module.compute_values(batch, embeddings=fwd_out.get(Columns.EMBEDDINGS))
        shared = self._shared_rows
        terms, norm = marwil_terms(
            **cloning,
            values=values,
            value_targets=targets,
            squared_norm=self.moving_avg_sqd_adv_norms_per_module[module_id],
            update_rate=config.moving_average_sqd_adv_norm_update_rate,
            beta=beta,
            vf_coeff=config.vf_coeff,
            over_learners=None if shared is None else partial(shared.mean, module_id),
        )
        self.moving_avg_sqd_adv_norms_per_module[module_id] = norm
        self._keep_terms(
            module_id,
            {
                names.POLICY_LOSS_KEY: terms.policy_loss,
                names.VF_LOSS_KEY: terms.vf_loss,
                _MOVING_NORM: norm,
            },
            late=lambda: {_EXPLAINED: value_explained(values, targets, mask, self._sums(batch))},
        )
        return terms.total


class BCTorchLearner(MARWILTorchLearner):
    """Behaviour cloning on torch modules: the recorded actions become more likely."""

    @override
    def _needs_value_targets(self) -> bool:
        return False

    @override
    def _beta(self, config: Any) -> float:
        return 0.0


def _log_std(policy: Any) -> Any:
    """The logarithm of a policy's deviation, its mean over the action's numbers; else None."""
    return policy.scale.log().mean(-1) if isinstance(policy, TorchDiagGaussian) else None
