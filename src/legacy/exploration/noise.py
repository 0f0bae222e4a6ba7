"""Explorations that add noise to a deterministic, real-valued action and clip it to the space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium.spaces import Box, Space

from ...core.data.checked import real
from ...core.data.damage import at
from ...core.errors import ConfigError
from ...core.formulas.schedules import PiecewiseSchedule, Schedule, schedule_from
from ...core.types import Array
from .exploration import ActionSource, Choice, Exploration, no_logp, with_worker_schedule


class GaussianNoise(Exploration):
    """Independent Gaussian noise of standard deviation `stddev` times the scale.

    Args:
        action_space: A Box.
        random_timesteps: Before this timestep actions are random.
        stddev: Standard deviation before scaling.
        initial_scale: The scale at the start.
        final_scale: The scale after the decay.
        scale_timesteps: Duration of the decay.
        scale_schedule: The scale by timestep instead: a schedule, or what describes one.
        **settings: As of an `Exploration`.
    """

    state_keys: ClassVar[tuple[str, ...]] = ("cur_scale", "last_timestep")

    def __init__(
        self,
        action_space: Space[Any],
        *,
        random_timesteps: int = 1000,
        stddev: float = 0.1,
        initial_scale: float = 1.0,
        final_scale: float = 0.02,
        scale_timesteps: int = 10_000,
        scale_schedule: Any = None,
        **settings: Any,
    ) -> None:
        if not isinstance(action_space, Box):
            raise ConfigError(
                f"{type(self).__name__} needs real-valued actions", found=str(action_space)
            )
        super().__init__(action_space, **settings)
        self.box: Final = action_space
        self.random_timesteps = random_timesteps
        self.stddev: Final = float(stddev)
        ends = (
            (random_timesteps, initial_scale),
            (random_timesteps + scale_timesteps, final_scale),
        )
        self.scale_schedule: Final[Schedule] = (
            schedule_from(scale_schedule)
            if scale_schedule
            else PiecewiseSchedule(ends, outside_value=final_scale)
        )

    @property
    def cur_scale(self) -> float:
        """The current scale of the noise."""
        return float(self.scale_schedule.value(self.last_timestep))

    def _explore(self, source: ActionSource, rng: np.random.Generator) -> Choice:
        calm = source.deterministic()
        noisy = calm + self._noise(calm.shape, rng).astype(calm.dtype)
        return np.clip(noisy, self.box.low, self.box.high), no_logp(source)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.standard_normal(shape) * (self.stddev * self.cur_scale)


class OrnsteinUhlenbeckNoise(GaussianNoise):
    """Correlated noise: one state per batch, which is pulled to zero at every step."""

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

    @at()
    def set_state(self, state: Mapping[str, Any], sess: Any = None) -> None:
        """Restore a saved state, including the state of the noise."""
        super().set_state(state)
        if "ou_state" in state:
            with at("ou_state"):
                noise = real(state["ou_state"]).astype(np.float32)
                self.ou_state = noise.reshape(self.box.shape)


class PerWorkerGaussianNoise(GaussianNoise):
    """Gaussian noise of a fixed scale that each of several workers has its own of."""

    def __init__(self, action_space: Space[Any], **settings: Any) -> None:
        super().__init__(action_space, **with_worker_schedule("scale_schedule", settings))


class PerWorkerOrnsteinUhlenbeckNoise(OrnsteinUhlenbeckNoise):
    """Wandering noise of a fixed scale that each of several workers has its own of."""

    def __init__(self, action_space: Space[Any], **settings: Any) -> None:
        super().__init__(action_space, **with_worker_schedule("scale_schedule", settings))
