"""Vectors of multi-agent environments that others made: many games in one simulator, for instance.

A vector's `reset` and `step` give lists with a dict by agent for each environment. One whose
episode ended (`"__all__"`) is reset by the next `step`, which gives no rewards for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ...core.errors import ConfigError
from .multi_agent_envs import AgentTransitions, MultiAgentEnvs, copied
from .restarting_env import EnvMaker
from .vector_stepper import Seeds

_NEEDED = ("num_envs", "single_observation_space", "single_action_space", "reset", "step")


class VectorMultiAgentEnv(gym.vector.VectorEnv):
    """A base for vectors of one's own: a subclass has `num_envs`, spaces, `reset` and `step`.

    Attributes:
        envs: The environments, where there are single ones.
        single_observation_space: A Dict of spaces by agent.
        single_action_space: The same for actions.
    """

    envs: Any = None
    observation_space: Any = None
    action_space: Any = None
    single_observation_spaces: Mapping[Any, gym.Space[Any]] | None = None
    single_action_spaces: Mapping[Any, gym.Space[Any]] | None = None

    def __init__(self) -> None:
        """Nothing to give: gymnasium 0.29's own wants what a subclass sets by itself."""


class SyncVectorMultiAgentEnv(MultiAgentEnvs):
    """Environments stepped one after the other.

    Args:
        env_fns: Make one environment each.
        copy: Kept for RLlib's sake; observations are copied where they have to be.
        autoreset_mode: Only "next_step".

    Raises:
        ConfigError: Another mode is asked for.
    """

    def __init__(
        self,
        env_fns: Sequence[EnvMaker] | Any,
        copy: bool = True,
        autoreset_mode: str = "next_step",
    ) -> None:
        mode = getattr(autoreset_mode, "value", autoreset_mode)
        if str(mode).lower() not in ("next_step", "nextstep"):
            raise ConfigError("autoreset_mode", expected="'next_step'", found=repr(mode))
        super().__init__(list(env_fns))


class ForeignAgentEnvs:
    """Steps any vector of multi-agent environments.

    Raises:
        ConfigError: It is none.
    """

    num_restarts = 0

    def __init__(self, vector_env: Any) -> None:
        missing = [name for name in _NEEDED if not hasattr(vector_env, name)]
        if missing:
            raise ConfigError(
                "make_env() put something else into `self.env`",
                expected="a vector of multi-agent environments",
                found=f"{type(vector_env).__name__} without {', '.join(missing)}",
                hint="SyncVectorMultiAgentEnv([lambda: env]) makes one of environments.",
            )
        self.vector_env = vector_env

    def reset_all(
        self, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """Reset all environments; see `MultiAgentEnvs.reset_all`."""
        observations, infos = self.vector_env.reset(seed=seed, options=options)
        return [*map(copied, observations)], [dict(each or {}) for each in infos]

    def advance(
        self, actions: Sequence[Mapping[Any, Any] | None], *, copies: bool = True
    ) -> AgentTransitions:
        """Step all environments; see `MultiAgentEnvs.advance`."""
        returned = self.vector_env.step([{} if action is None else action for action in actions])
        observations, rewards, terminateds, truncateds, infos = map(list, returned)
        kept_observations = [*map(copied, observations)] if copies else observations
        all_infos = [each or {} for each in infos]
        return AgentTransitions(kept_observations, rewards, terminateds, truncateds, all_infos, {})
