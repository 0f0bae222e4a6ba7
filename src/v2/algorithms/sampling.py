"""Sampling with all env runners until there is enough to learn from, counted and recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from ..config.file_settings import is_told
from ..metrics import names
from ..metrics.metrics_logger import MetricsLogger
from ..recorded.episode_parquet import EpisodeParquetWriter, write_episode_file, write_row_file
from .env_runner_group import EnvRunnerGroup
from .episode_files import EpisodeWriter


class Sampler:
    """Samples for training; what was sampled is counted, and recorded where the config says so.

    Args:
        config: The algorithm's settings.
        group: The env runners; None where nothing is sampled.
        metrics: Where everything is counted.
    """

    def __init__(self, config: Any, group: EnvRunnerGroup | None, metrics: MetricsLogger) -> None:
        self._config = config
        self._given_group = group
        self._metrics = metrics
        self._writer = _writer_of(config)

    @property
    def _group(self) -> EnvRunnerGroup:
        assert self._given_group is not None  # An algorithm that samples has made it.
        return self._given_group

    def train_batch(self) -> list[Any]:
        """Sample the episodes of a train batch."""
        config = self._config
        by_agent = config.is_multi_agent and config.count_steps_by == "agent_steps"
        size = config.total_train_batch_size
        return self.episodes(**{"max_agent_steps" if by_agent else "max_env_steps": size})

    def episodes(self, **enough: Any) -> list[Any]:
        """Sample episodes until there are enough, at least once."""
        with self._metrics.log_time((names.TIMERS, names.ENV_RUNNER_SAMPLING_TIMER)):
            is_late = self._group.keeps_counts
            sampled = synchronous_parallel_sample(
                worker_set=self._group,
                concat=True,
                sample_timeout_s=self._config.sample_timeout_s,
                _return_metrics=not is_late,
                **enough,
            )
            if is_late:
                episodes = sampled
                self._count_later()
            else:
                episodes, results = sampled
                self._metrics.aggregate(results, key=names.ENV_RUNNER_RESULTS)
        if self._writer is not None:
            self._writer.write(episodes)
        return list(episodes)

    @property
    def gives_columns(self) -> bool:
        """Whether steps may come as columns, since nobody wants to see them as episodes."""
        runner = self._group.local_env_runner
        return (
            self._group.keeps_counts
            and self._writer is None
            and hasattr(runner, "sample_columns")
            and "sample" not in vars(runner)
        )

    def columns(self) -> Any:
        """Sample once, and give columns of steps."""
        with self._metrics.log_time((names.TIMERS, names.ENV_RUNNER_SAMPLING_TIMER)):
            columns = self._group.local_env_runner.sample_columns()
            self._count_later()
        return columns

    def _count_later(self) -> None:
        self._metrics.later(names.ENV_RUNNER_RESULTS, self._take_counts)

    def _take_counts(self) -> None:
        counts = self._group.local_env_runner.get_metrics()
        self._metrics.aggregate([counts], key=names.ENV_RUNNER_RESULTS)


def _writer_of(config: Any) -> EpisodeWriter | EpisodeParquetWriter | None:
    """Make what records an algorithm's episodes, as `config.offline_data(output=...)` says.

    Raises:
        ConfigError: The output is no folder.
    """
    if config.output is None or is_told(config.output):
        return None
    if Path(config.output).is_file():
        raise ConfigError(
            "config.offline_data(output=...)", expected="a folder", found=config.output
        )
    if config.output_write_method == "write_msgpack":
        return EpisodeWriter(config.output)
    write = write_episode_file if config.output_write_episodes else write_row_file
    return EpisodeParquetWriter(config.output, config.env, config.output_max_rows_per_file, write)


def synchronous_parallel_sample(
    *,
    worker_set: EnvRunnerGroup,
    max_agent_steps: int | None = None,
    max_env_steps: int | None = None,
    concat: bool = True,
    sample_timeout_s: float | None = None,
    random_actions: bool = False,
    _uses_new_env_runners: bool = True,
    _return_metrics: bool = False,
) -> Any:
    """Let all runners sample, again and again until there are enough steps.

    Args:
        worker_set: The runners.
        max_agent_steps: Enough, in steps of agents.
        max_env_steps: Enough, in steps of environments; without either, once is enough.
        concat: Whether episodes come in one list instead of one for each runner's sample.
        sample_timeout_s: How long remote runners may take.
        random_actions: Whether actions are drawn from the action spaces.
        _uses_new_env_runners: Kept for RLlib's sake; there are no others.
        _return_metrics: Whether to give the runners' metrics, too; else they stay with a runner
            of this process.

    Returns:
        Episodes; with metrics, a pair of episodes and a list of metrics.
    """
    by_agent = max_agent_steps is not None
    enough = (max_agent_steps if by_agent else max_env_steps) or 0
    given = {"random_actions": True} if random_actions else {}
    lists: list[list[Any]] = []
    metrics: list[Any] = []
    states: list[Any] = []
    steps = 0
    while True:
        samples = worker_set.sample(
            timeout_s=sample_timeout_s, has_metrics=_return_metrics, **given
        )
        for sample in samples:
            lists.append(sample.episodes)
            metrics.append(sample.metrics)
            states.append(sample.connector_state)
            steps += sum(
                each.agent_steps() if by_agent else each.env_steps() for each in sample.episodes
            )
        # Where nothing came, all are lost or late: the caller goes on with what there is.
        worker_set.sync_env_runner_states(connector_states=states)
        states = []
        if steps >= enough or not samples:
            break
    episodes = [episode for each in lists for episode in each] if concat else lists
    return (episodes, metrics) if _return_metrics else episodes
