"""How much one call of `sample()` is to give."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.errors import ConfigError


class SampleSizeError(ConfigError, AssertionError):
    """Both a number of time steps and a number of episodes are asked for."""


class SampleSize(NamedTuple):
    """A number of time steps or a number of episodes; the other one is None."""

    timesteps: int | None
    episodes: int | None

    @classmethod
    def of(
        cls,
        config: Any,
        worker_index: int,
        num_envs: int,
        num_timesteps: int | None,
        num_episodes: int | None,
    ) -> SampleSize:
        """What is asked for; if nothing is, what the config says.

        Raises:
            SampleSizeError: Both are given.
        """
        if num_timesteps is not None and num_episodes is not None:
            raise SampleSizeError(
                "sample()",
                expected="num_timesteps or num_episodes",
                found=f"num_timesteps={num_timesteps} and num_episodes={num_episodes}",
            )
        if num_timesteps is not None or num_episodes is not None:
            return cls(num_timesteps, num_episodes)
        if config.batch_mode == "complete_episodes":
            return cls(None, num_envs)
        return cls(config.get_rollout_fragment_length(worker_index) * num_envs, None)

    @property
    def is_in_episodes(self) -> bool:
        """Whether whole episodes are asked for."""
        return self.episodes is not None

    def wants_more(self, steps: int, episodes: int) -> bool:
        """Whether so much is not enough."""
        if self.timesteps is not None:
            return steps < self.timesteps
        return self.episodes is not None and episodes < self.episodes
