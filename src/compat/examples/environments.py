"""Small environments that scripts try things on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv, PendulumEnv
from gymnasium.spaces import Box, Dict, Discrete

from ...core.errors import ConfigError, SpaceError
from ...v2 import make_multi_agent

Config = Mapping[str, Any] | None


class RandomEnv(gym.Env[Any, Any]):
    """Gives observations, rewards and ends at random.

    Args:
        config: "observation_space", "action_space", "reward_space"; "p_terminated" (0.1),
            "max_episode_len"; "static_samples" repeats one draw, "check_action_bounds" refuses
            actions outside of the space.

    Example:
        >>> env = RandomEnv({"p_terminated": 0.0, "max_episode_len": 2})
        >>> _ = env.reset(seed=0)
        >>> [env.step(0)[3] for _ in range(2)]
        [False, True]
    """

    def __init__(self, config: Config = None) -> None:
        settings = config or {}
        self.action_space = settings.get("action_space", Discrete(2))
        self.observation_space = settings.get("observation_space", Discrete(2))
        self.reward_space = settings.get("reward_space", Box(-1.0, 1.0, (), np.float32))
        self.p_terminated = settings.get("p_terminated", settings.get("p_done", 0.1))
        self.max_episode_len = settings.get("max_episode_len")
        self.check_action_bounds = settings.get("check_action_bounds", False)
        self.static_samples = settings.get("static_samples", False)
        self._kept: dict[int, Any] = {}
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.steps = 0
        return self._draw(self.observation_space), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Make a step, whatever the action.

        Raises:
            SpaceError: It lies outside of the space, and that is checked.
        """
        if self.check_action_bounds and not self.action_space.contains(action):
            raise SpaceError(f"Illegal action for {self.action_space}: {action}")
        self.steps += 1
        is_cut = self.max_episode_len is not None and self.steps >= self.max_episode_len
        is_over = bool(self.np_random.random() < self.p_terminated)
        obs, reward = self._draw(self.observation_space), self._draw(self.reward_space)
        return obs, reward, is_over, is_cut, {}

    def _draw(self, space: gym.Space[Any]) -> Any:
        if not self.static_samples:
            return space.sample()
        return self._kept.setdefault(id(space), space.sample())


class ActionMaskEnv(RandomEnv):
    """Gives a mask of the actions it takes beside its observation, and refuses the others.

    Args:
        config: As `RandomEnv`'s.
    """

    def __init__(self, config: Config = None) -> None:
        super().__init__({"action_space": Discrete(2), **(config or {})})
        actions: Any = self.action_space
        mask = Box(0.0, 1.0, (int(actions.n),))
        self.observation_space = Dict({"action_mask": mask, "observations": self.observation_space})
        self.valid_actions = np.ones(mask.shape, np.float32)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Make a step.

        Raises:
            SpaceError: The mask forbids the action.
        """
        if not self.valid_actions[action]:
            raise SpaceError(
                f"Invalid action ({action}) sent to env! valid_actions={self.valid_actions}"
            )
        return super().step(action)

    def _draw(self, space: gym.Space[Any]) -> Any:
        drawn = super()._draw(space)
        if space is self.observation_space:
            count = len(self.valid_actions)
            mask = self.np_random.integers(0, 2, count).astype(np.float32)
            mask[self.np_random.integers(count)] = 1.0  # One of them is always allowed.
            self.valid_actions = drawn["action_mask"] = mask
        return drawn


class StatelessCartPole(CartPoleEnv):
    """CartPole without its velocities: one observation does not tell what to do."""

    def __init__(self, config: Config = None) -> None:
        super().__init__()
        full_space: Any = self.observation_space
        self.observation_space = Box(
            full_space.low[[0, 2]], full_space.high[[0, 2]], dtype=np.float32
        )

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        obs, infos = super().reset(**options)
        return obs[[0, 2]], infos

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Push the cart."""
        step: Any = super().step(action)  # type: ignore[no-untyped-call]  # gymnasium has no types
        obs, *rest = step
        return (obs[[0, 2]], *rest)


