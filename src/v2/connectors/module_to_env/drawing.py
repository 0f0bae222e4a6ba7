"""Actions drawn from the two usual distributions without building them.

They use the same random numbers in the same way as `TorchCategorical` and `TorchDiagGaussian`, so
actions and log-probabilities are the same, up to rounding. What is left out is torch's bookkeeping
around them, which takes longer than the drawing of a few rows: torch gives the random numbers, and
arrays do the rest.
"""

from __future__ import annotations

from functools import lru_cache
from math import isfinite, log, pi, prod, sqrt
from threading import get_ident
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from ....core.types import Array
from ...distributions.torch_continuous import TorchDiagGaussian
from ...distributions.torch_discrete import TorchCategorical

_LOG_ROOT_TWO_PI: Final = log(sqrt(2 * pi))
_SHARED: Final = frozenset(map(np.dtype, ("f4", "f8")))


def drawn(kind: Any, inputs: Any, as_arrays: bool = False) -> tuple[Any, Any] | None:
    """Draw actions.

    Args:
        kind: A class of distributions.
        inputs: Its inputs, one row for each action.
        as_arrays: Whether to give arrays, not tensors.

    Returns:
        Actions and their log-probabilities; None for any other distribution, for inputs that are
            no floats of the CPU, or bad numbers.
    """
    is_choice = kind is TorchCategorical
    if (not is_choice and kind is not TorchDiagGaussian) or type(inputs) is not Tensor:
        return None
    if inputs.requires_grad:
        inputs = inputs.detach()
    try:
        of_all = inputs.log_softmax(-1).numpy() if is_choice else inputs.numpy()
        if of_all.ndim < 2 or of_all.dtype not in _SHARED:
            return None
        if is_choice:
            # torch.multinomial does this for one draw of each row, after it has looked for bad
            # numbers.
            starts, noise, drawing = _room(get_ident(), of_all.shape, of_all.dtype)
            drawing.exponential_()
            actions = (np.exp(of_all) / noise).argmax(-1)
            logp = of_all.take(starts + actions)
        else:
            actions, logp = _scattered(inputs)
    except (TypeError, RuntimeError):  # They are elsewhere, or no floats.
        return None
    flat = logp.ravel()
    if not isfinite(flat.dot(flat)):  # as a sum, sooner there
        return None
    return (actions, logp) if as_arrays else (torch.from_numpy(actions), torch.from_numpy(logp))


@lru_cache(maxsize=4)
def _room(thread: int, shape: tuple[int, ...], dtype: Any) -> tuple[Array, Array, Tensor]:
    """The place of each row's first number among all of them; a thread's room for as many."""
    noise = np.empty(shape, dtype)
    starts = np.arange(0, prod(shape), shape[-1]).reshape(shape[:-1])
    return starts, noise, torch.from_numpy(noise)


def _scattered(inputs: Tensor) -> tuple[Array, Array]:
    both = inputs.numpy()
    width = both.shape[-1] // 2
    mean, log_std = both[..., :width], both[..., width:]
    # As torch.normal does; torch's exp, for actions are the same to the last digit.
    scale = torch.from_numpy(log_std).exp().numpy()
    actions = np.empty(mean.shape, mean.dtype)
    torch.from_numpy(actions).normal_()
    with np.errstate(all="ignore"):  # Bad numbers show in the sum.
        actions *= scale
        actions += mean
        off = actions - mean
        off /= scale
        off *= off
        off /= 2
        off += log_std
        logp = off.sum(-1)
        np.negative(logp, logp)
        logp -= width * _LOG_ROOT_TWO_PI
    return actions, logp
