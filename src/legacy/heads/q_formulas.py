"""Q values from the two branches of a DQN head: pure tensor functions."""

from __future__ import annotations

import torch
from torch import Tensor


def support(num_atoms: int, v_min: float, v_max: float, like: Tensor) -> Tensor:
    """The returns a distributional head tells apart, `(num_atoms,)`, evenly spaced."""
    steps = torch.arange(0.0, num_atoms, dtype=torch.float32, device=like.device)
    return v_min + steps * (v_max - v_min) / float(num_atoms - 1)


def expected_return(logits: Tensor, atoms: Tensor) -> Tensor:
    """The mean of a distribution over atoms, `(..., n)` to `(...)`."""
    return (atoms * logits.softmax(dim=-1)).sum(-1)


def dueling_q(advantages: Tensor, value: Tensor) -> Tensor:
    """Value plus centred advantages, `(B, n)`; advantages of minus infinity do not count."""
    counted = advantages != float("-inf")
    total = torch.where(counted, advantages, torch.zeros_like(advantages)).sum(1)
    mean = total / counted.to(advantages.dtype).sum(1)
    return value + (advantages - mean.unsqueeze(1))


def dueling_logits(logits: Tensor, value_logits: Tensor) -> Tensor:
    """The same for distributions: `(B, n, atoms)` and `(B, atoms)` to `(B, n, atoms)`."""
    return value_logits.unsqueeze(1) + (logits - logits.mean(dim=1, keepdim=True))
