"""The episode of one agent: observations, actions, rewards, infos and outputs by time step."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from time import perf_counter
from typing import Any, Literal, TypeVar

import gymnasium as gym
import numpy as np
from typing_extensions import Self, override

from ...core.data.damage import at
from . import stretches
from .episode_state import pickle_of, restore_pickle, restore_state, state_of
from .errors import EpisodeItemError
from .indexing import Steps
from .lookback_buffer import InfiniteLookbackBuffer
from .space_state import REWARD_SPACE
from .stepping import Stepping

_Episode = TypeVar("_Episode", bound="SingleAgentEpisode")


class SingleAgentEpisode(Stepping):
    """One agent's steps in an environment, or a stretch of them.

    There is one observation and info more than actions, rewards and extra model outputs. Steps
    before `t_started` are look-back: they are read with negative indices and belong to no one.

    Args:
        id_: Its id; a random one by default.
        observations: Those of steps already made, as a list or as arrays.
        observation_space: The space of one observation.
        infos: With each observation; empty ones by default.
        actions: One less than observations.
        action_space: The space of one action.
        rewards: As many as actions.
        terminated: Whether the last step ended the episode.
        truncated: Whether it was cut off after the last step.
        extra_model_outputs: What the module returned besides actions, as many as actions.
        t_started: The step of the whole episode at which this stretch starts.
        len_lookback_buffer: How many of the given steps are look-back; "auto" takes all of them.
        agent_id: The agent's id, in a multi-agent episode.
        module_id: The id of its module.
        multi_agent_episode_id: The id of the multi-agent episode it belongs to.

    Example:
        >>> episode = SingleAgentEpisode()
        >>> episode.add_env_reset(observation=0)
        >>> episode.add_env_step(observation=1, action=5, reward=0.5)
        >>> len(episode), episode.get_observations(), episode.get_actions(-1)
        (1, [0, 1], 5)
    """

    __slots__ = ()

    def __init__(
        self,
        id_: str | None = None,
        *,
        observations: Any = None,
        observation_space: gym.Space[Any] | None = None,
        infos: Any = None,
        actions: Any = None,
        action_space: gym.Space[Any] | None = None,
        rewards: Any = None,
        terminated: bool = False,
        truncated: bool = False,
        extra_model_outputs: Mapping[str, Any] | None = None,
        t_started: int | None = None,
        len_lookback_buffer: int | Literal["auto"] = "auto",
        agent_id: Hashable | None = None,
        module_id: str | None = None,
        multi_agent_episode_id: str | None = None,
    ) -> None:
        self.id_ = id_ or os.urandom(16).hex()
        self.agent_id = agent_id
        self.module_id = module_id
        self.multi_agent_episode_id = multi_agent_episode_id
        self._observation_space = observation_space
        self._action_space = action_space
        given = _as_buffer(rewards, 0, REWARD_SPACE)
        if isinstance(rewards, InfiniteLookbackBuffer):
            lookback = rewards.lookback
        else:
            steps = given.len_incl_lookback()
            lookback = steps if len_lookback_buffer == "auto" else min(len_lookback_buffer, steps)
            given.lookback = lookback
        self.rewards = given
        self.observations = _as_buffer(observations, lookback, observation_space)
        if infos is None:
            infos = [{} for _ in range(self.observations.len_incl_lookback())]
        self.infos = _as_buffer(infos, lookback, None)
        self.actions = _as_buffer(actions, lookback, action_space)
        self.extra_model_outputs = {
            key: _as_buffer(values, lookback, None)
            for key, values in (extra_model_outputs or {}).items()
        }
        self.is_terminated = terminated
        self.is_truncated = truncated
        self.t_started = t_started or 0
        self.t = self.t_started + len(self.rewards)
        self.custom_data = {}
        self.start_time = None
        self.last_step_time = None
        self.validate()

    @property
    def observation_space(self) -> gym.Space[Any] | None:
        """The space of the observations, if known."""
        return self._observation_space

    @observation_space.setter
    def observation_space(self, value: gym.Space[Any] | None) -> None:
        self._observation_space = self.observations.space = value

    @property
    def action_space(self) -> gym.Space[Any] | None:
        """The space of the actions, if known."""
        return self._action_space

    @action_space.setter
    def action_space(self, value: gym.Space[Any] | None) -> None:
        self._action_space = self.actions.space = value

    def hold_spaces(
        self, observations: gym.Space[Any] | None, actions: gym.Space[Any] | None
    ) -> None:
        """Have these spaces without telling the columns, which have some already."""
        self._observation_space, self._action_space = observations, actions

    def to_numpy(self) -> Self:
        """Turn its lists of items into arrays, in place; infos stay a list.

        As long as there is no step only observations are turned.

        Returns:
            The episode itself.
        """
        self.observations.finalize()
        if self.t > self.t_started:
            self.actions.finalize()
            self.rewards.finalize()
            for buffer in self.extra_model_outputs.values():
                buffer.finalize()
        return self

    # Taking apart and putting together

    def cut(self, len_lookback_buffer: int = 0) -> Self:
        """The episode that goes on where this one stops: same id, no step yet.

        Args:
            len_lookback_buffer: How many of the last steps it gets as look-back.

        Raises:
            EpisodeError: The episode is done.
        """
        return stretches.successor(self, len_lookback_buffer)

    def concat_episode(self, other: SingleAgentEpisode) -> None:
        """Append the steps of the episode that goes on where this one stops.

        Args:
            other: Comes from `cut()`; done flags and custom data are taken over from it.

        Raises:
            EpisodeError: It does not go on here: another id, time or joining observation.
        """
        stretches.append_successor(self, other)

    def slice(self, slice_: Steps, *, len_lookback_buffer: int | None = None) -> Self:
        """A stretch of the steps as an episode of its own; `episode[a:b]` does the same.

        Changing one of them never changes the other. Done flags stay if it reaches the end.

        Args:
            slice_: The steps; bounds beyond the episode are moved to its ends.
            len_lookback_buffer: How many steps before it it gets as look-back, if there are so
                many; by default as many as this episode has.

        Raises:
            EpisodeItemError: It has a step other than 1.
        """
        return stretches.stretch(self, slice_, len_lookback_buffer)

    def __getitem__(self, item: Steps) -> Self:
        if isinstance(item, slice):
            return self.slice(item)
        raise EpisodeItemError(
            f"a SingleAgentEpisode has no item {item!r}",
            expected="a slice: episode[a:b]",
            hint="get_observations(i), get_actions(i), ... return single steps.",
        )

    # As data

    def get_data_dict(self) -> dict[str, Any]:
        """All steps by column name, with done flags, time and id; without look-back."""
        steps = len(self)
        ends: dict[str, Any] = {
            "terminateds": [False] * (steps - 1) + [self.is_terminated] * (steps > 0),
            "truncateds": [False] * (steps - 1) + [self.is_truncated] * (steps > 0),
            "t": list(range(self.t_started, self.t)),
            "eps_id": [self.id_] * steps,
        }
        if self.is_numpy:
            ends = {key: np.array(values) for key, values in ends.items()}
        return {
            **ends,
            "obs": self.get_observations(slice(None, -1)) if self.is_reset else [],
            "infos": self.get_infos(slice(None, -1)) if self.is_reset else [],
            "actions": self.get_actions(),
            "rewards": self.get_rewards(),
            **{key: buffer.get() for key, buffer in self.extra_model_outputs.items()},
        }

    def get_state(self) -> dict[str, Any]:
        """All of it as plain data and arrays, by RLlib's names."""
        return state_of(self)

    @staticmethod
    @at()
    def from_state(state: Mapping[str, Any]) -> SingleAgentEpisode:
        """The episode that `get_state` described, RLlib's or ours."""
        episode = empty_episode(SingleAgentEpisode)
        restore_state(episode, state)
        return episode

    def __reduce__(self) -> Any:
        return empty_episode, (type(self),), pickle_of([self])

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        restore_pickle([self], *state)

    @override
    def __repr__(self) -> str:
        return (
            f"SAEps(len={len(self)} done={self.is_done} "
            f"R={self.get_return() if len(self) else 0} id_={self.id_})"
        )


