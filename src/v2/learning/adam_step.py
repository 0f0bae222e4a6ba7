"""Steps of torch's fused Adam by its kernel alone; what surrounds that takes longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.optim import Adam
from torch.optim import optimizer as hooks


class AdamStep:
    """Takes the steps of an optimiser, those of a plain fused Adam by the kernel.

    Args:
        optimizer: The optimiser. What it remembers, and its settings, stay its own: they may be
            exchanged at any time.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._state: Any = None
        self._lists: tuple[list[Any], ...] | None = None

    def __call__(self, gradients: Sequence[Any]) -> None:
        """Take a step.

        Args:
            gradients: Of all its parameters in order, as they lie there; None for those without.
        """
        optimizer = self._optimizer
        if self._lists is None or not self._goes_on() or any(g is None for g in gradients):
            optimizer.step()
            self._state, self._lists = optimizer.state, _lists_of(optimizer)
            return
        params, moments, squares, steps = self._lists
        kernel: Any = torch._fused_adam_
        group = optimizer.param_groups[0]
        beta1, beta2 = group["betas"]
        with torch.no_grad():
            torch._foreach_add_(steps, 1)
            kernel(
                params,
                gradients,
                moments,
                squares,
                [],
                steps,
                lr=group["lr"],
                beta1=beta1,
                beta2=beta2,
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                amsgrad=False,
                maximize=False,
            )

    def _goes_on(self) -> bool:
        """Whether it remembers what it did after the last step, and nobody watches steps."""
        optimizer: Any = self._optimizer
        return (
            optimizer.state is self._state
            and len(optimizer.state) == len(self._lists[0])  # type: ignore[index]  # there are some
            and _is_plain(optimizer)
        )


def _is_plain(optimizer: Any) -> bool:
    """Whether an optimiser is torch's fused Adam, with settings of numbers and no hooks."""
    if type(optimizer) is not Adam or len(optimizer.param_groups) != 1 or "step" in vars(optimizer):
        return False
    group = optimizer.param_groups[0]
    is_odd = any(group.get(name) for name in _ODD) or not group.get("fused")
    return not (
        is_odd
        or isinstance(group["lr"], torch.Tensor)
        or optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
        or hooks._global_optimizer_pre_hooks
        or hooks._global_optimizer_post_hooks
        or getattr(optimizer, "grad_scale", None) is not None
        or getattr(optimizer, "found_inf", None) is not None
    )


_ODD = ("amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay")


def _lists_of(optimizer: Any) -> tuple[list[Any], ...] | None:
    """Parameters, both moments and steps, as the kernel takes them; None where it does not."""
    if not _is_plain(optimizer):
        return None
    params = optimizer.param_groups[0]["params"]
    states = [optimizer.state.get(param) for param in params]
    if not all(states) or len({(param.device, param.dtype) for param in params}) != 1:
        return None
    return (
        params,
        *([each[name] for each in states] for name in ("exp_avg", "exp_avg_sq", "step")),
    )
