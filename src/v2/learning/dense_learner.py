"""A learner that leaves autograd aside where a module's networks are dense layers on a CPU."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from torch import Tensor
from typing_extensions import override

from ..modules.multi_rl_module import MultiRLModule
from .minibatches import Batch
from .torch_learner import Gradients, TorchLearner

_STEPS: Final = ("compute_losses", "compute_loss_for_module", "compute_gradients")


class DenseLearner(TorchLearner):
    """Computes losses and gradients by hand where all modules of a minibatch allow it.

    Subclasses of the class that names `_BY_HAND` may have changed any step of it, and learn by
    autograd.
    """

    _BY_HAND: ClassVar[Any] = None
    """The class whose `of(module)` gives what computes for a module, or None."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._by_hand: dict[str, Any] = {}

    @override
    def _differentiate(self, batch: Batch) -> tuple[Any, dict[str, Any], Gradients]:
        if not self._is_by_hand(batch):
            return super()._differentiate(batch)
        losses = {
            module_id: self._loss_by_hand(module_id, self._by_hand[module_id], columns)
            for module_id, columns in batch.items()
        }
        self._look_at(losses)
        gradients: Gradients = {}
        for module_id in batch:
            of_module = self._by_hand[module_id].gradients()
            shared = gradients.keys() & of_module.keys()  # Modules may have layers in common.
            summed = {param: gradients[param] + of_module[param] for param in shared}
            gradients.update(of_module)
            gradients.update(summed)
        return {}, losses, gradients

    def _is_by_hand(self, batch: Batch) -> bool:
        if self._peers is not None or "_BY_HAND" not in vars(type(self)):
            return False
        if not vars(self).keys().isdisjoint(_STEPS) or type(self.module) is not MultiRLModule:
            return False
        for module_id, columns in batch.items():
            if module_id not in self._by_hand:
                self._by_hand[module_id] = self._BY_HAND.of(self.module[module_id].unwrapped())
                # Layers may be exchanged, if not while nobody looks at results.
                self.metrics.later("by hand", self._by_hand.clear)
            by_hand = self._by_hand[module_id]
            if by_hand is None or not by_hand.takes(columns, self._config_of(module_id)):
                return False
        return True

    @abc.abstractmethod
    def _loss_by_hand(self, module_id: str, by_hand: Any, batch: Mapping[str, Any]) -> Tensor:
        """Compute the loss of one module, and tell `metrics` what autograd's way tells."""
