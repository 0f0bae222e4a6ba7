"""An algorithm at work: it samples, learns, evaluates, reports and saves itself.

    train()
      training_step()      an algorithm's own; again until an iteration has done enough
      evaluate()           every `evaluation_interval` iterations, after training or beside it
      result               metrics by RLlib's keys, times, the config
      on_train_result      callbacks, then loggers

What is saved and taken back lies in `saving`, which env runners there are in `env_runner_group`.
"""

from __future__ import annotations

import abc
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ...core.columns import ALL_MODULES, DEFAULT_MODULE_ID
from ...core.errors import ConfigError
from ..config import connector_builders
from ..config.saved_config import config_from
from ..env_runners.callback_hooks import CallbackHooks, callback_objects
from ..logging.progress_line import ProgressLine
from ..metrics import names
from ..metrics.metrics_logger import MetricsLogger
from .env_runner_group import EnvRunnerGroup, RunnerCounts, module_of, with_local_sampling
from .evaluation import Evaluation
from .iteration import Enough, Progress, Rates, ResultDict
from .module_changes import ModuleChanges
from .sampling import Sampler
from .saving import SavedAlgorithm

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig
    from ..modules.rl_module import RLModule


class Algorithm(ModuleChanges, SavedAlgorithm):
    """Samples with env runners and learns from that, one iteration per `train()`.

    A subclass says in `training_step` what an iteration does.

    Args:
        config: The settings: a config, a dict of settings, or None for the defaults.
        env: What is acted in, where the config does not say.
        logger_creator: Called with the settings as a dict; makes what results are logged with.
        **kwargs: For subclasses.

    Attributes:
        config: The settings; frozen.
        env_runner_group: All env runners that sample for training.
        learner_group: What learns.
        sampler: What samples for training, counts it, and records it if asked to.
        metrics: Where everything is counted.
        progress_line: What shows each result in a terminal; None shows nothing.

    Example:
        >>> from rlconnect.v2 import PPOConfig
        >>> config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
        >>> config = config.training(train_batch_size=64, minibatch_size=32, num_epochs=1)
        >>> algo = config.build_algo()
        >>> algo.train()["num_env_steps_sampled_lifetime"]
        64
        >>> algo.stop()
    """

    is_sampling: ClassVar[bool] = True
    """Whether it needs an environment to learn."""

    def __init__(
        self,
        config: AlgorithmConfig | Mapping[str, Any] | None = None,
        env: str | Callable[..., Any] | None = None,
        logger_creator: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        made = config_from(config, self.get_default_config())
        if env is not None:
            made.environment(env)
        if type(self).is_sampling or made.env is not None:
            made = with_local_sampling(made)
        made.validate()
        made.freeze()
        self.config: AlgorithmConfig = made
        self.metrics = MetricsLogger(root=True, stats_cls_lookup=made.stats_cls_lookup)
        self.callbacks = callback_objects(made)
        self.env_runner_group: EnvRunnerGroup | None = None
        self.learner_group: Any = None
        self._hooks = CallbackHooks(self.callbacks, made)
        self._progress = Progress()
        self._rates = Rates()
        self._last_result: ResultDict = {}
        self._logdir: str | None = None
        self._logger = None if logger_creator is None else logger_creator(dict(made.items()))
        self.progress_line = ProgressLine(sys.stderr) if sys.stderr.isatty() else None
        self.setup(made)
        self._hooks.call("on_algorithm_init", algorithm=self, metrics_logger=self.metrics)

    @classmethod
    def get_default_config(cls) -> AlgorithmConfig:
        """Return the default settings.

        Raises:
            ConfigError: The class has none of its own.
        """
        raise ConfigError(
            f"{cls.__name__} has no default config", hint=f"{cls.__name__}(config=...)."
        )

    @classmethod
    def as_trainable(cls, config: AlgorithmConfig | Mapping[str, Any] | None = None) -> Any:
        """Return a class that Ray Tune trains: `ray.tune.Tuner(PPO.as_trainable(config))`.

        A trial's settings, by the keys of `config.to_dict()`, go before these. Trials are saved as
        `save()` does, go on after they were cut off, and may be given other settings on the way
        (schedulers such as ASHA and PBT).

        Args:
            config: The settings that all trials share.

        Raises:
            MissingExtraError: Ray is not installed.
        """
        from ..distributed.trainables import algorithm_trainable

        return algorithm_trainable(cls, config_from(config, cls.get_default_config()))

    # Making

    def setup(self, config: Any) -> None:
        """Make env runners and learners.

        Args:
            config: The settings.
        """
        if type(self).is_sampling or config.env is not None:
            self.env_runner_group = EnvRunnerGroup(
                config, on_recreated=lambda found: self._on_recreated(found, False)
            )
        self.sampler = Sampler(config, self.env_runner_group, self.metrics)
        self.learner_group = self._make_learner_group(config)
        self._evaluation = Evaluation(
            config, self._hooks, on_recreated=lambda found: self._on_recreated(found, True)
        )
        if self.env_runner_group is not None:
            self.env_runner_group.sync_weights(
                from_worker_or_learner_group=self.learner_group, inference_only=True
            )

    def _make_learner_group(self, config: Any) -> Any:
        runner = self.env_runner
        spaces = None if self.env_runner_group is None else self.env_runner_group.get_spaces()
        if spaces is None and not config.is_multi_agent:
            spaces = {DEFAULT_MODULE_ID: (config.observation_space, config.action_space)}
        env = None if runner is None else runner.env
        own = config.copy(copy_frozen=False)
        own.observation_space, own.action_space = connector_builders.env_spaces(own, env, spaces)
        return own.build_learner_group(env=env, spaces=spaces)

    # What it is made of

    @property
    def iteration(self) -> int:
        """How many calls of `train()` there were."""
        return self._progress.iteration

    training_iteration = _iteration = iteration

    def __repr__(self) -> str:
        config = self.config
        return (
            f"{type(self).__name__}(env={config.env}; env-runners={config.num_env_runners}; "
            f"learners={config.num_learners}; multi-agent={config.is_multi_agent})"
        )

    def get_config(self) -> AlgorithmConfig:
        """Return the settings."""
        return self.config

    @property
    def env_runner(self) -> Any:
        """The env runner in this process."""
        return None if self.env_runner_group is None else self.env_runner_group.local_env_runner

    @property
    def _group(self) -> EnvRunnerGroup:
        assert self.env_runner_group is not None  # An algorithm that samples has made it.
        return self.env_runner_group

    @property
    def eval_env_runner_group(self) -> EnvRunnerGroup | None:
        """The env runners that evaluate; None as long as nothing was evaluated."""
        return self._evaluation.group

    @property
    def eval_env_runner(self) -> Any:
        """The evaluating env runner in this process."""
        return None if self._evaluation.group is None else self._evaluation.group.local_env_runner

    @property
    def logdir(self) -> str:
        """A folder for what belongs to this run: the logger's, or a temporary one."""
        if self._logdir is None:
            given = getattr(self._logger, "logdir", None)
            self._logdir = str(given or tempfile.mkdtemp(prefix=f"{type(self).__name__}_"))
        return self._logdir

    def get_module(self, module_id: str = DEFAULT_MODULE_ID) -> RLModule:
        """Return the module that acts in this process; without env runners, the one that learns.

        Args:
            module_id: Which one.
        """
        if self.env_runner_group is None:
            found, *_ = self.learner_group.foreach_learner(lambda own: own.module.get(module_id))
            made: RLModule = found.get()
        else:
            made = module_of(self.env_runner, module_id)
        return made

    def get_policy(self, policy_id: str = DEFAULT_MODULE_ID) -> NoReturn:
        """Tell what took this method's place.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            "the new stack has modules, not policies", hint=f"use algo.get_module({policy_id!r})."
        )

    def compute_single_action(self, *_: Any, **__: Any) -> NoReturn:
        """Tell what took this method's place.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            "the new stack has modules, not policies that compute actions",
            hint="use bridge.Actor, or the connectors and algo.get_module().forward_inference().",
        )

    compute_actions = compute_single_action

    def get_weights(self, policies: Any = None) -> dict[str, Any]:
        """Return the weights by module id.

        Args:
            policies: Only these.
        """
        weights: dict[str, Any] = self.learner_group.get_weights(policies)
        return weights

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Take weights over, by module id; learner and env runners get them.

        Args:
            weights: As `get_weights` gives them; modules that are left out keep theirs.
        """
        self.learner_group.set_weights(weights)
        self._sync_all_weights()

    def _sync_all_weights(self) -> None:
        for group in (self.env_runner_group, self._evaluation.group):
            if group is not None:
                group.sync_weights(
                    from_worker_or_learner_group=self.learner_group,
                    inference_only=True,
                    is_forced=True,
                )

    # Training

    @abc.abstractmethod
    def training_step(self) -> None:
        """Sample and learn once; what happens is counted in `metrics`."""

    def _learn(self, episodes: list[Any] | None = None, batch: Any = None) -> set[str]:
        """Learn from episodes or a batch, and count what came of it.

        Returns:
            The ids of modules that learnt.
        """
        config = self.config
        with self.metrics.log_time((names.TIMERS, names.LEARNER_UPDATE_TIMER)):
            given = {
                "episodes": episodes,
                "batch": batch,
                "timesteps": {names.NUM_ENV_STEPS_SAMPLED_LIFETIME: self._steps_so_far()},
                "num_epochs": config.num_epochs,
                "minibatch_size": config.minibatch_size,
                "shuffle_batch_per_epoch": config.shuffle_batch_per_epoch,
            }
            learner = self.learner_group.counting_learner
            if learner is None:
                results = self.learner_group.update(**given)
                self._tell_of_learning(results)
                return {module_id for each in results for module_id in each} - {ALL_MODULES}
            learner.update(**given, _no_metrics_reduce=True)
            self._look_at([learner.metrics.hand_over(name) for name in self.not_told])
            self.metrics.later(
                names.LEARNER_RESULTS, lambda: self._tell_of_learning([learner.metrics.reduce()])
            )
        return set(learner.module.keys())

    def _tell_of_learning(self, results: list[Any]) -> None:
        self._look_at(results)
        self.metrics.aggregate(results, key=names.LEARNER_RESULTS)

    @property
    def not_told(self) -> tuple[str, ...]:
        """What learners log that `_look_at` takes after each update."""
        return ()

    def _look_at(self, learner_results: list[Any]) -> None:
        """Take from the results of an update what is not to be told; nothing here."""

    def train(self) -> ResultDict:
        """Do one iteration.

        Returns:
            What happened, by RLlib's keys.
        """
        self._progress.begin()
        result = {**self.step(), **self._progress.end()}
        self._rates.add_to(result)
        result["config"] = dict(self.config.items())
        self._last_result = result
        self._hooks.call(
            "on_train_result", algorithm=self, metrics_logger=self.metrics, result=result
        )
        if self._logger is not None:
            self._logger.on_result(result)
        if self.progress_line is not None:
            self.progress_line.on_result(result)
        return result

    def step(self) -> ResultDict:
        """Sample, learn and, where it is time, evaluate.

        Returns:
            What `train()` reports, but for times and settings.
        """
        interval = self.config.evaluation_interval
        is_time = bool(interval) and (self.iteration + 1) % interval == 0
        if is_time and self.config.evaluation_parallel_to_training:
            return self._compiled(*self._evaluation.run_beside(self, self._train_enough))
        calls = self._train_enough()
        evaluated = None
        if is_time:
            with self.metrics.log_time((names.TIMERS, names.EVALUATION_ITERATION_TIMER)):
                evaluated = self.evaluate()
        return self._compiled(calls, evaluated)

    def _train_enough(self) -> int:
        """Call `training_step` until the iteration has done enough; gives how often."""
        with self.metrics.log_time((names.TIMERS, names.TRAINING_ITERATION_TIMER)):
            return Enough.of(self.config).repeat(self._train_once, self._sampled, self._trained)

    def _train_once(self) -> None:
        with self.metrics.log_time((names.TIMERS, names.TRAINING_STEP_TIMER)):
            self.training_step()

    def _sampled(self) -> int:
        key = (names.ENV_RUNNER_RESULTS, names.NUM_ENV_STEPS_SAMPLED_LIFETIME)
        group = self.env_runner_group
        if group is None or not group.keeps_counts:
            return int(self.metrics.peek(key, default=0))
        return int(self.metrics.so_far(key)) + int(group.local_env_runner.steps_not_told)

    def _steps_so_far(self) -> int:
        """By how many steps schedules have come."""
        return self._sampled()

    def _trained(self) -> int:
        key = (names.LEARNER_RESULTS, ALL_MODULES, names.NUM_ENV_STEPS_TRAINED_LIFETIME)
        return int(self.metrics.peek(key, default=0))

    def _compiled(self, calls: int, evaluated: ResultDict | None) -> ResultDict:
        """The metrics of an iteration, with what RLlib puts beside them."""
        result: ResultDict = self.metrics.reduce(compile=True)
        for part in (names.TIMERS, names.ENV_RUNNER_RESULTS, names.LEARNER_RESULTS):
            result.setdefault(part, {})
        if evaluated is not None:
            result[names.EVALUATION_RESULTS] = evaluated
        group = self.env_runner_group
        result[names.NUM_ENV_STEPS_SAMPLED_LIFETIME] = self._sampled()
        result["num_training_step_calls_per_iteration"] = calls
        stats = RunnerCounts() if group is None else group
        result[names.FAULT_TOLERANCE_STATS] = stats.fault_tolerance()
        result["env_runner_group"] = stats.in_flight()
        return result

    # Evaluation

    def evaluate(self, parallel_train_future: Any = None) -> ResultDict:
        """Evaluate the modules as they are.

        Args:
            parallel_train_future: Kept for RLlib's sake; evaluations run on their own.

        Returns:
            What runners counted, under "env_runners".
        """
        return self._evaluation.run(self)

    def film_evaluations(self, path: str | os.PathLike[str]) -> None:
        """Film the first episode of each evaluation from now on (the extra `video`).

        Environments that gymnasium makes by id are made to draw; others get `render_mode` in
        their `env_config`.

        Args:
            path: The film, a `.gif` or `.mp4`; each is made once the last was taken away.
        """
        self._evaluation.film(Path(path))

    # The end

    def stop(self) -> None:
        """Close environments, end processes and loggers."""
        self._evaluation.stop()
        if self.env_runner_group is not None:
            self.env_runner_group.stop()
        self.learner_group.shutdown()
        if self._logger is not None:
            self._logger.close()
        if self.progress_line is not None:
            self.progress_line.close()

    def cleanup(self) -> None:
        """Do as `stop`, by RLlib's other name."""
        self.stop()

    def _on_recreated(self, indices: list[int], is_evaluation: bool) -> None:
        group = self.eval_env_runner_group if is_evaluation else self.env_runner_group
        self._hooks.call(
            "on_env_runners_recreated",
            algorithm=self,
            env_runner_group=group,
            env_runner_indices=indices,
            is_evaluation=is_evaluation,
        )
