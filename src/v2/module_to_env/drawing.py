"""Actions drawn from the two usual distributions without building them.

They use the same random numbers in the same way as `TorchCategorical` and `TorchDiagGaussian`, so
the actions are the same; log-probabilities are up to rounding. What is left out is torch's
bookkeeping around them, which takes longer than the drawing of a few rows.
"""

from __future__ import annotations

from math import isfinite, log, pi, sqrt
from typing import Any, Final

import torch
from torch import Tensor

from ..distributions.torch_continuous import TorchDiagGaussian
from ..distributions.torch_discrete import TorchCategorical

_LOG_ROOT_TWO_PI: Final = log(sqrt(2 * pi))


def drawn(kind: Any, inputs: Any) -> tuple[Tensor, Tensor] | None:
    """Draw actions.

    Args:
        kind: A class of distributions.
        inputs: Its inputs, one row for each action.

    Returns:
        Actions and their log-probabilities; None for any other distribution, or bad
            numbers.
    """
    if type(inputs) is not Tensor or inputs.dim() < 2:
        return None
    if inputs.requires_grad:
        inputs = inputs.detach()
    if kind is TorchCategorical:
        made = _chosen(inputs)
    elif kind is TorchDiagGaussian:
        made = _scattered(inputs)
    else:
        return None
    return made if isfinite(made[1].sum().item()) else None


def _chosen(inputs: Tensor) -> tuple[Tensor, Tensor]:
    # torch.multinomial does this for one draw of each row, after it has looked for bad numbers.
    noise = torch.empty_like(inputs).exponential_(1)
    best = (inputs.softmax(-1) / noise).argmax(dim=-1, keepdim=True)
    return best.squeeze(-1), inputs.log_softmax(-1).gather(-1, best).squeeze(-1)


def _scattered(inputs: Tensor) -> tuple[Tensor, Tensor]:
    loc, log_std = inputs.chunk(2, dim=-1)
    scale = log_std.exp()
    actions = torch.normal(loc, scale)
    logp = -((actions - loc) ** 2) / (2 * scale**2) - scale.log() - _LOG_ROOT_TWO_PI
    return actions, logp.sum(dim=-1)
