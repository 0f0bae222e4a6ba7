"""What env runners count: steps and episodes, kept in plain numbers until they are asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple

from ..metrics import names

_OF_AGENTS: Final = ("agent_episode_return_mean", names.EPISODE_AGENT_RETURN_MEAN)
_OF_MODULES: Final = ("module_episode_return_mean", names.EPISODE_MODULE_RETURN_MEAN)
"""Two spellings each: RLlib's documents have one, its runners log the other."""


class EndedEpisode(NamedTuple):
    """What an episode came to, over all the calls that it lasted."""

    length: int
    total: float
    seconds: float
    by_agent: Mapping[Any, float]
    by_module: Mapping[Any, float]


class SampleCounts:
    """Counts what sampling gives, and logs it when somebody asks for metrics.

    Counting adds numbers, so it may be done once for a whole `sample()`.

    Args:
        window: Over how many of the last episodes means, smallest and largest values go; None for
            those since the last report.

    Attributes:
        env_steps: How many steps of environments were counted since the last report.
    """

    def __init__(self, window: int | None) -> None:
        self._window = window
        self._ended: list[EndedEpisode] = []
        self.env_steps = 0
        self._restarts = 0
        self._agent_steps: defaultdict[str, int] = defaultdict(int)
        self._module_steps: defaultdict[str, int] = defaultdict(int)
        self._seconds: dict[str | tuple[str, ...], list[float]] = {}

    def add_steps(
        self,
        env_steps: int,
        by_agent: Mapping[Hashable, int],
        by_module: Mapping[Hashable, int],
    ) -> None:
        """Count steps."""
        self.env_steps += env_steps
        for agent, steps in by_agent.items():
            self._agent_steps[str(agent)] += steps
        for module, steps in by_module.items():
            self._module_steps[str(module)] += steps

    def add_ended(self, episode: EndedEpisode) -> None:
        """Count an episode that is over."""
        self._ended.append(episode)

    def add_restarts(self, count: int) -> None:
        """Count environments that failed and were made anew."""
        self._restarts += count

    def add_seconds(self, key: str | tuple[str, ...], seconds: float) -> None:
        """Count a duration."""
        self._seconds.setdefault(key, []).append(seconds)

    def log_to(self, metrics: Any) -> None:
        """Log what was counted since the last time, by RLlib's keys."""
        ended, self._ended = self._ended, []
        self._log_sums(metrics, names.NUM_ENV_STEPS_SAMPLED, (), self.env_steps)
        self._log_sums(metrics, names.NUM_EPISODES, (), len(ended))
        for agent, steps in self._agent_steps.items():
            self._log_sums(metrics, names.NUM_AGENT_STEPS_SAMPLED, (agent,), steps)
        for module, steps in self._module_steps.items():
            self._log_sums(metrics, names.NUM_MODULE_STEPS_SAMPLED, (module,), steps)
        if self._restarts:
            self._log_sums(metrics, names.NUM_ENV_RESTARTS, (), self._restarts)
        self.env_steps = self._restarts = 0
        self._agent_steps.clear()
        self._module_steps.clear()
        for key, seconds in self._seconds.items():
            for each in seconds:
                metrics.log_value(key, each, reduce="ema")
        self._seconds.clear()
        for episode in ended:
            self._log_ended(metrics, episode)

    def _log_sums(self, metrics: Any, name: str, sub: tuple[str, ...], value: int) -> None:
        metrics.log_value((name, *sub), value, reduce="sum")
        metrics.log_value((f"{name}_lifetime", *sub), value, reduce="lifetime_sum")

    def _log_ended(self, metrics: Any, episode: EndedEpisode) -> None:
        window = self._window
        for name, value in (("episode_len", episode.length), ("episode_return", episode.total)):
            metrics.log_value(f"{name}_mean", value, reduce="mean", window=window)
            metrics.log_value(f"{name}_min", value, reduce="min", window=window)
            metrics.log_value(f"{name}_max", value, reduce="max", window=window)
        # What RLlib 2.60 in effect tells as the mean.
        metrics.log_value(names.EPISODE_RETURN_MEAN_THIS_ITER, episode.total, reduce="mean")
        metrics.log_value(
            names.EPISODE_DURATION_SEC_MEAN, episode.seconds, reduce="mean", window=window
        )
        for spellings, returns in (
            (_OF_AGENTS, episode.by_agent),
            (_OF_MODULES, episode.by_module),
        ):
            for owner, value in returns.items():
                for name in spellings:
                    metrics.log_value((name, str(owner)), value, reduce="mean", window=window)
