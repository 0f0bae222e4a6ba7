"""Callbacks with annotations of both stacks, that log what they see."""

from typing import Optional

from made import episode
from ray.rllib.algorithms.callbacks import DefaultCallbacks
from ray.rllib.env import BaseEnv
from ray.rllib.evaluation import RolloutWorker
from ray.rllib.policy import Policy
from ray.rllib.utils.metrics.metrics_logger import MetricsLogger
from ray.rllib.utils.typing import PolicyID


class LogReturns(DefaultCallbacks):
    def on_episode_end(
        self,
        *,
        episode,
        env_runner: Optional[RolloutWorker] = None,  # noqa: UP045
        metrics_logger: Optional[MetricsLogger] = None,  # noqa: UP045
        env: Optional[BaseEnv] = None,  # noqa: UP045
        policies: Optional[dict[PolicyID, Policy]] = None,  # noqa: UP045
        **kwargs,
    ):
        metrics_logger.log_value("my_return", episode.get_return(), window=10)
        metrics_logger.log_value("longest", len(episode), reduce="max", window=10)
        metrics_logger.log_value("ended", 1, reduce="sum")


def run():
    callbacks, logger = LogReturns(), MetricsLogger()
    for length in (3, 6, 4):
        callbacks.on_episode_end(episode=episode(length), metrics_logger=logger)
    return {key: float(logger.peek(key)) for key in ("my_return", "longest", "ended")}
