"""A learner whose modules are torch's: devices, gradients, optimisers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from typing_extensions import override

from ...core.columns import ALL_MODULES, DEFAULT_MODULE_ID, Columns
from ...core.errors import ConfigError
from ...core.rllib_utils.gradients import clip_gradients, compute_global_norm
from ...core.rllib_utils.tensor_formulas import set_torch_seed
from ..metrics import names
from ..metrics.names import DEFAULT_OPTIMIZER
from ..modules.multi_rl_module import MultiRLModule
from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.torch_model import parameter_counts
from ..modules.torch_rl_module import TorchRLModule
from .hardware import device_of
from .learner import Learner
from .minibatches import Batch
from .optimizers import Optimizers, adam, get_lr, set_lr
from .peers import Peers, SharedRows
from .update_losses import UpdateLosses

Gradients = dict[Hashable, Any]


class TorchLearner(Learner):
    """Improves torch modules, on a CPU or a GPU.

    Losses that are not finite end an update with a `LossError`: on a CPU before they reach the
    weights, on a GPU when the update is over, since looking at each would make it wait.

    Args:
        **kwargs: `config`, and `module_spec` or `module`.
    """

    framework: ClassVar[str | None] = "torch"
    _grad_scalers: Any = None
    """Losses are not scaled here."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._optimizers = Optimizers()
        self._params: dict[Hashable, Any] = {}
        self._losses = UpdateLosses()
        self._shared_rows: SharedRows | None = None

    @override
    def build(self) -> None:
        self._device = device_of(self.config)
        self._params.clear()
        super().build()

    @override
    def _seed(self, seed: int | None) -> None:
        set_torch_seed(seed)

    @override
    def _make_module(self) -> MultiRLModule:
        built = self._module_obj if self._module_obj is not None else self._module_spec.build()
        multi: MultiRLModule = built.as_multi_rl_module()
        for module in multi.values():
            self._placed(module)
        return multi

    @override
    def _placed(self, module: Any) -> Any:
        return module.to(self._device) if isinstance(module, torch.nn.Module) else module

    @override
    def rl_module_is_compatible(self, module: Any) -> bool:
        return isinstance(module, TorchRLModule)

    # Optimisers

    @override
    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Register Adam over all parameters of a module."""
        params = self.get_parameters(self.module[module_id])
        if not params:
            return
        settings = self._config_of(module_id) if config is None else config
        self.register_optimizer(
            module_id=module_id,
            optimizer_name=DEFAULT_OPTIMIZER,
            optimizer=adam(params, lr=1e-3),
            params=params,
            lr_or_lr_schedule=settings.lr,
        )

    def register_optimizer(
        self,
        *,
        module_id: str = ALL_MODULES,
        optimizer_name: str = DEFAULT_OPTIMIZER,
        optimizer: torch.optim.Optimizer,
        params: Sequence[Any],
        lr_or_lr_schedule: Any = None,
    ) -> None:
        """Add an optimiser; its step follows every backward pass.

        Args:
            module_id: Whose it is; by default of no single module.
            optimizer_name: Its name among those of the module.
            optimizer: The optimiser.
            params: The parameters it holds.
            lr_or_lr_schedule: A learning rate, or points `[step, rate]` of a schedule; None leaves
                the optimiser's own.

        Raises:
            ConfigError: It is no torch optimiser, or holds other parameters.
        """
        listed = list(params)
        self._optimizers.register(module_id, optimizer_name, optimizer, listed, lr_or_lr_schedule)
        self._params.update((self.get_param_ref(param), param) for param in listed)

    def get_optimizer(
        self, module_id: str = DEFAULT_MODULE_ID, optimizer_name: str = DEFAULT_OPTIMIZER
    ) -> torch.optim.Optimizer:
        """Give an optimiser.

        Raises:
            UnknownOptimizerError: None of that name was registered for the module.
        """
        self._check_is_built()
        return self._optimizers.get(module_id, optimizer_name).optimizer

    def get_optimizers_for_module(
        self, module_id: str = ALL_MODULES
    ) -> list[tuple[str, torch.optim.Optimizer]]:
        """Give the optimisers of a module with their names."""
        self._check_is_built()
        return [(entry.name, entry.optimizer) for entry in self._optimizers.of_module(module_id)]

    def get_parameters(self, module: Any) -> list[Any]:
        """Give the parameters of a module."""
        return list(module.parameters())

    def filter_param_dict_for_optimizer(
        self, param_dict: Mapping[Hashable, Any], optimizer: torch.optim.Optimizer
    ) -> Gradients:
        """Give the part of a dict by parameter that an optimiser is for.

        Raises:
            UnknownOptimizerError: It was never registered.
        """
        refs = map(self.get_param_ref, self._optimizers.of(optimizer).params)
        return {ref: param_dict[ref] for ref in refs if param_dict.get(ref) is not None}

    def get_param_ref(self, param: Any) -> Hashable:
        """Give what stands for a parameter in dicts of gradients: the parameter itself."""
        return param  # type: ignore[no-any-return]  # a tensor, hashed by identity

    # The same as the dicts that RLlib's learners keep: those that accumulate gradients, or change
    # learning rates as they go, read these. `register_optimizer()` is the way to add to them.

    @property
    def _named_optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return {entry.full_name: entry.optimizer for entry in self._optimizers}

    @property
    def _optimizer_parameters(self) -> dict[torch.optim.Optimizer, list[Hashable]]:
        return {
            entry.optimizer: [self.get_param_ref(param) for param in entry.params]
            for entry in self._optimizers
        }

    @property
    def _optimizer_name_to_module(self) -> dict[str, str]:
        return {entry.full_name: entry.module_id for entry in self._optimizers}

    @property
    def _module_optimizers(self) -> dict[str, list[str]]:
        by_module: dict[str, list[str]] = {}
        for entry in self._optimizers:
            by_module.setdefault(entry.module_id, []).append(entry.full_name)
        return by_module

    # One gradient step

    @override
    def _update(self, batch: Batch) -> tuple[Any, dict[str, Any], Any]:
        fwd_out, losses, gradients = self._differentiate(batch)
        gradients = self.postprocess_gradients(gradients)
        self.apply_gradients(gradients)
        return fwd_out, losses, gradients

    def _differentiate(self, batch: Batch) -> tuple[Any, dict[str, Any], Gradients]:
        """What the forward pass gave, the losses, and their gradients."""
        wait = None if self._shared_rows is None else self._shared_rows.begin(batch, self._mask_of)
        fwd_out = self.module.forward_train(batch)
        if wait is not None:
            wait()
        losses = self.compute_losses(fwd_out=fwd_out, batch=batch)
        self._look_at(losses)
        gradients = self.compute_gradients(self._weighed(losses))
        if self._peers is not None:
            gradients = self._peers.added_gradients(self._params, gradients)
        return fwd_out, losses, gradients

    def _look_at(self, losses: Mapping[str, Any]) -> None:
        if not self.config.torch_skip_nan_gradients:
            self._losses.look_at(losses)

    # With other learners

    @override
    def join(self, peers: Peers) -> None:
        super().join(peers)
        self._shared_rows = SharedRows(peers)

    def _mask(self, batch: Mapping[str, Any], config: Any) -> Any:
        """Which rows the loss of a module is the mean of; None for all."""
        return batch.get(Columns.LOSS_MASK)

    def _mask_of(self, module_id: str, columns: Mapping[str, Any]) -> Any:
        return self._mask(columns, self._config_of(module_id))

    def _weighed(self, losses: dict[str, Any]) -> dict[str, Any]:
        """Losses as they add up with those of other learners."""
        if self._shared_rows is None:
            return losses
        return {key: self._shared_rows.weighed(key, loss) for key, loss in losses.items()}

    def _sums(self, batch: Any) -> Callable[[Any], Any] | None:
        """What adds up the sums over a module's rows of all learners; None for one alone."""
        return None if self._shared_rows is None else self._shared_rows.sums(batch)

    def compute_gradients(self, loss_per_module: Mapping[str, Any], **kwargs: Any) -> Gradients:
        """Compute the gradients of the sum of all losses.

        Args:
            loss_per_module: The losses.
            **kwargs: For subclasses.

        Returns:
            Gradients by parameter, of those that have one.
        """
        for param in self._params.values():
            param.grad = None
        losses = list(loss_per_module.values())
        total = losses[0] if len(losses) == 1 else torch.stack(losses).sum()
        total.backward()
        return {ref: p.grad for ref, p in self._params.items() if p.grad is not None}

    def postprocess_gradients(self, gradients_dict: Gradients) -> Gradients:
        """Change the gradients of all modules before they are applied.

        Args:
            gradients_dict: Gradients by parameter.
        """
        is_own = type(self).postprocess_gradients_for_module is not _OWN_POSTPROCESSING
        for module_id in self.module:
            config = self._config_of(module_id)
            if not (is_own or config.grad_clip is not None or config.log_gradients):
                continue
            if all(entry.module_id == module_id for entry in self._optimizers):
                of_module = dict(gradients_dict)  # Tensors are not hashed again, which takes long.
            else:
                params = self._params_of(module_id)
                of_module = {ref: gradients_dict[ref] for ref in params if ref in gradients_dict}
            if of_module:
                changed = self.postprocess_gradients_for_module(
                    module_id=module_id, config=config, module_gradients_dict=of_module
                )
                if not isinstance(changed, dict):
                    raise ConfigError(
                        "postprocess_gradients_for_module() returned no gradients",
                        expected="a dict by parameter",
                        found=type(changed).__name__,
                    )
                gradients_dict.update(changed)
        return gradients_dict

    def postprocess_gradients_for_module(
        self,
        *,
        module_id: str,
        config: Any = None,
        module_gradients_dict: Gradients,
    ) -> Gradients:
        """Clip the gradients of a module as its settings say.

        Args:
            module_id: The module.
            config: Its settings.
            module_gradients_dict: Its gradients by parameter.

        Returns:
            Those to apply.
        """
        settings = self._config_of(module_id) if config is None else config
        result: Gradients = {}
        entries = self._optimizers.of_module(module_id)
        for name, optimizer in self.get_optimizers_for_module(module_id):
            if len(entries) == 1 and len(entries[0].params) == len(module_gradients_dict):
                of_optimizer = dict(module_gradients_dict)
            else:
                of_optimizer = self.filter_param_dict_for_optimizer(
                    module_gradients_dict, optimizer
                )
            norm = self._get_clip_function()(
                of_optimizer, grad_clip=settings.grad_clip, grad_clip_by=settings.grad_clip_by
            )
            if settings.log_gradients and norm is None:
                norm = self._get_global_norm_function()(of_optimizer.values())
            if norm is not None:  # As in RLlib, also where clipping has computed it.
                key = (module_id, f"gradients_{name}_global_norm")
                self.metrics.log_value(key, norm, window=1)
            result.update(of_optimizer)
        return result

    def apply_gradients(self, gradients_dict: Gradients) -> None:
        """Let every optimiser take a step.

        Args:
            gradients_dict: Gradients by parameter; parameters without one stay as they are.
        """
        for entry in self._optimizers:
            gradients = [gradients_dict.get(self.get_param_ref(param)) for param in entry.params]
            has_any = False
            for param, gradient in zip(entry.params, gradients, strict=True):
                if param.grad is not gradient:
                    param.grad = gradient
                has_any = has_any or gradient is not None
            if has_any and not self._is_to_skip(entry.module_id, gradients_dict):
                entry.step(gradients)

    def _is_to_skip(self, module_id: str, gradients: Gradients) -> bool:
        settings = self.config if module_id == ALL_MODULES else self._config_of(module_id)
        if not settings.torch_skip_nan_gradients:
            return False
        gradients_of = [gradients[ref] for ref in self._params_of(module_id) if ref in gradients]
        return not bool(torch.isfinite(compute_global_norm(gradients_of)))

    def _params_of(self, module_id: str) -> list[Hashable]:
        entries = self._optimizers.of_module(module_id)
        return [self.get_param_ref(param) for entry in entries for param in entry.params]

    @override
    def _learn(self, batch: Any, epochs: Any) -> dict[str, Any]:
        self._losses.begin(self.weights_seq_no + 1)
        losses = super()._learn(batch, epochs)
        self._losses.end(losses)
        self.metrics.later("update", self._tell_of_update)
        return losses

    def _tell_of_update(self) -> None:
        """Log what is as it was after the last update: the terms of losses, rates and sizes."""
        values = self._losses.last_values(self.TOTAL_LOSS_KEY)
        if self._shared_rows is not None:
            values = self._shared_rows.numbers(values)
        for key, value in values.items():
            self.metrics.log_value(key, value.detach(), window=1)
        for entry in self._optimizers:
            key = (entry.module_id, f"{entry.name}_{names.LR_KEY}")
            self.metrics.log_value(key, get_lr(entry.optimizer), window=1)
        self._log_parameters()

    def _keep_terms(
        self, module_id: str, terms: Mapping[str, Any], late: Callable[[], Mapping[str, Any]] = dict
    ) -> None:
        """Keep the terms of a loss: those of an update's last minibatch go to `metrics`.

        Args:
            module_id: Whose they are.
            terms: Scalars by name; an error names those that are not finite.
            late: Gives further ones, that no loss needs.
        """
        self._losses.know_terms(module_id, terms, late)

    # Around an update

    @override
    def after_gradient_based_update(self, *, timesteps: Mapping[Any, Any]) -> None:
        """Move the learning rates along their schedules."""
        super().after_gradient_based_update(timesteps=timesteps)
        step = timesteps.get(names.NUM_ENV_STEPS_SAMPLED_LIFETIME, 0)
        for entry in self._optimizers:
            if entry.schedule is not None:
                set_lr(entry.optimizer, entry.schedule.update(timestep=step))
        self.metrics.later("update", self._tell_of_update)

    def _log_parameters(self) -> None:
        log = self.metrics.log_value
        all_fixed = all_trained = 0
        for module_id, module in self.module.items():
            if isinstance(module, torch.nn.Module):
                fixed, trained = parameter_counts(module)
                log((module_id, names.NUM_TRAINABLE_PARAMETERS), trained, window=1)
                all_fixed, all_trained = all_fixed + fixed, all_trained + trained
        log((ALL_MODULES, names.NUM_NON_TRAINABLE_PARAMETERS), all_fixed, window=1)
        log((ALL_MODULES, names.NUM_TRAINABLE_PARAMETERS), all_trained, window=1)

    @override
    def remove_module(self, module_id: str, **kwargs: Any) -> MultiRLModuleSpec:
        """Remove a module and its optimisers.

        Raises:
            UnknownModuleError: There is none of that id.
        """
        self.metrics.settle()
        spec = super().remove_module(module_id, **kwargs)
        for ref in self._params_of(module_id):
            self._params.pop(ref, None)
        self._optimizers.remove_module(module_id)
        return spec

    @override
    def _get_optimizer_state(self) -> dict[str, Any]:
        return self._optimizers.get_state()

    @override
    def _set_optimizer_state(self, state: Mapping[str, Any]) -> None:
        self._optimizers.set_state(state)

    # What subclasses and the outside call by RLlib's names

    @override
    def _get_tensor_variable(self, value: Any, dtype: Any = None, trainable: bool = False) -> Any:
        """A number as a tensor where the modules are."""
        return torch.tensor(
            value, requires_grad=trainable, device=self._device, dtype=dtype or torch.float32
        )

    @staticmethod
    def _get_clip_function() -> Callable[..., Any]:
        return clip_gradients

    @staticmethod
    def _get_global_norm_function() -> Callable[..., Any]:
        return compute_global_norm

    @staticmethod
    def _get_optimizer_lr(optimizer: torch.optim.Optimizer) -> float:
        return get_lr(optimizer)

    @staticmethod
    def _set_optimizer_lr(optimizer: torch.optim.Optimizer, lr: float) -> None:
        set_lr(optimizer, lr)


_OWN_POSTPROCESSING = TorchLearner.postprocess_gradients_for_module