class StatelessPendulum(PendulumEnv):
    """Pendulum without its angular velocity."""

    def __init__(self, config: Config = None) -> None:
        super().__init__()
        self.observation_space = Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        obs, infos = super().reset(**options)
        return obs[:-1], infos

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Turn the pendulum."""
        step: Any = super().step(action)  # type: ignore[no-untyped-call]  # gymnasium has no types
        obs, *rest = step
        return (obs[:-1], *rest)


class RepeatAfterMeEnv(gym.Env[Any, Any]):
    """Rewards repeating an earlier observation: memory is needed.

    Args:
        config: "repeat_delay" says how many steps earlier (1), "episode_len" how many
            observations an episode has, with the zeros before it (100), "continuous" that
            observations are points and not 0 or 1.

    Example:
        >>> env = RepeatAfterMeEnv({"repeat_delay": 0})
        >>> seen, _ = env.reset(seed=0)
        >>> env.step(seen)[1], env.step(1 - env.history[-1])[1]
        (1.0, -1.0)
    """

    def __init__(self, config: Config = None) -> None:
        settings = config or {}
        is_continuous = settings.get("continuous", False)
        space = Box(-1.0, 1.0, (2,)) if is_continuous else Discrete(2)
        self.observation_space: gym.Space[Any] = space
        self.action_space: gym.Space[Any] = space
        self.delay = settings.get("repeat_delay", 1)
        self.episode_len = settings.get("episode_len", 100)
        self.history: list[Any] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: what there is to repeat at first are zeros."""
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        is_discrete = isinstance(self.observation_space, Discrete)
        zero: Any = 0 if is_discrete else np.zeros(2, np.float32)
        self.history = [zero] * self.delay
        return self._next(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Be rewarded for the observation `delay` steps ago; points count by their distance."""
        delayed = self.history[-(1 + self.delay)]
        if isinstance(self.action_space, Discrete):
            reward = 1.0 if action == delayed else -1.0
        else:
            reward = -float(np.sum(np.abs(np.asarray(action) - delayed)))
        is_over = len(self.history) > self.episode_len
        return self._next(), reward, is_over, is_over, {}

    def _next(self) -> Any:
        self.history.append(self.observation_space.sample())
        return self.history[-1]


class SimpleCorridor(gym.Env[Any, Any]):
    """A corridor whose end has to be reached: 0 steps back, 1 forward.

    Args:
        config: "corridor_length" (10).

    Example:
        >>> env = SimpleCorridor({"corridor_length": 2})
        >>> _ = env.reset()
        >>> [env.step(1)[1:3] for _ in range(2)]
        [(-0.01, False), (1.0, True)]
    """

    def __init__(self, config: Config = None) -> None:
        self.action_space = Discrete(2)
        self.observation_space = Box(0.0, 999.0, (1,), np.float32)
        self.end_pos = (config or {}).get("corridor_length", 10)
        self._cur_pos = 0

    def set_corridor_length(self, length: int) -> None:
        """Make the corridor another length."""
        self.end_pos = length

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Go to the beginning."""
        super().reset(seed=seed)
        self._cur_pos = 0
        return np.array([0], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step.

        Raises:
            ConfigError: There is no such action.
        """
        if action not in (0, 1):
            raise ConfigError("SimpleCorridor.step()", expected="0 or 1", found=repr(action))
        self._cur_pos = max(0, self._cur_pos + (1 if action == 1 else -1))
        is_over = self._cur_pos >= self.end_pos
        return np.array([self._cur_pos], np.float32), 1.0 if is_over else -0.01, is_over, False, {}


MultiAgentCartPole: Final = make_multi_agent("CartPole-v1")
MultiAgentMountainCar: Final = make_multi_agent("MountainCarContinuous-v0")
MultiAgentPendulum: Final = make_multi_agent("Pendulum-v1")
MultiAgentStatelessCartPole: Final = make_multi_agent(StatelessCartPole)
