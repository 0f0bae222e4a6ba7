"""Explorations that add noise to a deterministic, real-valued action and clip it to the space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium.spaces import Box, Space

from ..core.errors import ConfigError
from .exploration import ActionSource, Array, Choice, Exploration, no_logp
from .schedules import Schedule


class _ScaledNoise(Exploration):
    """Base: what to add is the subclass's; how much follows a schedule."""

    state_keys: ClassVar[tuple[str, ...]] = ("cur_scale", "last_timestep")

    def __init__(
        self, action_space: Space[Any], *, schedule: Schedule, random_timesteps: int = 1000
    ) -> None:
        if not isinstance(action_space, Box):
            raise ConfigError(
                f"{type(self).__name__} needs real-valued actions", found=str(action_space)
            )
        super().__init__(action_space, random_timesteps=random_timesteps)
        self.box: Final = action_space
        self.schedule: Final = schedule

    @property
    def cur_scale(self) -> float:
        """What the noise is multiplied by now."""
        return float(self.schedule.value(self.last_timestep))

    def _explore(self, source: ActionSource, rng: np.random.Generator) -> Choice:
        calm = source.deterministic()
        noisy = calm + self._noise(calm.shape, rng).astype(calm.dtype)
        return np.clip(noisy, self.box.low, self.box.high), no_logp(source)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        raise NotImplementedError(f"{type(self).__name__} does not define its noise.")


class GaussianNoise(_ScaledNoise):
    """Independent Gaussian noise of standard deviation `stddev` times the scale."""

    def __init__(self, action_space: Space[Any], *, stddev: float = 0.1, **settings: Any) -> None:
        super().__init__(action_space, **settings)
        self.stddev: Final = float(stddev)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.standard_normal(shape) * (self.stddev * self.cur_scale)


class OrnsteinUhlenbeckNoise(_ScaledNoise):
    """Noise that wanders: one state for the whole batch, drawn towards zero at every step."""

    state_keys = ("cur_scale", "last_timestep", "ou_state")

    def __init__(
        self,
        action_space: Space[Any],
        *,
        ou_theta: float = 0.15,
        ou_sigma: float = 0.2,
        ou_base_scale: float = 0.1,
        **settings: Any,
    ) -> None:
        super().__init__(action_space, **settings)
        self.ou_theta: Final = float(ou_theta)
        self.ou_sigma: Final = float(ou_sigma)
        self.ou_base_scale: Final = float(ou_base_scale)
        self.ou_state: Array = np.zeros(self.box.shape, np.float32)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        kick = self.ou_sigma * rng.standard_normal(self.ou_state.shape)
        self.ou_state = (self.ou_state - self.ou_theta * self.ou_state + kick).astype(np.float32)
        span = np.where(np.isfinite(self.box.high - self.box.low), self.box.high - self.box.low, 1)
        wander: Array = self.cur_scale * self.ou_base_scale * self.ou_state * span
        return wander

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; the wandering state with it."""
        super().set_state(state)
        if "ou_state" in state:
            self.ou_state = np.asarray(state["ou_state"], np.float32).reshape(self.box.shape)
