"""What all env runners are: settings, pipelines, a module, metrics, state and callbacks."""

from __future__ import annotations

import abc
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from ...core.data.checked import count
from ...core.data.damage import at
from ...core.errors import ConfigError
from ...core.trust import Names
from ...core.vault.decode.standins import mapping_of
from ..config.saved_config import restored_config
from ..metrics.metrics_logger import MetricsLogger
from ..metrics.names import (
    COMPONENT_ENV_TO_MODULE_CONNECTOR,
    COMPONENT_MODULE_TO_ENV_CONNECTOR,
    COMPONENT_RL_MODULE,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    WEIGHTS_SEQ_NO,
)
from ..saving.checkpointable import Checkpointable, Components
from .callback_hooks import CallbackHooks, callback_objects
from .episode_metrics import SampleCounts

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig


class EnvRunner(Checkpointable):
    """Steps environments with a module and returns episodes.

    A subclass says how environments are made and stepped: `make_env`, `make_module`,
    `get_spaces`, `sample` and `stop`. Everything else is here.

    Args:
        config: The algorithm's settings; the runner keeps a copy.
        worker_index: Which of several runners this is; 0 is the local one.
        num_workers: How many there are besides the local one.
        tune_trial_id: The trial it belongs to.
        spaces: Spaces by module id, where they are known without an environment.
        **kwargs: Kept for subclasses.

    Attributes:
        env: The vector environment.
        module: The module it acts with.
        metrics: The logger; `get_metrics` gives what it holds.
    """

    def __init__(
        self,
        *,
        config: AlgorithmConfig,
        worker_index: int = 0,
        num_workers: int | None = None,
        tune_trial_id: str | None = None,
        spaces: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.config = config.copy(copy_frozen=False)
        self.worker_index = worker_index
        self.num_workers = config.num_env_runners if num_workers is None else num_workers
        self.tune_trial_id = tune_trial_id
        self.spaces = dict(spaces or {})
        self.env: Any = None
        self.num_envs = 0
        self.module: Any = None
        self.metrics = MetricsLogger()
        self.num_env_steps_sampled_lifetime = 0
        self._seed = None if config.seed is None else int(config.seed) + worker_index
        self._counts = SampleCounts(
            # An evaluation is of the weights as they are; one before it was of others.
            None if config.in_evaluation else config.metrics_num_episodes_for_smoothing
        )
        self._weights_seq_no = 0
        self._sampled_with = 0  # the number that the newest sample was made with
        self._shared_data: dict[str, Any] = {}
        self._needs_initial_reset = True
        self._callbacks = callback_objects(config)
        self._hooks = CallbackHooks(self._callbacks, self.config)
        if self._seed is not None:
            seed_everything(self._seed)
        self.make_env()
        self._take_up_env()
        self._env_to_module: Any = self.config.build_env_to_module_connector(
            env=self.env, spaces=self.spaces, device=self.device
        )
        self.make_module()
        self._module_to_env: Any = self.config.build_module_to_env_connector(
            env=self.env, spaces=self.spaces
        )

    @property
    def env_to_module(self) -> Any:
        """The pipeline from episodes to a forward batch; RLlib's name for it is private."""
        return self._env_to_module

    @property
    def module_to_env(self) -> Any:
        """The pipeline from a module's outputs to actions; RLlib's name for it is private."""
        return self._module_to_env

    @property
    def needs_initial_reset(self) -> bool:
        """Whether the next sample begins with a reset; RLlib's name for it is private."""
        return self._needs_initial_reset

    @needs_initial_reset.setter
    def needs_initial_reset(self, value: bool) -> None:
        self._needs_initial_reset = value

    @property
    def device(self) -> str:
        """Where the module computes."""
        return "cuda" if self.config.num_gpus_per_env_runner else "cpu"

    # What subclasses say

    @abc.abstractmethod
    def make_env(self) -> None:
        """Make the environments anew; those that are there are closed."""

    def _take_up_env(self) -> None:
        """Get ready to step what a subclass's `make_env` has made by itself."""

    @abc.abstractmethod
    def make_module(self) -> None:
        """Make the module anew, for acting only."""

    @abc.abstractmethod
    def get_spaces(self) -> dict[str, tuple[Space[Any], Space[Any]]]:
        """Return observation and action spaces: the environments', and those of each module."""

    @abc.abstractmethod
    def sample(self, **kwargs: Any) -> list[Any]:
        """Step the environments and return episodes."""

    def stop(self) -> None:
        """Close the environments."""
        if self.env is not None:
            self.env.close()
            self.env = None

    # Asked by whoever holds several runners

    def assert_healthy(self) -> None:
        """Check that there are environments and a module.

        Raises:
            ConfigError: There are none.
        """
        missing = [name for name in ("env", "module") if getattr(self, name) is None]
        if missing:
            raise ConfigError(
                f"{type(self).__name__} has no {' and no '.join(missing)}",
                hint="it was stopped, or its config names none.",
            )

    def ping(self) -> str:
        """Answer."""
        return "pong"

    @property
    def steps_not_told(self) -> int:
        """How many steps of environments it has made since `get_metrics` was last asked."""
        return self._counts.env_steps

    def get_metrics(self) -> Any:
        """Give what was logged since the last time, by RLlib's keys."""
        self._counts.log_to(self.metrics)
        self.metrics.log_value(WEIGHTS_SEQ_NO, self._sampled_with, window=1)
        return self.metrics.reduce()

    # State

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return weights, their number, the states of both pipelines and the steps so far.

        Args:
            components: Only these: `rl_module`, `env_to_module_connector`,
                `module_to_env_connector`; "a/b" for one inside another.
            not_components: All but these.
            **kwargs: Handed to the module (`inference_only=True`) and the pipelines.
        """
        state: dict[str, Any] = {
            NUM_ENV_STEPS_SAMPLED_LIFETIME: self.num_env_steps_sampled_lifetime
        }
        for name, component in self.get_checkpointable_components():
            if self._check_component(name, components, not_components):
                state[name] = component.get_state(
                    components=self._get_subcomponents(name, components),
                    not_components=self._get_subcomponents(name, not_components),
                    **kwargs,
                )
        if COMPONENT_RL_MODULE in state:
            state[WEIGHTS_SEQ_NO] = self._weights_seq_no
        return state

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave; weights only where they are no older than its own."""
        if NUM_ENV_STEPS_SAMPLED_LIFETIME in state:
            with at(NUM_ENV_STEPS_SAMPLED_LIFETIME):
                steps = state[NUM_ENV_STEPS_SAMPLED_LIFETIME]
                self.num_env_steps_sampled_lifetime = count(steps)
        for name, pipeline in (
            (COMPONENT_ENV_TO_MODULE_CONNECTOR, self._env_to_module),
            (COMPONENT_MODULE_TO_ENV_CONNECTOR, self._module_to_env),
        ):
            if name in state:
                with at(name):
                    pipeline.set_state(state[name])
        if COMPONENT_RL_MODULE in state:
            with at(WEIGHTS_SEQ_NO):
                number = count(state.get(WEIGHTS_SEQ_NO, 0))
            with at(COMPONENT_RL_MODULE):
                self.set_weights(state[COMPONENT_RL_MODULE], number)

    def get_weights(self) -> dict[str, Any]:
        """Return only the weights of the module."""
        weights: dict[str, Any] = self.module.get_state()
        return weights

    def set_weights(self, weights: Mapping[str, Any], weights_seq_no: int = 0) -> None:
        """Take weights over.

        Args:
            weights: The module's state; one module's may come by its id.
            weights_seq_no: Their number. Older ones than those it has are left out, 0 is always
                taken.
        """
        if weights_seq_no and weights_seq_no <= self._weights_seq_no:
            return
        self.module.set_state(self._own_weights(weights))
        if weights_seq_no:
            self._weights_seq_no = weights_seq_no

    def copy_weights(self, copies: Callable[[], None], weights_seq_no: int) -> None:
        """Have weights copied into the module, unless it has newer ones.

        Args:
            copies: What copies.
            weights_seq_no: Their number.
        """
        if weights_seq_no > self._weights_seq_no:
            copies()
            self._weights_seq_no = weights_seq_no

    def take_any_weights(self) -> None:
        """Take the next weights over, even if their number is older than that of its own."""
        self._weights_seq_no = 0

    def _own_weights(self, weights: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of some weights that the module takes."""
        return weights

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {"config": self.config}

    @classmethod
    @override
    def _live_arguments(
        cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], names: Names
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rest = {name: value for name, value in kwargs.items() if name != "config"}
        live, by_name = super()._live_arguments(args, rest, names)
        config = kwargs.get("config")
        if config is not None:
            by_name["config"] = restored_config({"class": config, **mapping_of(config)}, names)
        return live, by_name

    @override
    def get_checkpointable_components(self) -> list[tuple[str, Checkpointable]]:
        """Return the module and both pipelines."""
        parts = (
            (COMPONENT_RL_MODULE, self.module),
            (COMPONENT_ENV_TO_MODULE_CONNECTOR, self._env_to_module),
            (COMPONENT_MODULE_TO_ENV_CONNECTOR, self._module_to_env),
        )
        return [(name, part) for name, part in parts if part is not None]

    # Callbacks

    def _on_environment_created(self, context: Any) -> None:
        self._hooks.call(
            "on_environment_created",
            env_runner=self,
            metrics_logger=self.metrics,
            env=self.env.unwrapped,
            env_context=context,
        )

    def _call_on_episode(self, hook: str, episode: Any, env_index: int, **more: Any) -> None:
        """Call one of the hooks about an episode: created, start, step or end."""
        for listener in self._hooks.of(hook):
            listener(
                episode=episode,
                env_runner=self,
                metrics_logger=self.metrics,
                env=self.env.unwrapped,
                rl_module=self.module,
                env_index=env_index,
                **more,
            )

    def _on_sample_end(self, samples: list[Any]) -> None:
        self._hooks.call(
            "on_sample_end", env_runner=self, metrics_logger=self.metrics, samples=samples
        )


def seed_everything(seed: int) -> None:
    """Seed the generators that environments, modules and distributions may draw from."""
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  # a user's environment may draw from it
    torch.manual_seed(seed)


class Sample(NamedTuple):
    """What one runner gave in one call."""

    episodes: list[Any]
    metrics: Any
    connector_state: dict[str, Any]


def take_sample(
    runner: EnvRunner, *, has_state: bool = False, has_metrics: bool = True, **size: Any
) -> Sample:
    """Sample, where the runner is.

    Args:
        runner: The runner.
        has_metrics: Whether its metrics come along; else they stay with it.
        has_state: Whether the state of its env-to-module pipeline comes along.
        **size: As of `sample`.
    """
    episodes = runner.sample(**size)
    state: dict[str, Any] = {}
    if has_state:
        name = COMPONENT_ENV_TO_MODULE_CONNECTOR
        state = runner.get_state(components=name).get(name, {})
        # What is handed over is no longer new here, whether or not a merged state comes back.
        runner.set_state({name: state})
    return Sample(episodes, runner.get_metrics() if has_metrics else None, state)
