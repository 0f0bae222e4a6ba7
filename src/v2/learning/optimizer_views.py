"""A learner's optimisers under the names that strangers' learners know them by."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from torch.optim import Optimizer

from .optimizers import Optimizers


class OptimizerViews:
    """Shows what `Optimizers` holds as the dicts that RLlib's learners keep.

    Learners that accumulate gradients, or change learning rates as they go, read these. They are
    made anew each time; `register_optimizer()` is the way to add to them.
    """

    _optimizers: Optimizers
    _grad_scalers: Any = None
    """Losses are not scaled here."""

    def get_param_ref(self, param: Any) -> Hashable:
        """Give what stands for a parameter in dicts of gradients: the parameter itself."""
        return param  # type: ignore[no-any-return]  # a tensor, hashed by identity

    @property
    def _named_optimizers(self) -> dict[str, Optimizer]:
        return {entry.full_name: entry.optimizer for entry in self._optimizers}

    @property
    def _optimizer_parameters(self) -> dict[Optimizer, list[Hashable]]:
        return {
            entry.optimizer: [self.get_param_ref(param) for param in entry.params]
            for entry in self._optimizers
        }

    @property
    def _optimizer_name_to_module(self) -> dict[str, str]:
        return {entry.full_name: entry.module_id for entry in self._optimizers}

    @property
    def _module_optimizers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for entry in self._optimizers:
            found.setdefault(entry.module_id, []).append(entry.full_name)
        return found
