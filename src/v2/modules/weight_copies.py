"""Weights of one network copied into another of the same process, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self

from .torch_rl_module import TorchRLModule


class WeightCopies:
    """Copies tensors into others; both stay what they are.

    Example:
        >>> one, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
        >>> WeightCopies([*one.parameters()], [*other.parameters()])()
        >>> torch.equal(one.weight, other.weight)
        True
    """

    def __init__(self, sources: Sequence[Tensor], targets: Sequence[Tensor]) -> None:
        self._sources = [*sources]
        self._targets = [*targets]

    def __call__(self) -> None:
        """Copy."""
        with torch.no_grad():
            torch._foreach_copy_(self._targets, self._sources)

    @classmethod
    def between(cls, pairs: Sequence[tuple[Any, Any]]) -> Self | None:
        """The copies that make modules what others are; None where a state is more than weights."""
        sources: list[Tensor] = []
        targets: list[Tensor] = []
        for source, target in pairs:
            if not (_has_plain_state(source) and _has_plain_state(target)):
                return None
            source_state = source.state_dict(keep_vars=True)
            for name, target_tensor in target.state_dict(keep_vars=True).items():
                there = source_state.get(name)
                if not _fits(there, target_tensor):
                    return None
                sources.append(there)
                targets.append(target_tensor)
        return cls(sources, targets)


def _has_plain_state(module: Any) -> bool:
    """True if its state is that of its layers, by no method of a subclass."""
    kind = type(module)
    return (
        isinstance(module, TorchRLModule)
        and kind.get_state is TorchRLModule.get_state
        and kind.set_state is TorchRLModule.set_state
        and kind.state_dict is TorchRLModule.state_dict
        and kind.load_state_dict is TorchRLModule.load_state_dict
    )


def _fits(source: Any, target: Any) -> bool:
    return (
        isinstance(source, Tensor)
        and isinstance(target, Tensor)
        and (source.shape, source.dtype, source.device)
        == (target.shape, target.dtype, target.device)
    )
