"""Learners of IQL: values of states from recorded steps alone, and a policy that imitates."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ..metrics import names
from ..modules.apis import QNetAPI, TargetNetworkAPI, ValueFunctionAPI
from ..modules.iql import QF_TARGET_PREDS, VF_PREDS_NEXT
from .dqn import DQNLearner
from .loss_per_network import LossPerNetworkLearner
from .q_losses import advantage_weights, expected_loss, expectile_loss, worth_of_the_next
from .sac import Q_LOSSES, Q_PREDS
from .train_batch import needed

VF_LOSS: Final = "value_loss"
_NEEDED = (Columns.ACTIONS, Columns.REWARDS, Columns.NEXT_OBS, Columns.TERMINATEDS)


class IQLLearner(DQNLearner):
    """What IQL keeps beside the modules.

    Attributes:
        expectile: Module id to how much too small values count, a tensor.
        temperature: Module id to how much advantages count, a tensor.
    """

    expectile: dict[str, Any]
    temperature: dict[str, Any]

    @override
    def build(self) -> None:
        super().build()
        self.expectile = self.keep_by_module(
            "expectile",
            lambda module_id: self._get_tensor_variable([self._config_of(module_id).expectile]),
        )
        self.temperature = self.keep_by_module(
            "temperature",
            lambda module_id: self._get_tensor_variable([self._config_of(module_id).beta]),
        )

    @classmethod
    def rl_module_required_apis(cls) -> list[type]:
        """What a module has to promise."""
        return [QNetAPI, TargetNetworkAPI, ValueFunctionAPI]


class IQLTorchLearner(LossPerNetworkLearner, IQLLearner):
    """IQL on torch modules."""

    @override
    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Register Adam for each of `qf`, `qf_twin`, `policy` and `value`."""
        settings = self._config_of(module_id) if config is None else config
        self._register_q_networks(module_id, settings)
        self._register_network(module_id, "policy", settings.actor_lr)
        self._register_network(module_id, "value", settings.value_lr)

    @override
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute IQL's losses; they go to `metrics`."""
        needed(batch, _NEEDED, type(self).__name__, module_id)
        module = self.module[module_id].unwrapped()
        policy = module.get_train_action_dist_cls().from_logits(fwd_out[Columns.ACTION_DIST_INPUTS])
        advantages = fwd_out[QF_TARGET_PREDS] - fwd_out[Columns.VF_PREDS]
        weights = advantage_weights(advantages, self.temperature[module_id])
        worth = worth_of_the_next(config.gamma, 1, batch[Columns.TERMINATEDS])
        targets = batch[Columns.REWARDS] + worth * fwd_out[VF_PREDS_NEXT]
        qs = [fwd_out[key] for key in Q_PREDS if key in fwd_out]
        losses = {
            names.POLICY_LOSS_KEY: -(weights * policy.logp(batch[Columns.ACTIONS])).mean(),
            **{
                key: expected_loss(q, targets, 1.0, "mse").losses.mean() / len(qs)
                for key, q in zip(Q_LOSSES, qs, strict=False)
            },
        }
        self._keep_terms(module_id, losses)
        losses[VF_LOSS] = expectile_loss(advantages, self.expectile[module_id])
        self._keep_losses(module_id, losses)
        return torch.stack([*losses.values()]).sum()
