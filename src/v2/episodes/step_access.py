"""Reading and writing the steps of a single-agent episode."""

from __future__ import annotations

from typing import Any

from ...core.errors import EpisodeError
from ...core.types import Nest
from .custom_data import CustomData
from .errors import EpisodeKeyError
from .indexing import Indices
from .lookback_buffer import InfiniteLookbackBuffer


class StepAccess(CustomData):
    """The getters and setters of `SingleAgentEpisode`, over its buffers.

    All take the same arguments, by the rules of `InfiniteLookbackBuffer.get` and `set`.
    """

    __slots__ = (
        "_action_space",
        "_observation_space",
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
        "start_time",
        "t",
        "t_started",
    )

    id_: str
    t: int
    t_started: int
    is_terminated: bool
    is_truncated: bool
    observations: InfiniteLookbackBuffer
    actions: InfiniteLookbackBuffer
    rewards: InfiniteLookbackBuffer
    infos: InfiniteLookbackBuffer
    extra_model_outputs: dict[str, InfiniteLookbackBuffer]
    start_time: float | None
    last_step_time: float | None

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
        return self.output(key).read(indices, neg_index_as_lookback, fill, False)

    # Writing

    def set_observations(
        self, *, new_data: Any, at_indices: Indices = None, neg_index_as_lookback: bool = False
    ) -> None:
        """Overwrite observations.

        Args:
            new_data: One observation for one step; else a list, or arrays with a row per step.
            at_indices: One step, a list of steps, a slice, or None for all of the episode.
            neg_index_as_lookback: Whether -1 is the last step of look-back instead of the last one.

        Raises:
            EpisodeIndexError: A step does not exist, or the sizes differ.
        """
        self.observations.set(
            new_data, at_indices=at_indices, neg_index_as_lookback=neg_index_as_lookback
        )

    def set_actions(
        self, *, new_data: Any, at_indices: Indices = None, neg_index_as_lookback: bool = False
    ) -> None:
        """Overwrite actions."""
        self.actions.set(
            new_data, at_indices=at_indices, neg_index_as_lookback=neg_index_as_lookback
        )

    def set_rewards(
        self, *, new_data: Any, at_indices: Indices = None, neg_index_as_lookback: bool = False
    ) -> None:
        """Overwrite rewards."""
        self.rewards.set(
            new_data, at_indices=at_indices, neg_index_as_lookback=neg_index_as_lookback
        )

    def set_extra_model_outputs(
        self,
        *,
        key: str,
        new_data: Any,
        at_indices: Indices = None,
        neg_index_as_lookback: bool = False,
    ) -> None:
        """Overwrite one of the module's outputs besides the action."""
        self.output(key).set(
            new_data, at_indices=at_indices, neg_index_as_lookback=neg_index_as_lookback
        )

    def output(self, key: str) -> InfiniteLookbackBuffer:
        """The column of an extra model output.

        Raises:
            EpisodeKeyError: There is no such output.
        """
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
    def is_done(self) -> bool:
        """Whether it is over, by termination or by truncation."""
        return self.is_terminated or self.is_truncated

    @property
    def is_numpy(self) -> bool:
        """Whether its steps are arrays; False as long as there is no step."""
        return self.rewards.finalized

    def __len__(self) -> int:
        return self.t - self.t_started

    def env_steps(self) -> int:
        """How many steps it has."""
        return len(self)

    def agent_steps(self) -> int:
        """How many steps it has."""
        return len(self)

    def get_return(self) -> float:
        """The sum of its rewards, without look-back."""
        rewards = self.get_rewards()
        return sum(rewards) if isinstance(rewards, list) else rewards.sum().item()

    def get_duration_s(self) -> float:
        """Seconds from the reset to the last step."""
        if self.start_time is None or self.last_step_time is None:
            return 0.0
        return self.last_step_time - self.start_time

    def validate(self) -> None:
        """Check that all columns belong to the same steps.

        Raises:
            EpisodeError: One is longer or shorter than the others.
        """
        steps = self.rewards.len_incl_lookback()
        columns = {"actions": (self.actions, 0)}
        if steps or self.is_reset:
            columns |= {"observations": (self.observations, 1), "infos": (self.infos, 1)}
        columns |= {key: (buffer, 0) for key, buffer in self.extra_model_outputs.items()}
        for name, (buffer, more) in columns.items():
            found = buffer.len_incl_lookback()
            if found != steps + more:
                raise EpisodeError(
                    f"episode {self.id_}: {name} do not belong to its {steps} rewards",
                    expected=f"{steps + more} {name}",
                    found=str(found),
                    hint="an episode has one observation and info more than actions and rewards.",
                )
