"""Losses by a teacher: alone, or beside PPO's."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import PieceError
from ...v2.learning.losses import RowMean
from ...v2.learning.ppo import PPOTorchLearner
from ...v2.learning.torch_learner import TorchLearner
from ...v2.metrics import names
from ...v2.modules.apis import ValueFunctionAPI
from ...v2.modules.schedules import Scheduler
from .labels import TEACHER_INPUTS, TEACHER_VALUES

TEACHER_KL: Final = "teacher_kl"
TEACHER_COEFF: Final = "teacher_coeff"
_VALUES: Final = "teacher_value_error"


class TaughtTorchLearner(TorchLearner):
    """Learns a teacher's distributions, and its values where it has some.

    `learner_config_dict["teacher_values"]` says how much values count beside the divergence.
    """

    @override
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute the divergence from the teacher, and the error of values."""
        mean = RowMean(batch.get(Columns.LOSS_MASK))
        module = self.module[module_id].unwrapped()
        terms = {TEACHER_KL: mean(teacher_kl(module, batch, fwd_out))}
        loss = terms[TEACHER_KL]
        share = config.learner_config_dict.get(TEACHER_VALUES, 0.0)
        if share and isinstance(module, ValueFunctionAPI):
            values = module.compute_values(batch, embeddings=fwd_out.get(Columns.EMBEDDINGS))
            error = torch.nn.functional.smooth_l1_loss(
                values, batch[TEACHER_VALUES].reshape(values.shape), reduction="none"
            )
            terms[_VALUES] = mean(error)
            loss = loss + share * terms[_VALUES]
        self._keep_terms(module_id, terms)
        return loss


def teacher_kl(module: Any, batch: dict[str, Any], fwd_out: dict[str, Any]) -> Tensor:
    """How far a module's distributions are from the teacher's, row by row.

    Raises:
        PieceError: The teacher gives inputs of another distribution.
    """
    inputs, told = fwd_out[Columns.ACTION_DIST_INPUTS], batch[TEACHER_INPUTS]
    if told.shape[-1] != inputs.shape[-1]:
        raise PieceError(
            "teacher and student have different actions",
            expected=f"{inputs.shape[-1]} inputs of the student's distribution",
            found=f"{told.shape[-1]} of the teacher's",
            hint="graft the teacher for the environment first: "
            "rlconnect.graft(teacher, env, action=..., features=[]).",
        )
    kind = module.get_train_action_dist_cls()
    divergence: Tensor = kind.from_logits(told).kl(kind.from_logits(inputs))
    return divergence


class KickstartedPPOTorchLearner(PPOTorchLearner):
    """PPO whose loss holds the divergence from a teacher, by a weight that follows a schedule.

    The weight is `learner_config_dict["teacher_coeff"]`: a number, or points `[step, weight]`.
    """

    _schedule: Any = None

    @override
    def build(self) -> None:
        super().build()
        self._schedule = Scheduler(self.config.learner_config_dict[TEACHER_COEFF])

    @override
    def before_gradient_based_update(self, *, timesteps: Any) -> None:
        super().before_gradient_based_update(timesteps=timesteps)
        step = timesteps.get(names.NUM_ENV_STEPS_SAMPLED_LIFETIME, 0)
        self._schedule.update(timestep=step)

    @override
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute PPO's loss and add the divergence."""
        loss: Tensor = super().compute_loss_for_module(
            module_id=module_id, config=config, batch=batch, fwd_out=fwd_out
        )
        module = self.module[module_id].unwrapped()
        apart = RowMean(batch.get(Columns.LOSS_MASK))(teacher_kl(module, batch, fwd_out))
        weight = self._schedule.get_current_value()
        for name, value in ((TEACHER_KL, apart.detach()), (TEACHER_COEFF, weight)):
            self.metrics.log_value((module_id, name), value, window=1)
        total: Tensor = loss + weight * apart
        return total
