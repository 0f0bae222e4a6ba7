"""A learner whose modules have networks that learn each by a loss and an optimiser of its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from torch import Tensor
from typing_extensions import override

from ...core.errors import ConfigError
from .optimizers import adam
from .torch_learner import Gradients, TorchLearner

_EPSILON: Final = 1e-7
"""What Adam adds below the fraction: RLlib's for these algorithms, ten times that of torch."""

_NETWORKS: Final = {"qf": "qf", "qf_twin": "qf_twin", "policy": "pi", "value": "vf"}
"""The optimiser's name, and that of its network: a head, and an encoder by the same name."""


class LossPerNetworkLearner(TorchLearner):
    """Takes each optimiser's gradients from its own loss.

    `compute_loss_for_module` leaves them in `_temp_losses`, under the module's id and the
    optimiser's name with `_loss` behind; what it returns is told as the total, and no more.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._temp_losses: dict[tuple[str, str], Tensor] = {}

    def _register_network(self, module_id: str, name: str, lr: Any) -> None:
        """Register Adam over an encoder and its head.

        Raises:
            ConfigError: The module has no such networks.
        """
        module, head = self.module[module_id].unwrapped(), _NETWORKS[name]
        parts = [getattr(module, part, None) for part in (f"{head}_encoder", head)]
        if any(part is None for part in parts):
            raise ConfigError(
                f"module {module_id!r} cannot be trained by {type(self).__name__}",
                expected=f"networks {head}_encoder and {head}",
                found=type(module).__name__,
                hint="leave out the class of the module, or subclass the default one.",
            )
        self._register(
            module_id, name, [p for part in parts for p in self.get_parameters(part)], lr
        )

    def _register(self, module_id: str, name: str, params: list[Any], lr: Any) -> None:
        self.register_optimizer(
            module_id=module_id,
            optimizer_name=name,
            optimizer=adam(params, lr=1e-3, eps=_EPSILON),
            params=params,
            lr_or_lr_schedule=lr,
        )

    def _register_q_networks(self, module_id: str, config: Any) -> None:
        self._register_network(module_id, "qf", config.critic_lr)
        if self.module[module_id].unwrapped().twin_q:
            self._register_network(module_id, "qf_twin", config.critic_lr)

    def _keep_losses(self, module_id: str, losses: Mapping[str, Tensor]) -> None:
        """Keep what gradients are taken of: losses by `<optimiser>_loss`."""
        self._temp_losses.update({(module_id, name): loss for name, loss in losses.items()})

    @override
    def _weighed(self, losses: dict[str, Any]) -> dict[str, Any]:
        if self._shared_rows is not None:
            for (module_id, name), loss in self._temp_losses.items():
                self._temp_losses[module_id, name] = self._shared_rows.weighed(module_id, loss)
        return super()._weighed(losses)

    @override
    def compute_gradients(self, loss_per_module: Mapping[str, Tensor], **kwargs: Any) -> Gradients:
        """Compute the gradients of the losses in `_temp_losses`.

        Args:
            loss_per_module: The totals; gradients are taken of those of modules without others.
            **kwargs: For subclasses.

        Raises:
            ConfigError: An optimiser has no loss.
        """
        losses: dict[Hashable, Tensor] = {}
        for module_id, total in loss_per_module.items():
            if not any(owner == module_id for owner, _ in self._temp_losses):
                losses[module_id] = total  # A module with a loss of its own.
                continue
            for name, _ in self.get_optimizers_for_module(module_id):
                key = (module_id, f"{name}_loss")
                if key not in self._temp_losses:
                    raise ConfigError(
                        f"optimizer {name!r} of module {module_id!r} has no loss",
                        expected=f"learner._temp_losses[{key!r}]",
                        hint="set it in compute_loss_for_module().",
                    )
                losses[key] = self._temp_losses[key]
        self._temp_losses.clear()
        return super().compute_gradients(losses, **kwargs)  # type: ignore[arg-type]  # any names