def empty_episode(kind: type[_Episode]) -> _Episode:
    """An episode without any attribute, to be filled."""
    return kind.__new__(kind)


def first_stretch(
    agent_id: Hashable,
    observation: Any,
    infos: dict[Any, Any],
    observation_space: gym.Space[Any] | None,
    action_space: gym.Space[Any] | None,
    module_id: Any,
    multi_agent_episode_id: str,
) -> SingleAgentEpisode:
    """The episode of an agent that just observed for the first time; what a constructor and
    `add_env_reset()` make, without looking at what cannot be.
    """  # noqa: D205
    episode = empty_episode(SingleAgentEpisode)
    episode.id_ = os.urandom(16).hex()
    episode.agent_id = agent_id
    episode.module_id = module_id
    episode.multi_agent_episode_id = multi_agent_episode_id
    episode._observation_space = observation_space
    episode._action_space = action_space
    buffer = InfiniteLookbackBuffer.of_parts
    episode.observations = buffer([observation], 0, observation_space, False, False)
    episode.actions = buffer([], 0, action_space, False, False)
    episode.rewards = buffer([], 0, REWARD_SPACE, False, False)
    episode.infos = buffer([infos], 0, None, False, False)
    episode.extra_model_outputs = {}
    episode.is_terminated = episode.is_truncated = False
    episode.t_started = episode.t = 0
    episode.custom_data = {}
    episode.start_time = perf_counter()
    episode.last_step_time = None
    return episode


def _as_buffer(values: Any, lookback: int, space: gym.Space[Any] | None) -> InfiniteLookbackBuffer:
    if isinstance(values, InfiniteLookbackBuffer):
        return values
    if isinstance(values, list):
        values = values.copy()
    return InfiniteLookbackBuffer(values, lookback, space)
