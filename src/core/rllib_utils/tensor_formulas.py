"""Formulas of losses on torch tensors, and copies and seeds of torch under RLlib's names."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import nest
from ..types import Nest


def symlog(x: Tensor) -> Tensor:
    """The logarithm of one more than the size of `x`, with its sign.

    Example:
        >>> symlog(torch.tensor([-1.0, 0.0]))
        tensor([-0.6931,  0.0000])
    """
    return x.sign() * x.abs().log1p()


def inverse_symlog(y: Tensor) -> Tensor:
    """The inverse of `symlog`."""
    return y.sign() * y.abs().expm1()


def two_hot(
    value: Tensor,
    num_buckets: int = 255,
    lower_bound: float = -20.0,
    upper_bound: float = 20.0,
    device: str | torch.device | None = None,
) -> Tensor:
    """Numbers `(B,)` as weights on the two nearest of evenly spaced points, `(B, num_buckets)`.

    Numbers beyond the bounds count as the bounds, which are the first and the last point.

    Example:
        >>> two_hot(torch.tensor([0.25]), 3, -1.0, 1.0)
        tensor([[0.0000, 0.7500, 0.2500]])
    """
    step = (upper_bound - lower_bound) / (num_buckets - 1)
    place = (value.clamp(lower_bound, upper_bound) - lower_bound) / step
    below = place.floor().clamp(max=num_buckets - 1)
    share = place - below
    rows = torch.zeros(*value.shape, num_buckets, device=value.device)
    rows.scatter_(-1, below.long()[..., None], (1.0 - share)[..., None].to(rows.dtype))
    above = (below.long() + 1).clamp(max=num_buckets - 1)
    rows.scatter_add_(-1, above[..., None], share[..., None].to(rows.dtype))
    return rows.to(device)


def softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross entropy `(B,)` of logits against probabilities of the classes, both `(B, classes)`.

    Example:
        >>> softmax_cross_entropy_with_logits(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
        tensor([0.6931])
    """
    return -(labels * logits.log_softmax(dim=-1)).sum(dim=-1)


def copy_torch_tensors(x: Nest, device: str | torch.device | None = None) -> Nest:
    """The nest with detached copies of its tensors; other leaves stay."""

    def copied(leaf: Any) -> Any:
        return leaf.detach().clone().to(device) if isinstance(leaf, Tensor) else leaf

    return nest.map_structure(copied, x)


def set_torch_seed(seed: int | None = None) -> None:
    """Seed torch, and have it choose algorithms that give the same numbers; not by None."""
    if seed is None:
        return
    torch.manual_seed(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
