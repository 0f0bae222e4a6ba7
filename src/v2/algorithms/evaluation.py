"""Evaluations: modules as they are, on env runners of their own, without what exploration adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.formulas.intervals import interval_of
from ..metrics import names
from ..metrics.metrics_logger import MetricsLogger
from .env_runner_group import EnvRunnerGroup


class Evaluation:
    """Runs evaluations, with runners made for the first one.

    Args:
        config: The algorithm's settings; its `evaluation` section says how.
        on_recreated: Called with indices of replaced runners and True.

    Attributes:
        group: The runners; None before the first evaluation.
        metrics: What they counted.
    """

    def __init__(self, config: Any, *, on_recreated: Callable[[list[int], bool], Any]) -> None:
        self._given = config
        self._on_recreated = on_recreated
        self.config: Any = None
        self.group: EnvRunnerGroup | None = None
        self.metrics = MetricsLogger(root=True, stats_cls_lookup=config.stats_cls_lookup)
        if config.evaluation_interval:
            self.make_runners()

    def make_runners(self) -> EnvRunnerGroup:
        """Make the runners, if they are not there.

        Raises:
            ConfigError: No environment is named.
        """
        if self.group is None:
            config = self._given.get_evaluation_config_object()
            if config.env is None:
                raise ConfigError(
                    "there is no environment to evaluate in",
                    hint='evaluation(evaluation_config={"env": ...}).',
                )
            config.freeze()
            self.config = config
            self.group = EnvRunnerGroup(
                config, on_recreated=lambda found: self._on_recreated(found, True)
            )
        return self.group

    def run(self, algorithm: Any) -> dict[str, Any]:
        """Evaluate.

        Args:
            algorithm: Whose modules and connector states are used.

        Returns:
            What runners counted, under "env_runners"; of two episodes and more also where the
            return they stand for lies, by 95 % confidence.
        """
        group = self.make_runners()
        group.sync_weights(
            from_worker_or_learner_group=algorithm.learner_group, inference_only=True
        )
        if algorithm.env_runner_group is not None:
            group.set_connector_state(algorithm.env_runner_group.connector_state())
        if self.config.custom_evaluation_function is not None:
            return self._by_user(algorithm, group)
        unit = self.config.evaluation_duration_unit
        wanted = self.config.evaluation_duration
        if wanted == "auto":  # As long as training takes, which here is done before.
            wanted = max(1, group.num_remote_env_runners())
            unit = "episodes"
        returns = self._sample(group, int(wanted), unit == "episodes")
        results = self.metrics.reduce(compile=True)
        results.setdefault(names.ENV_RUNNER_RESULTS, {}).update(_interval(returns))
        results.update(group.fault_tolerance())
        results.update(group.in_flight())
        return results

    def _sample(self, group: EnvRunnerGroup, wanted: int, is_in_episodes: bool) -> list[float]:
        """Sample; gives the returns of the episodes that were seen whole."""
        done = 0
        returns: list[float] = []
        is_reset = bool(self.config.evaluation_force_reset_envs_before_iteration)
        while done < wanted:
            share = -(-(wanted - done) // max(1, group.num_remote_env_runners()))
            size: dict[str, Any] = (
                {"num_episodes": share}
                if is_in_episodes
                else {"num_timesteps": share, "force_reset": is_reset}
            )
            is_reset = False
            samples = group.sample(timeout_s=self.config.evaluation_sample_timeout_s, **size)
            if not samples:
                break
            self.metrics.aggregate(
                [sample.metrics for sample in samples], key=names.ENV_RUNNER_RESULTS
            )
            episodes = [each for sample in samples for each in sample.episodes]
            done += len(episodes) if is_in_episodes else sum(e.env_steps() for e in episodes)
            returns += [float(e.get_return()) for e in episodes if e.is_done and not _began(e)]
        return returns

    def _by_user(self, algorithm: Any, group: EnvRunnerGroup) -> dict[str, Any]:
        given = self.config.custom_evaluation_function(algorithm, group)
        results = given[0] if isinstance(given, tuple) else given
        if not isinstance(results, dict):
            raise ConfigError(
                "the custom_evaluation_function",
                expected="results, environment steps and agent steps",
                found=type(given).__name__,
            )
        return results

    def stop(self) -> None:
        """Close environments and end processes."""
        if self.group is not None:
            self.group.stop()


def _began(episode: Any) -> int:
    """How many steps of an episode lie before this part of it."""
    began: int = getattr(episode, "env_t_started", getattr(episode, "t_started", 0))
    return began


def _interval(returns: list[float]) -> dict[str, float]:
    """The ends of the interval around the mean return; nothing where too little is known."""
    if len(returns) < 2:
        return {}
    values = np.array(returns)
    found = interval_of(values, float(values.mean()))
    return {
        names.EPISODE_RETURN_CI95_LOW: found.low,
        names.EPISODE_RETURN_CI95_HIGH: found.high,
    }
