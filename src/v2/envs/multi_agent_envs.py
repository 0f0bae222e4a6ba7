"""Several multi-agent environments stepped together, in this process."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import gymnasium as gym
import numpy as np
from typing_extensions import override

from ...core.errors import ConfigError
from ...core.text.visible import visible
from ..episodes.errors import MultiAgentEnvError
from .context import EnvContext
from .multi_agent_env import spaces_by_agent
from .registry import env_creator_of
from .restarting_env import EnvMaker
from .sub_envs import SubEnvs
from .vector_stepper import Seeds
from .vectorising import env_contexts, mode_of

ALL: Final = "__all__"
_NEEDED: Final = ("reset", "step", "get_observation_space", "get_action_space", "possible_agents")
_RETURNED: Final = ("observations", "rewards", "terminateds", "truncateds", "infos")
_DICTS: Final = [dict] * len(_RETURNED)


class AgentTransitions(NamedTuple):
    """One step of all environments, a dict by agent for each.

    An environment that was reset has no rewards and flags. `failed` holds what went wrong with
    environments that raised: no step was made there, their episode is over, and the observations
    are the first of the next one.
    """

    observations: list[dict[Any, Any]]
    rewards: list[Mapping[Any, Any]]
    terminateds: list[Mapping[Any, Any]]
    truncateds: list[Mapping[Any, Any]]
    infos: list[Mapping[Any, Any]]
    failed: dict[int, str]

    def is_over(self, index: int) -> bool:
        """Return True unless the environment sets `"__all__"` to False."""
        flags = self.terminateds[index], self.truncateds[index]
        given = [each[ALL] for each in flags if ALL in each]
        return any(given) or not given


_TRIAL_SEED: Final = 42


class MultiAgentEnvs(SubEnvs, gym.vector.VectorEnv):
    """Multi-agent environments; one that raises is made anew, if so wished.

    Observations and infos are copied, as an environment may change in place what it returned.

    Args:
        makers: Make one environment each.
        is_restarting: Whether an environment that raises is made anew; else it is an error.

    Attributes:
        envs: The environments.
        single_observation_space: A Dict of spaces by agent, those of the first environment.
        single_action_space: The same for actions.
    """

    observation_space: Any = None
    action_space: Any = None

    def __init__(self, makers: Sequence[EnvMaker], *, is_restarting: bool = False) -> None:
        self.envs: list[Any] = [make() for make in makers]
        self.num_envs = len(self.envs)
        first = self.envs[0]
        observation_spaces, action_spaces = spaces_by_agent(first)
        self.single_observation_space = gym.spaces.Dict(observation_spaces)
        self.single_action_space = gym.spaces.Dict(action_spaces)
        self.metadata = {**(first.metadata or {}), "autoreset_mode": "next_step"}
        self.render_mode = getattr(first, "render_mode", None)
        self._set_up(makers, is_restarting=is_restarting)

    def try_out(self) -> None:
        """Reset each environment and step it once, so that mistakes show before sampling.

        As RLlib does, with its seed: environments that count their episodes begin at the second,
        those that draw on without a seed draw on from here.
        """
        for index in range(self.num_envs):
            observations = self._begun(index, seed=_TRIAL_SEED, options={})[0]
            _, spaces = spaces_by_agent(self.envs[index])
            actions = {agent: spaces[agent].sample() for agent in observations if agent in spaces}
            try:
                returned = self.envs[index].step(actions)
            except Exception as error:
                self._replace(index, "step()", error)
                continue
            _five(index, returned)

    @override
    def reset_all(
        self, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        resets = [
            self._begun(index, seed=env_seed, options=options)
            for index, env_seed in enumerate(self._begin(seed))
        ]
        return [row[0] for row in resets], [row[-1] for row in resets]

    @override
    def advance(
        self, actions: Sequence[Mapping[Any, Any] | None], *, copies: bool = True
    ) -> AgentTransitions:
        """Step the environments.

        Args:
            actions: A dict by agent for each; None resets an environment instead.
            copies: Whether to copy observations of steps; else they are good until the next step.
        """
        failed: dict[int, str] = {}
        self._failed = failed
        rows = []
        for index, action in enumerate(actions):
            if action is None:
                rows.append(self._begun(index))
                failed.pop(index, None)  # No episode was lost.
                continue
            try:
                returned = self.envs[index].step(action)
            except Exception as error:
                self._replace(index, "step()", error)
                rows.append(self._begun(index, seed=self._fresh_seed()))
                continue
            observations, rewards, terminateds, truncateds, infos = _five(index, returned)
            kept = copied(observations) if copies else observations
            rows.append((kept, rewards, terminateds, truncateds, infos or {}))
        observed, earned, over, cut, all_infos = map(list, zip(*rows, strict=True))
        return AgentTransitions(observed, earned, over, cut, all_infos, failed)

    def _begun(self, index: int, **given: Any) -> tuple[Any, ...]:
        """What the first step of an episode amounts to."""
        observations, infos = self._try_resets(index, self._reset_one, **given)
        if not isinstance(observations, Mapping):
            raise _not_by_agent(index, "reset()", "observations", observations)
        return copied(observations), {}, {}, {}, dict(infos or {})

    # As gymnasium has it, with lists of dicts by agent in place of arrays

    @override
    def reset(  # type: ignore[override]  # lists, not arrays
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """Reset all environments; see `reset_all`."""
        return self.reset_all(seed, options)

    @override
    def step(  # type: ignore[override]  # lists, not arrays
        self, actions: Sequence[Mapping[Any, Any]]
    ) -> tuple[list[Any], list[Any], list[Any], list[Any], list[Any]]:
        """Step all environments; those whose episode has ended are reset instead."""
        each = zip(actions, self._ended, strict=True)
        transitions = self.advance([None if is_over else action for action, is_over in each])
        flags = zip(transitions.terminateds, transitions.truncateds, strict=True)
        self._ended = [bool(over.get(ALL) or cut.get(ALL)) for over, cut in flags]
        return transitions[:5]

    @override
    def close_extras(self, **kwargs: Any) -> None:
        for env in self.envs:
            env.close()


def make_multi_agent_envs(
    config: Any, worker_index: int = 0, num_workers: int = 0
) -> tuple[MultiAgentEnvs, EnvContext]:
    """Make the multi-agent environments of one runner.

    Raises:
        ConfigError: No environment is named, or none of this kind.
    """
    contexts = env_contexts(config, worker_index, num_workers)
    if mode_of(config.gym_env_vectorize_mode) != "sync":
        raise ConfigError(
            "gym_env_vectorize_mode of a multi-agent config",
            expected="'sync'",
            found=repr(config.gym_env_vectorize_mode),
            hint="use several env runners to step environments side by side.",
        )
    creator = env_creator_of(config.env)
    makers = [lambda context=context: _checked(creator(context)) for context in contexts]
    is_restarting = bool(config.restart_failed_sub_environments)
    return MultiAgentEnvs(makers, is_restarting=is_restarting), contexts[0]


def _checked(env: Any) -> Any:
    inner = getattr(env, "unwrapped", env)
    missing = [name for name in _NEEDED if not hasattr(inner, name)]
    if missing:
        raise ConfigError(
            "config.environment(...) made no multi-agent environment",
            expected="a MultiAgentEnv",
            found=f"{type(env).__name__} without {', '.join(missing)}",
            hint="derive it from MultiAgentEnv, or wrap it: make_multi_agent(), "
            "ParallelPettingZooEnv, PettingZooEnv.",
        )
    return env


def _five(index: int, returned: Any) -> Any:
    """What `step` returned, if it is five dicts by agent."""
    if type(returned) is tuple and [*map(type, returned)] == _DICTS:
        _check_rewards(index, returned[1])
        return returned
    if not isinstance(returned, (tuple, list)) or len(returned) != len(_RETURNED):
        raise MultiAgentEnvError(
            f"environment {index} returned something else from step()",
            expected=f"a tuple ({', '.join(_RETURNED)})",
            found=f"{len(returned)} values"
            if isinstance(returned, (tuple, list))
            else repr(returned),
            index=index,
        )
    for name, value in zip(_RETURNED, returned, strict=True):
        if type(value) is not dict and not isinstance(value, Mapping):
            if value is None and name == "infos":
                continue
            raise _not_by_agent(index, "step()", name, value)
    _check_rewards(index, returned[1])
    return returned


def _check_rewards(index: int, rewards: Mapping[Any, Any]) -> None:
    for agent, reward in rewards.items():
        try:
            float(reward)
        except (TypeError, ValueError):
            raise MultiAgentEnvError(
                f"environment {index} returned a reward of agent {agent!r} that is no number",
                expected="a number",
                found=visible(repr(reward), 100),
                hint="leave the agent out of the rewards, or return 0.0, if it earned nothing.",
                index=index,
                agent_id=agent,
            ) from None


def _not_by_agent(index: int, where: str, name: str, value: Any) -> MultiAgentEnvError:
    flags = " and '__all__'" if name.endswith("eds") else ""
    return MultiAgentEnvError(
        f"environment {index} returned {name} from {where} that are not by agent",
        expected=f"a dict by agent id{flags}",
        found=type(value).__name__,
        index=index,
    )


def copied(value: Any) -> Any:
    """An observation, or a dict of them, that nobody else holds."""
    kind = type(value)
    if kind is dict:
        return {
            key: item.copy() if type(item) is np.ndarray else copied(item)
            for key, item in value.items()
        }
    if kind is tuple:
        return tuple(map(copied, value))
    if kind in (int, float, bool, str) or isinstance(value, np.generic):
        return value
    return value.copy() if kind is np.ndarray else copy.deepcopy(value)
