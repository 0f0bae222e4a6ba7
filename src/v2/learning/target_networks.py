"""A learner of modules with copies that follow slowly: made with them, moved after updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from ...core.data.checked import count
from ..metrics import names
from ..modules.apis import TargetNetworkAPI
from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.torch_model import TargetCopies
from .learner import Learner


class TargetNetworkLearner(Learner):
    """Makes the copies and lets them follow, every `target_network_update_freq` sampled steps.

    Attributes:
        last_update_ts_by_mid: Module id to how many steps were sampled when its copies last moved.
    """

    last_update_ts_by_mid: dict[str, int]

    @override
    def build(self) -> None:
        super().build()
        self._copies: dict[str, TargetCopies] = {}
        self.last_update_ts_by_mid = self.keep_by_module(
            "last_target_update_ts", lambda module_id: 0, int, lambda _, saved: count(saved)
        )
        for module in self.module.values():
            _make_copies(module)

    @override
    def add_module(self, *, module_id: str, **kwargs: Any) -> MultiRLModuleSpec:
        spec = super().add_module(module_id=module_id, **kwargs)
        _make_copies(self.module[module_id])
        return spec

    @override
    def after_gradient_based_update(self, *, timesteps: Mapping[Any, Any]) -> None:
        """Move the copies whose time has come by `tau` towards what they follow."""
        super().after_gradient_based_update(timesteps=timesteps)
        step = timesteps.get(names.NUM_ENV_STEPS_SAMPLED_LIFETIME, 0)
        for module_id, each in self.module.items():
            module, config = each.unwrapped(), self._config_of(module_id)
            if not isinstance(module, TargetNetworkAPI):
                continue
            if step - self.last_update_ts_by_mid.get(module_id, 0) < (
                config.target_network_update_freq
            ):
                continue
            copies = self._copies.get(module_id)
            if copies is None:  # Layers may be exchanged, if not while nobody looks at results.
                copies = TargetCopies(module.get_target_network_pairs())
                self._copies[module_id] = copies
                self.metrics.later("copies", self._copies.clear)
            copies.move(config.tau)
            self.last_update_ts_by_mid[module_id] = step
            log = self.metrics.log_value
            log((module_id, names.NUM_TARGET_UPDATES), int(self.is_first), reduce="lifetime_sum")
            log((module_id, names.LAST_TARGET_UPDATE_TS), step, reduce="max")


def _make_copies(module: Any) -> None:
    inner = module.unwrapped()
    if isinstance(inner, TargetNetworkAPI):
        inner.make_target_networks()
