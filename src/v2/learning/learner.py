"""What every learner does: episodes in, a better module out.

    update(episodes=...)
      learner pipeline     episodes -> columns of tensors by module     train_batch
      minibatches          rows of every module, round and round        minibatches
      for each of them     forward_train, losses, gradients, a step     compute_* / apply_gradients
      afterwards           schedules and coefficients move              after_gradient_based_update

A subclass says what the loss is, in `compute_loss_for_module`. What torch is needed for lies in
`torch_learner`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ...core.columns import ALL_MODULES
from ...core.errors import ConfigError
from ..apis import SelfSupervisedLossAPI
from ..checkpointable import Checkpointable
from ..metrics import names
from ..metrics.metrics_logger import MetricsLogger
from ..modules.multi_rl_module import MultiRLModule, UnknownModuleError
from ..modules.multi_spec import MultiRLModuleSpec
from .minibatches import Batch, Epochs, minibatches, step_count
from .train_batch import TrainBatch, checked, concatenated, from_episodes, from_given

Selection = Sequence[str] | Callable[..., bool] | None


class NotBuiltError(ConfigError):
    """A learner was used before `build()`."""


class Learner(Checkpointable):
    """Improves modules by the gradients of losses.

    Args:
        config: The algorithm's settings.
        module_spec: What the modules are built from: one spec or several by id.
        module: Modules that are there already, instead of a spec.
    """

    framework: ClassVar[str | None] = None
    TOTAL_LOSS_KEY: ClassVar[str] = names.TOTAL_LOSS_KEY

    def __init__(self, *, config: Any, module_spec: Any = None, module: Any = None) -> None:
        if (module_spec is None) == (module is None):
            raise ConfigError(f"give {type(self).__name__} exactly one of module_spec and module")
        self.config = config.copy(copy_frozen=False)
        self.metrics: Any = MetricsLogger()
        self._module_spec = module_spec
        self._module_obj = module
        self._module: Any = None
        self._learner_connector: Any = None
        self._device: Any = None
        self._is_built = False
        self._weights_seq_no = 0
        self._module_configs: dict[str, Any] = {}
        self._order_seed: Any = None

    # What it is made of

    @property
    def module(self) -> Any:
        """The modules by id."""
        return self._module

    @property
    def learner_connector(self) -> Any:
        """The pipeline from episodes to train batches."""
        return self._learner_connector

    @property
    def device(self) -> Any:
        """Where modules and batches are."""
        return self._device

    @property
    def distributed(self) -> bool:
        """Whether it is one of several; never."""
        return False

    def build(self) -> None:
        """Make the modules, the pipeline and the optimisers; a subclass calls this one first."""
        seed = getattr(self.config, "seed", None)
        self._order_seed = np.random.SeedSequence(seed).entropy
        self._seed(seed)
        self._module = self._make_module()
        self._learner_connector = self.config.build_learner_connector(
            input_observation_space=None, input_action_space=None, device=self._device
        )
        self._is_built = True
        self.configure_optimizers()

    def _check_is_built(self, error: bool = True) -> bool:
        if error and not self._is_built:
            raise NotBuiltError(
                f"{type(self).__name__} is not built",
                hint="Learner.build() must be called before anything else.",
            )
        return self._is_built

    @abc.abstractmethod
    def _seed(self, seed: int | None) -> None:
        """Make what is random repeatable."""

    @abc.abstractmethod
    def _make_module(self) -> MultiRLModule:
        """Build the modules where they are needed."""

    @abc.abstractmethod
    def _get_tensor_variable(self, value: Any, dtype: Any = None, trainable: bool = False) -> Any:
        """A number as a variable of the framework."""

    @abc.abstractmethod
    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Register the optimisers of a module.

        Args:
            module_id: The module.
            config: Its settings.
        """

    def configure_optimizers(self) -> None:
        """Register the optimisers of all modules."""
        for module_id in list(self.module.keys()):
            if self.rl_module_is_compatible(self.module[module_id]):
                self.configure_optimizers_for_module(module_id, self._config_of(module_id))

    @abc.abstractmethod
    def rl_module_is_compatible(self, module: Any) -> bool:
        """Whether it can improve such a module."""

    def _config_of(self, module_id: str) -> Any:
        """The settings of a module, with what was overridden for it."""
        if module_id not in self._module_configs:
            self._module_configs[module_id] = self.config.get_config_for_module(module_id)
        return self._module_configs[module_id]

    # One update

    def update(
        self,
        batch: Any = None,
        batches: Sequence[Any] | None = None,
        episodes: Sequence[Any] | None = None,
        *,
        timesteps: Mapping[Any, Any] | None = None,
        num_total_minibatches: int = 0,
        num_epochs: int = 1,
        minibatch_size: int | None = None,
        shuffle_batch_per_epoch: bool = False,
        _no_metrics_reduce: bool = False,
    ) -> Any:
        """Improve the modules by a batch or by episodes; give exactly one kind.

        Args:
            batch: Columns by module id.
            batches: Several such batches, taken as one.
            episodes: Sampled or recorded; the learner pipeline makes the batch.
            timesteps: How many steps have been sampled, for schedules.
            num_total_minibatches: How many minibatches; 0 follows from the epochs.
            num_epochs: How often each row is used.
            minibatch_size: Steps of each module per gradient step; None takes all at once.
            shuffle_batch_per_epoch: Whether the order changes with each epoch after the first.
            _no_metrics_reduce: Whether results stay in `metrics` for the caller to reduce.

        Returns:
            The results by module id.
        """
        self._check_is_built()
        epochs = Epochs(
            num_epochs,
            minibatch_size,
            # One pass has nothing to be put into another order for.
            shuffle_batch_per_epoch and num_epochs > 1,
            num_total_minibatches,
        )
        self._module_configs.clear()
        timesteps = dict(timesteps or {})
        given = self._given_batch(batch, batches, episodes)
        trained = {
            module_id: columns
            for module_id, columns in checked(given, self.module).columns.items()
            if self.should_module_be_updated(module_id, given.columns)
        }
        self.before_gradient_based_update(timesteps=timesteps)
        if trained:
            self._learn(TrainBatch(trained, given.env_steps), epochs)
        self.after_gradient_based_update(timesteps=timesteps)
        return None if _no_metrics_reduce else self.metrics.reduce()

    def _given_batch(
        self, batch: Any, batches: Sequence[Any] | None, episodes: Sequence[Any] | None
    ) -> TrainBatch:
        if sum(each is not None for each in (batch, batches, episodes)) != 1:
            raise ConfigError("give update() exactly one of batch, batches and episodes")
        if episodes is not None:
            return from_episodes(episodes, self._learner_connector, self.module, self.metrics)
        if batches is not None:
            return concatenated(from_given(each, self._device) for each in batches)
        return from_given(batch, self._device)

    def _learn(self, batch: TrainBatch, epochs: Epochs) -> None:
        self._weights_seq_no += 1
        orders = np.random.default_rng([self._order_seed, self._weights_seq_no])
        losses: dict[str, Any] = {}
        steps: dict[str, list[int]] = {module_id: [] for module_id in batch.columns}
        count = 0
        for minibatch in minibatches(batch.columns, epochs, orders):
            losses = self._update(minibatch)[1]
            count += 1
            for module_id, columns in minibatch.items():
                steps[module_id].append(step_count(columns))
        self._log_update(losses, steps, count * batch.env_steps)

    def _log_update(
        self, losses: Mapping[str, Any], steps: Mapping[str, list[int]], env_steps: int
    ) -> None:
        log = self.metrics.log_value
        for module_id, counts in steps.items():
            key = module_id
            log((key, names.NUM_MODULE_STEPS_TRAINED), sum(counts), reduce="sum")
            log((key, names.NUM_MODULE_STEPS_TRAINED_LIFETIME), sum(counts), reduce="lifetime_sum")
            mean = sum(counts) / len(counts)
            log((key, names.MODULE_TRAIN_BATCH_SIZE_MEAN), mean, reduce="mean")
            log((key, names.WEIGHTS_SEQ_NO), self._weights_seq_no, window=1)
            if key in losses:
                log((key, self.TOTAL_LOSS_KEY), losses[key].detach(), window=1)
        module_steps = sum(map(sum, steps.values()))
        for name, lifetime, value in (
            (
                names.NUM_MODULE_STEPS_TRAINED,
                names.NUM_MODULE_STEPS_TRAINED_LIFETIME,
                module_steps,
            ),
            (names.NUM_ENV_STEPS_TRAINED, names.NUM_ENV_STEPS_TRAINED_LIFETIME, env_steps),
        ):
            log((ALL_MODULES, name), value, reduce="sum")
            log((ALL_MODULES, lifetime), value, reduce="lifetime_sum")

    @abc.abstractmethod
    def _update(self, batch: Batch) -> tuple[Any, dict[str, Any], Any]:
        """One gradient step: what the forward pass gave, the losses, the gradients."""

    def before_gradient_based_update(self, *, timesteps: Mapping[Any, Any]) -> None:
        """Called before the first minibatch of an update.

        Args:
            timesteps: How many steps have been sampled.
        """

    def after_gradient_based_update(self, *, timesteps: Mapping[Any, Any]) -> None:
        """Called after the last minibatch of an update; a subclass calls this one, too.

        Args:
            timesteps: How many steps have been sampled.
        """

    def should_module_be_updated(self, module_id: str, multi_agent_batch: Any = None) -> bool:
        """Whether a module is among those to train."""
        chosen = self.config.policies_to_train
        if chosen is None:
            return True
        if callable(chosen):
            return bool(chosen(module_id, multi_agent_batch))
        return module_id in chosen

    # Losses

    def compute_losses(self, *, fwd_out: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the losses of all modules of a minibatch.

        Args:
            fwd_out: What `forward_train` gave, by module.
            batch: The minibatch, by module.
        """
        losses = {}
        for module_id, outputs in fwd_out.items():
            module = self.module[module_id].unwrapped()
            given = {
                "module_id": module_id,
                "config": self._config_of(module_id),
                "batch": batch[module_id],
                "fwd_out": outputs,
            }
            losses[module_id] = (
                module.compute_self_supervised_loss(learner=self, **given)
                if isinstance(module, SelfSupervisedLossAPI)
                else self.compute_loss_for_module(**given)
            )
        return losses

    @abc.abstractmethod
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Any:
        """Compute the loss of one module.

        Args:
            module_id: The module.
            config: Its settings.
            batch: Its part of the minibatch.
            fwd_out: What its `forward_train` gave.
        """

    # Modules that come and go

    def add_module(
        self,
        *,
        module_id: str,
        module_spec: Any,
        config_overrides: Mapping[str, Any] | None = None,
        new_should_module_be_updated: Selection = None,
    ) -> MultiRLModuleSpec:
        """Add a module, with optimisers of its own.

        Args:
            module_id: Its id.
            module_spec: What it is built from.
            config_overrides: Settings that differ for it.
            new_should_module_be_updated: Which modules are trained from now on.

        Returns:
            The spec of all modules.

        Raises:
            DuplicateNameError: There is one of that id.
        """
        self._check_is_built()
        self.module.add_module(module_id, self._placed(module_spec.build()))
        if config_overrides:
            self.config.multi_agent(
                algorithm_config_overrides_per_module={module_id: dict(config_overrides)}
            )
        self._set_trained(new_should_module_be_updated)
        self.configure_optimizers_for_module(module_id, self._config_of(module_id))
        return MultiRLModuleSpec.from_module(self.module)

    def remove_module(
        self, module_id: str, *, new_should_module_be_updated: Selection = None
    ) -> MultiRLModuleSpec:
        """Remove a module and its optimisers.

        Args:
            module_id: Its id.
            new_should_module_be_updated: Which modules are trained from now on.

        Returns:
            The spec of the others.

        Raises:
            UnknownModuleError: There is none of that id.
        """
        self._check_is_built()
        if module_id not in self.module:
            raise UnknownModuleError.of(module_id, self.module.keys())
        self.module.remove_module(module_id)
        self._set_trained(new_should_module_be_updated)
        return MultiRLModuleSpec.from_module(self.module)

    def _placed(self, module: Any) -> Any:
        return module

    def _set_trained(self, chosen: Selection) -> None:
        self._module_configs.clear()
        if chosen is not None:
            self.config.multi_agent(policies_to_train=chosen)

    # State

    @override
    def get_state(
        self,
        components: str | Collection[str] | None = None,
        *,
        not_components: str | Collection[str] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Give weights, optimisers, metrics and counters.

        Args:
            components: Only these of "rl_module", "optimizer" and "metrics_logger".
            not_components: All but these.
            **kwargs: Handed to the modules.
        """
        self._check_is_built()
        state: dict[str, Any] = {names.WEIGHTS_SEQ_NO: self._weights_seq_no}
        if not callable(self.config.policies_to_train):  # a function is the config's to keep
            state["should_module_be_updated"] = _listed(self.config.policies_to_train)
        if self._check_component("rl_module", components, not_components):
            state["rl_module"] = self.module.get_state(
                components=self._get_subcomponents("rl_module", components),
                not_components=self._get_subcomponents("rl_module", not_components),
                **kwargs,
            )
        if self._check_component("optimizer", components, not_components):
            state["optimizer"] = self._get_optimizer_state()
        if self._check_component("metrics_logger", components, not_components):
            state["metrics_logger"] = self.metrics.get_state()
        return state

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave, the parts that are there."""
        self._check_is_built()
        if "rl_module" in state:
            self.module.set_state(state["rl_module"])
        if "optimizer" in state:
            self._set_optimizer_state(state["optimizer"])
        if "metrics_logger" in state:
            self.metrics.set_state(state["metrics_logger"])
        self._weights_seq_no = int(state.get(names.WEIGHTS_SEQ_NO, self._weights_seq_no))
        if "should_module_be_updated" in state:
            self._module_configs.clear()
            self.config.multi_agent(policies_to_train=state["should_module_be_updated"])

    @abc.abstractmethod
    def _get_optimizer_state(self) -> dict[str, Any]:
        """The optimisers' state as arrays and numbers."""

    @abc.abstractmethod
    def _set_optimizer_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `_get_optimizer_state` gave."""

    @override
    def get_checkpointable_components(self) -> list[tuple[str, Checkpointable]]:
        """Give the modules: they have a folder of their own."""
        return [("rl_module", self.module)]

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {
            "config": self.config,
            "module_spec": self._module_spec,
            "module": self._module_obj,
        }

    def shutdown(self) -> None:
        """Let go of everything; a local learner holds nothing."""

    def apply(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function with this learner first."""
        return func(self, *args, **kwargs)


def _listed(names_given: Collection[str] | None) -> list[str] | None:
    return None if names_given is None else sorted(names_given)
