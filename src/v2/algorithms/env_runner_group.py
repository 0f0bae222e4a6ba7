"""All env runners of an algorithm: the one right here, and those in processes of Ray."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError
from ..env_runners.base import EnvRunner, Sample, take_sample
from ..metrics.names import (
    COMPONENT_ENV_TO_MODULE_CONNECTOR,
    COMPONENT_LEARNER,
    COMPONENT_RL_MODULE,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    WEIGHTS_SEQ_NO,
)


class RunnerCounts:
    """Counts a group's env runners; RLlib's older names for a count give the same number.

    Attributes:
        local_env_runner: The runner in this process, or None.
    """

    local_env_runner: Any = None
    _actors: Any = None

    def num_runners(self) -> int:
        """How many there are, the local one included."""
        return (self.local_env_runner is not None) + self.num_remote_env_runners()

    def num_remote_env_runners(self) -> int:
        """How many run beside."""
        return 0 if self._actors is None else len(self._actors)

    def num_healthy_remote_env_runners(self) -> int:
        """How many of those that run beside are alive."""
        return 0 if self._actors is None else int(self._actors.num_healthy)

    def num_healthy_env_runners(self) -> int:
        """How many are alive, the local one included."""
        return (self.local_env_runner is not None) + self.num_healthy_remote_env_runners()

    def healthy_env_runner_ids(self) -> list[int]:
        """Return the indices of the live remote workers."""
        return [] if self._actors is None else list(self._actors.indices)

    def num_remote_worker_restarts(self) -> int:
        """How often a remote runner was replaced."""
        return 0 if self._actors is None else int(self._actors.num_restarts)

    def num_env_runners_dropped_lifetime(self) -> int:
        """How many remote runners were given up."""
        return 0 if self._actors is None else int(self._actors.num_dropped)

    def num_env_runner_failures_lifetime(self) -> int:
        """How often a remote runner raised an error."""
        return 0 if self._actors is None else int(self._actors.num_failures)

    def num_in_flight_async_reqs(self, tag: str | None = None) -> int:
        """How many calls wait for an answer; none between two samples."""
        return 0

    def fault_tolerance(self) -> dict[str, int]:
        """Give what results tell of runners that were lost."""
        return {
            "num_healthy_workers": self.num_healthy_remote_env_runners(),
            "num_remote_worker_restarts": self.num_remote_worker_restarts(),
            "num_env_runners_dropped_lifetime": self.num_env_runners_dropped_lifetime(),
            "num_env_runner_failures_lifetime": self.num_env_runner_failures_lifetime(),
        }

    def in_flight(self) -> dict[str, int]:
        """Give what results tell of calls that wait."""
        return {"actor_manager_num_outstanding_async_reqs": self.num_in_flight_async_reqs()}

    num_remote_workers = num_remote_env_runners
    num_healthy_remote_workers = num_healthy_remote_env_runners
    num_healthy_workers = num_healthy_env_runners
    healthy_worker_ids = healthy_env_runner_ids


def env_runner_class(config: Any) -> Any:
    """The class of runners that a config asks for."""
    if config.env_runner_cls is not None:
        return config.env_runner_cls
    if config.is_multi_agent:
        from ..env_runners.multi_agent import MultiAgentEnvRunner

        return MultiAgentEnvRunner
    from ..env_runners.single_agent import SingleAgentEnvRunner

    return SingleAgentEnvRunner


class EnvRunnerGroup(RunnerCounts):
    """Holds an algorithm's env runners.

    Without remote runners the local one samples. With them it only holds what they agree on:
    weights, and the merged states of their connectors.

    Args:
        config: The algorithm's settings; `num_env_runners` says how many run beside.
        on_recreated: Called with the indices of remote runners that were replaced.

    Attributes:
        local_env_runner: The runner in this process; None with `create_local_env_runner=False`.
    """

    def __init__(
        self, config: Any, *, on_recreated: Callable[[list[int]], Any] | None = None
    ) -> None:
        self.config = config
        count = config.num_env_runners
        cls = env_runner_class(config)
        self.local_env_runner: Any = None
        if config.create_local_env_runner or not count:
            self.local_env_runner = cls(config=config, worker_index=0, num_workers=count)
        self._actors: Any = None
        if count:
            from ..distributed.runner_actors import RunnerActors

            self._actors = RunnerActors(config, cls, count, on_recreated=on_recreated)
        self._merger: Any = None

    def get_spaces(self) -> dict[str, Any]:
        """Return the spaces of environments and modules."""
        if self.local_env_runner is not None:
            spaces: dict[str, Any] = self.local_env_runner.get_spaces()
            return spaces
        return dict(self._actors.first(_spaces_of))

    def foreach_env_runner(
        self,
        func: Callable[..., Any],
        *,
        local_env_runner: bool = True,
        kwargs: Mapping[str, Any] | None = None,
        timeout_seconds: float | None = None,
        **ignored: Any,
    ) -> list[Any]:
        """Call a function, or a method by name, with each runner; the local one first.

        Args:
            func: Called as `func(runner, **kwargs)`, in the runner's process.
            local_env_runner: Whether the local one is among them.
            kwargs: Handed on.
            timeout_seconds: How long to wait for remote ones; None waits for all.
            **ignored: What RLlib's has beside these.
        """
        call = _by_name(func) if isinstance(func, str) else func
        given = dict(kwargs or {})
        made = []
        if local_env_runner and self.local_env_runner is not None:
            made.append(call(self.local_env_runner, **given))
        if self._actors is not None:
            made += self._actors.foreach(call, given, timeout_seconds)
        return made

    def foreach_with(self, func: Callable[[Any, Any], Any], arguments: Sequence[Any]) -> None:
        """Call a function with each runner and an argument of its own.

        Args:
            func: Called as `func(runner, argument)`.
            arguments: One for each runner, the local one first.
        """
        rest = list(arguments)
        if self.local_env_runner is not None:
            func(self.local_env_runner, rest.pop(0))
        if self._actors is not None:
            self._actors.foreach_with(func, rest)

    # Sampling

    @property
    def keeps_counts(self) -> bool:
        """Whether what was counted may stay with the one runner until somebody asks for it."""
        return self._actors is None and self.config.env_runner_cls is None

    def sample(
        self, *, timeout_s: float | None = None, has_metrics: bool = True, **size: Any
    ) -> list[Sample]:
        """Let every runner that samples do so once.

        Args:
            timeout_s: How long remote ones may take; what comes later is lost, and not counted.
            has_metrics: Whether metrics come along where the runner is in this process.
            **size: As of a runner's `sample`.
        """
        if self._actors is None:
            return [take_sample(self.local_env_runner, has_metrics=has_metrics, **size)]
        samples: list[Sample] = self._actors.sample(size, timeout_s, has_state=self._is_merging)
        return samples

    @property
    def _is_merging(self) -> bool:
        chosen = self.config.merge_env_runner_states
        return not self.config.in_evaluation if chosen == "training_only" else bool(chosen)

    # Keeping runners equal

    def sync_weights(
        self,
        policies: Collection[str] | None = None,
        from_worker_or_learner_group: Any = None,
        *,
        inference_only: bool = False,
        is_forced: bool = False,
        **ignored: Any,
    ) -> None:
        """Give weights to all runners.

        Args:
            policies: Ids of the modules whose weights go; None for all.
            from_worker_or_learner_group: Whose weights; None takes the local runner's.
            inference_only: Whether only what acting needs goes.
            is_forced: Whether they replace newer ones.
            **ignored: What RLlib's has beside these.
        """
        source = from_worker_or_learner_group
        if source is None or isinstance(source, EnvRunner):
            runner = self.local_env_runner if source is None else source
            state = runner.get_state(COMPONENT_RL_MODULE)
        else:
            parts = _parts(f"{COMPONENT_LEARNER}/{COMPONENT_RL_MODULE}", policies)
            state = source.get_state(parts, inference_only=inference_only)[COMPONENT_LEARNER]
        weights = {
            COMPONENT_RL_MODULE: state[COMPONENT_RL_MODULE],
            WEIGHTS_SEQ_NO: state[WEIGHTS_SEQ_NO],
        }
        self._set_everywhere(weights, is_forced)

    def copies_of(self, modules: Any) -> Callable[[], None] | None:
        """What makes the modules of the one runner equal to others, tensor by tensor.

        It holds as long as no network of either is exchanged for another one.

        Args:
            modules: Those that learn, by id.

        Returns:
            None where weights have to go by states: runners or modules with a way of their own.
        """
        if not self.keeps_counts or self.local_env_runner.module is None:
            return None
        from ..modules.multi_rl_module import MultiRLModule
        from ..modules.weight_copies import WeightCopies  # which needs torch

        for each in (modules, self.local_env_runner.module):
            is_multi = isinstance(each, MultiRLModule)
            if is_multi and type(each).get_state is not MultiRLModule.get_state:
                return None

        pairs = [(own, module_of(self.local_env_runner, id_)) for id_, own in modules.items()]
        return WeightCopies.between([pair for pair in pairs if pair[1] is not None])

    def sync_env_runner_states(
        self,
        *,
        config: Any = None,
        connector_states: Sequence[Mapping[str, Any]] | None = None,
        env_steps_sampled: int | None = None,
        **ignored: Any,
    ) -> None:
        """Merge what the connectors of remote runners have counted, and give all the result.

        Args:
            config: Which settings decide; the group's own if None.
            connector_states: Of the runners that sampled.
            env_steps_sampled: How many steps there were so far, for exploration.
            **ignored: What RLlib's has beside these.
        """
        if self._actors is None:
            return
        settings = self.config if config is None else config
        state: dict[str, Any] = {}
        if env_steps_sampled is not None:
            state[NUM_ENV_STEPS_SAMPLED_LIFETIME] = env_steps_sampled
        found = [each for each in connector_states or () if each]
        if found and self._is_merging:
            merged = self._merging_pipeline().merge_states(found)
            if settings.broadcast_env_runner_states:
                state[COMPONENT_ENV_TO_MODULE_CONNECTOR] = merged
        if state:
            self._set_everywhere(state, is_forced=False)

    def connector_state(self) -> dict[str, Any]:
        """Return the state of the env-to-module pipelines, as far as they agree."""
        state: dict[str, Any] = self._merging_pipeline().get_state()
        return state

    def set_connector_state(self, state: Mapping[str, Any]) -> None:
        """Set the state of all env-to-module pipelines."""
        if state:
            self._set_everywhere({COMPONENT_ENV_TO_MODULE_CONNECTOR: state}, is_forced=False)

    def _merging_pipeline(self) -> Any:
        if self.local_env_runner is not None:
            return self.local_env_runner.env_to_module
        if self._merger is None:
            self._merger = self.config.build_env_to_module_connector(spaces=self.get_spaces())
        return self._merger

    def _set_everywhere(self, state: Mapping[str, Any], is_forced: bool) -> None:
        if self.local_env_runner is not None:
            _set_state(self.local_env_runner, state, is_forced)
        if self._actors is not None:
            self._actors.set_state(state, is_forced)

    def stop(self) -> None:
        """Close all environments, and end the processes."""
        if self.local_env_runner is not None:
            self.local_env_runner.stop()
        if self._actors is not None:
            self._actors.stop()


def _parts(path: str, policies: Collection[str] | None) -> list[str]:
    return [path] if policies is None else [f"{path}/{each}" for each in sorted(policies)]


def _by_name(name: str) -> Callable[..., Any]:
    def call(runner: Any, **kwargs: Any) -> Any:
        return getattr(runner, name)(**kwargs)

    return call


def _spaces_of(runner: Any) -> Any:
    return runner.get_spaces()


def _set_state(runner: Any, state: Mapping[str, Any], is_forced: bool) -> None:
    if is_forced:
        runner.take_any_weights()
    runner.set_state(state)


def module_of(runner: Any, module_id: str) -> Any:
    """A module that a runner acts with; None if it has none of that id.

    Raises:
        ConfigError: There is no runner in this process.
    """
    if runner is None:
        raise ConfigError(
            "there is no env runner in this process",
            hint="env_runners(create_local_env_runner=True), or ask the learner's module.",
        )
    module = runner.module
    if hasattr(module, "as_multi_rl_module") and not hasattr(module, "keys"):
        return module if module_id == DEFAULT_MODULE_ID else None
    return module[module_id] if module is not None and module_id in module else None


def with_local_sampling(config: Any) -> Any:
    """The config, without remote runners where Ray is not installed.

    RLlib's PPO has two of them unless told otherwise; that nobody asked for Ray must not keep it
    from running.
    """
    wanted = config.num_env_runners + config.evaluation_num_env_runners
    if not wanted or _has_ray():
        return config
    warnings.warn(
        f"{wanted} env runners beside this process need Ray (pip install 'rlconnect[ray]'): "
        "sampling happens in this process. env_runners(num_env_runners=0) says so.",
        UserWarning,
        stacklevel=4,
    )
    config.num_env_runners = config.evaluation_num_env_runners = 0
    if config.evaluation_parallel_to_training:
        config.evaluation_parallel_to_training = False
        if config.evaluation_duration == "auto":  # Nothing tells how long that is.
            config.evaluation_duration, config.evaluation_duration_unit = 1, "episodes"
    return config


def _has_ray() -> bool:
    """Whether Ray itself is installed; not what stands in for its names."""
    spec = find_spec("ray")
    return spec is not None and str(spec.origin).endswith("__init__.py")
