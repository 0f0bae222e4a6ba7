"""How far modules are from their teachers."""

from __future__ import annotations

from typing import Any, Final

from torch import Tensor

from ...core.columns import Columns
from ...core.data.teachers import TEACHER_INPUTS
from ...core.errors import PieceError

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
