"""The episode of one agent: observations, actions, rewards, infos and outputs by time step."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from operator import attrgetter
from time import perf_counter
from typing import Any, Final, Literal, TypeVar

import gymnasium as gym
from typing_extensions import Self, override

from ...core.data.damage import at
from ...core.errors import EpisodeError
from ...core.types import Nest
from . import stretches
from .episode import Episode
from .episode_state import columns_of, pickle_of, restore_pickle, restore_state, state_of
from .errors import EpisodeKeyError
from .indexing import Indices, Steps
from .lookback_buffer import InfiniteLookbackBuffer
from .space_state import REWARD_SPACE
from .stepping import add_carefully, begin_outputs

_Episode = TypeVar("_Episode", bound="SingleAgentEpisode")

_NONE: Final[Mapping[str, Any]] = {}
_COLUMNS: Final = {
    "observations": attrgetter("observations"),
    "actions": attrgetter("actions"),
    "rewards": attrgetter("rewards"),
    "infos": attrgetter("infos"),
}


class SingleAgentEpisode(Episode):
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

    __slots__ = (
        "actions",
        "agent_id",
        "custom_data",
        "extra_model_outputs",
        "id_",
        "infos",
        "is_terminated",
        "is_truncated",
        "last_step_time",
        "module_id",
        "multi_agent_episode_id",
        "observations",
        "rewards",
        "spaces",
        "start_time",
        "t",
        "t_started",
    )

    t: int
    t_started: int
    spaces: tuple[gym.Space[Any] | None, gym.Space[Any] | None]
    observations: InfiniteLookbackBuffer
    actions: InfiniteLookbackBuffer
    rewards: InfiniteLookbackBuffer
    infos: InfiniteLookbackBuffer
    extra_model_outputs: dict[str, InfiniteLookbackBuffer]

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
        self.spaces = observation_space, action_space
        reward_buffer = _as_buffer(rewards, 0, REWARD_SPACE)
        if isinstance(rewards, InfiniteLookbackBuffer):
            lookback = rewards.lookback
        else:
            steps = reward_buffer.len_incl_lookback()
            lookback = steps if len_lookback_buffer == "auto" else min(len_lookback_buffer, steps)
            reward_buffer.lookback = lookback
        self.rewards = reward_buffer
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
        return self.spaces[0]

    @observation_space.setter
    def observation_space(self, value: gym.Space[Any] | None) -> None:
        self.spaces = value, self.spaces[1]
        self.observations.space = value

    @property
    def action_space(self) -> gym.Space[Any] | None:
        """The space of the actions, if known."""
        return self.spaces[1]

    @action_space.setter
    def action_space(self, value: gym.Space[Any] | None) -> None:
        self.spaces = self.spaces[0], value
        self.actions.space = value

    # Growing

    def add_env_reset(self, observation: Any, infos: dict[Any, Any] | None = None) -> None:
        """Add the first observation.

        Args:
            observation: What the environment's `reset` returned.
            infos: The infos it returned.

        Raises:
            EpisodeError: There is a first observation already.
        """
        if self.is_done or self.is_reset:
            raise EpisodeError(
                f"episode {self.id_} cannot be reset: it has a first observation",
                hint="a new episode of the environment is a new SingleAgentEpisode.",
            )
        self.observations.append(observation)
        self.infos.append({} if infos is None else infos)
        self.start_time = perf_counter()

    def add_env_step(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        infos: dict[Any, Any] | None = None,
        *,
        terminated: bool = False,
        truncated: bool = False,
        extra_model_outputs: Mapping[str, Any] | None = None,
    ) -> None:
        """Add one step.

        Args:
            observation: What the environment returned for the action.
            action: The action that was sent.
            reward: What it earned.
            infos: The infos that came with the observation.
            terminated: Whether this ended the episode.
            truncated: Whether the episode is cut off here.
            extra_model_outputs: What the module returned besides the action; the same keys in
                every step.

        Raises:
            EpisodeError: The episode is done or not reset, or its model outputs are others.
        """
        if self.is_terminated or self.is_truncated:
            raise EpisodeError(
                f"episode {self.id_} is already done: no step can be added",
                hint="a new episode of the environment is a new SingleAgentEpisode.",
            )
        step_outputs = extra_model_outputs or _NONE
        outputs = self.extra_model_outputs
        earned = self.rewards.raw
        steps = len(earned)
        if not steps or len(step_outputs) != len(outputs):
            begin_outputs(self, step_outputs, steps)
        # Almost always all columns are lists. Where one is not, what was added already is taken
        # back and the columns add for themselves.
        try:
            for key, value in step_outputs.items():
                outputs[key].raw.append(value)
            self.observations.raw.append(observation)
            self.actions.raw.append(action)
            self.infos.raw.append({} if infos is None else infos)
            earned.append(reward)
        except (KeyError, AttributeError):
            add_carefully(self, observation, action, reward, infos, step_outputs, steps)
        self.t += 1
        self.is_terminated = terminated
        self.is_truncated = truncated
        self.last_step_time = perf_counter()

    # Reading

    def get_observations(
        self,
        indices: Indices = None,
        *,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        one_hot_discrete: bool = False,
    ) -> Nest:
        """Observations at some steps; there is one more than there are actions.

        Args:
            indices: One step, a list of steps, a slice, or None for all of the episode.
            neg_index_as_lookback: Whether -1 is the last step of look-back instead of the last one.
            fill: Stands for steps that do not exist.
            one_hot_discrete: Whether Discrete and MultiDiscrete parts come as one-hot vectors.

        Returns:
            One observation, or many: as a list, or in arrays once the episode is numpy.
        """
        return self.observations.read(indices, neg_index_as_lookback, fill, one_hot_discrete)

    def get_infos(
        self,
        indices: Indices = None,
        *,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
    ) -> Nest:
        """Infos at some steps, one with each observation; never arrays."""
        return self.infos.read(indices, neg_index_as_lookback, fill, False)

    def get_actions(
        self,
        indices: Indices = None,
        *,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        one_hot_discrete: bool = False,
    ) -> Nest:
        """Actions at some steps; step 0 is the answer to observation 0."""
        return self.actions.read(indices, neg_index_as_lookback, fill, one_hot_discrete)

    def get_rewards(
        self,
        indices: Indices = None,
        *,
        neg_index_as_lookback: bool = False,
        fill: float | None = None,
    ) -> Nest:
        """Rewards at some steps; step 0 is what action 0 earned."""
        return self.rewards.read(indices, neg_index_as_lookback, fill, False)

    def get_extra_model_outputs(
        self,
        key: str,
        indices: Indices = None,
        *,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
    ) -> Nest:
        """One of the module's outputs besides the action, at some steps.

        Raises:
            EpisodeKeyError: There is no such output.
        """
        return self.column("extra_model_outputs", key).read(
            indices, neg_index_as_lookback, fill, False
        )

    @override
    def overwrite(
        self, name: str, key: str | None, new_data: Any, at_indices: Indices, neg: bool
    ) -> None:
        column = self.column(name, key)
        column.set(new_data, at_indices=at_indices, neg_index_as_lookback=neg)

    def column(self, name: str, key: str | None = None) -> InfiniteLookbackBuffer:
        """One of the four columns that every episode has, or that of an extra model output.

        Raises:
            EpisodeKeyError: There is no such output.
        """
        if key is None:
            column: InfiniteLookbackBuffer = _COLUMNS[name](self)
            return column
        try:
            return self.extra_model_outputs[key]
        except KeyError:
            raise EpisodeKeyError(
                f"episode {self.id_} has no extra model output {key!r}",
                expected=f"one of {sorted(map(str, self.extra_model_outputs))}",
                hint="modules write outputs by returning them from their forward methods.",
            ) from None

    # What it is

    @property
    def is_reset(self) -> bool:
        """Whether there is a first observation."""
        return self.observations.len_incl_lookback() > 0

    @property
    def is_numpy(self) -> bool:
        """Whether its steps are arrays; False as long as there is no step."""
        return self.rewards.finalized

    def __len__(self) -> int:
        return self.t - self.t_started

    def agent_steps(self) -> int:
        """How many steps it has."""
        return len(self)

    def get_return(self) -> float:
        """The sum of its rewards, without look-back."""
        rewards = self.get_rewards()
        return sum(rewards) if isinstance(rewards, list) else rewards.sum().item()

    def validate(self) -> None:
        """Check that all columns belong to the same steps.

        Raises:
            EpisodeError: One is longer or shorter than the others.
        """
        stretches.expect_whole(self)

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

    @override
    def cut(self, len_lookback_buffer: int = 0) -> Self:
        return stretches.successor(self, len_lookback_buffer)

    @override
    def concat_episode(self, other: SingleAgentEpisode) -> None:
        stretches.append_successor(self, other)

    @override
    def slice(self, slice_: Steps, *, len_lookback_buffer: int | None = None) -> Self:
        return stretches.stretch(self, slice_, len_lookback_buffer)

    # As data

    def get_data_dict(self) -> dict[str, Any]:
        """All steps by column name, with done flags, time and id; without look-back."""
        return columns_of(self)

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

    def _repr_html_(self) -> str:
        from ...core.pages.figure import columns_html

        return columns_html(repr(self), {"": self.get_data_dict()})


def empty_episode(kind: type[_Episode]) -> _Episode:
    """An episode without any attribute, to be filled."""
    return kind.__new__(kind)


def _as_buffer(values: Any, lookback: int, space: gym.Space[Any] | None) -> InfiniteLookbackBuffer:
    if isinstance(values, InfiniteLookbackBuffer):
        return values
    if isinstance(values, list):
        values = values.copy()
    return InfiniteLookbackBuffer(values, lookback, space)
