"""What every learner does: episodes in, a better module out.

    update(episodes=...)       one of several learners is given columns, and learns from its rows
      learner pipeline     episodes -> columns of tensors by module     train_batch
      minibatches          rows of every module, round and round        minibatches
      for each of them     forward_train, losses, gradients, a step     compute_* / apply_gradients
      afterwards           schedules and coefficients move              after_gradient_based_update

A subclass says what the loss is, in `compute_loss_for_module`. What torch is needed for lies in
`torch_learner`; what it holds and saves, in `module_holder`.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...core.columns import ALL_MODULES, Columns
from ...core.errors import ConfigError
from ..metrics import names
from ..modules.apis import SelfSupervisedLossAPI
from .minibatches import Batch, Epochs, minibatches, step_count
from .module_holder import ModuleHolder
from .train_batch import TrainBatch, checked, concatenated, from_episodes, from_given

if TYPE_CHECKING:
    from torch import Tensor


class Learner(ModuleHolder):
    """Improves modules by the gradients of losses.

    Args:
        config: The algorithm's settings.
        module_spec: What the modules are built from: one spec or several by id.
        module: Modules that are there already, instead of a spec.
    """

    TOTAL_LOSS_KEY: ClassVar[str] = names.TOTAL_LOSS_KEY

    @staticmethod
    def in_group(**given: Any) -> Any:
        """Build a LearnerGroup of the learners that a config asks for."""
        from .learner_group import LearnerGroup  # which builds learners itself

        return LearnerGroup(**given)

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
        epochs = Epochs.asked(
            num_epochs, minibatch_size, shuffle_batch_per_epoch, num_total_minibatches
        )
        self.improve(self.train_batch_of(batch, batches, episodes), epochs, dict(timesteps or {}))
        return None if _no_metrics_reduce else self.metrics.reduce()

    def train_batch_of(
        self, batch: Any, batches: Sequence[Any] | None, episodes: Sequence[Any] | None
    ) -> TrainBatch:
        """Make columns, of the modules that are to learn, of what `update` is given."""
        self._module_configs.clear()
        all_batches = self._given_batch(batch, batches, episodes)
        trained = {
            module_id: columns
            for module_id, columns in checked(all_batches, self.module).columns.items()
            if self.should_module_be_updated(module_id, all_batches.columns)
        }
        return TrainBatch(trained, all_batches.env_steps)

    def improve(self, batch: TrainBatch, epochs: Epochs, timesteps: Mapping[Any, Any]) -> None:
        """Learn from columns, and move what moves with updates."""
        self._module_configs.clear()
        self.before_gradient_based_update(timesteps=timesteps)
        if batch.columns:
            self._learn(batch, epochs)
        self.after_gradient_based_update(timesteps=timesteps)

    def take_improved(self, modules: Mapping[str, Any], *, is_changed: bool) -> None:
        """Take over the modules that other learners have improved.

        Args:
            modules: Their state.
            is_changed: Whether there was anything to learn from; the update counts then.
        """
        self.module.set_state(modules)
        self._weights_seq_no += is_changed

    @property
    def is_first(self) -> bool:
        """Whether it counts what learners do together: one of them does."""
        return self._peers is None or self._peers.index == 0

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

    def _learn(self, batch: TrainBatch, epochs: Epochs) -> dict[str, Any]:
        """Take the gradient steps; gives the losses of the last."""
        self._weights_seq_no += 1
        self._log_lag(batch)
        seed = [self.order_seed, self._weights_seq_no]
        orders = np.random.default_rng(seed) if epochs.shuffle else None
        losses: dict[str, Any] = {}
        steps: dict[str, list[int]] = {module_id: [] for module_id in batch.columns}
        count = 0
        part = None if self._peers is None else self._peers.part
        for minibatch in minibatches(batch.columns, epochs, orders, part):
            losses = self._update(minibatch)[1]
            count += 1
            for module_id, columns in minibatch.items():
                own = getattr(columns, "part", None)
                is_stand_in = own is not None and own.is_stand_in
                steps[module_id].append(0 if is_stand_in else step_count(columns))
        self._count_update(steps, count * batch.env_steps * self.is_first)
        return losses

    def _log_lag(self, batch: TrainBatch) -> None:
        """How many updates ago the weights were made that sampled, on average."""
        for module_id, columns in batch.columns.items():
            if names.WEIGHTS_SEQ_NO in columns:
                sampled = columns[names.WEIGHTS_SEQ_NO].float()
                if Columns.LOSS_MASK in columns:  # Padding was sampled by nobody.
                    sampled = sampled[columns[Columns.LOSS_MASK].bool()]
                lag = self._weights_seq_no - float(sampled.mean())
                key = (module_id, names.DIFF_NUM_GRAD_UPDATES_VS_SAMPLER_POLICY)
                self.metrics.log_value(key, lag, window=1)

    def _count_update(self, steps: Mapping[str, list[int]], env_steps: int) -> None:
        self._env_steps_trained += env_steps
        for module_id, counts in steps.items():
            self._steps_trained.setdefault(module_id, []).append((sum(counts), len(counts)))
        self.metrics.later("trained", self._tell_of_steps)

    def _tell_of_steps(self) -> None:
        """Log how many steps were trained since this was told last."""
        trained, self._steps_trained = self._steps_trained, {}
        env_steps, self._env_steps_trained = self._env_steps_trained, 0
        log = self.metrics.log_value
        module_steps = 0
        for key, updates in trained.items():
            total = sum(steps for steps, _ in updates)
            module_steps += total
            log((key, names.NUM_MODULE_STEPS_TRAINED), total, reduce="sum")
            log((key, names.NUM_MODULE_STEPS_TRAINED_LIFETIME), total, reduce="lifetime_sum")
            for steps, minibatch_count in updates:
                mean = steps / minibatch_count
                log((key, names.MODULE_TRAIN_BATCH_SIZE_MEAN), mean, reduce="mean")
            log((key, names.WEIGHTS_SEQ_NO), self._weights_seq_no, window=1)
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
        return self.config.is_trained(module_id, multi_agent_batch)

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
            arguments = {
                "module_id": module_id,
                "config": self._config_of(module_id),
                "batch": batch[module_id],
                "fwd_out": outputs,
            }
            losses[module_id] = (
                module.compute_self_supervised_loss(learner=self, **arguments)
                if isinstance(module, SelfSupervisedLossAPI)
                else self.compute_loss_for_module(**arguments)
            )
        return losses

    @abc.abstractmethod
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute the loss of one module.

        Args:
            module_id: The module.
            config: Its settings.
            batch: Its part of the minibatch.
            fwd_out: What its `forward_train` gave.
        """
