"""A learner whose only loss is how far modules are from their teachers."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.data.teachers import TEACHER_VALUES
from ...v2.learning.losses import RowMean
from ...v2.learning.teaching import TEACHER_KL, teacher_kl
from ...v2.learning.torch_learner import TorchLearner
from ...v2.modules.apis import ValueFunctionAPI

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
