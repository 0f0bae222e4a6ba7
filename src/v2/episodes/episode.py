"""What episodes of one agent and of many have in common."""

from __future__ import annotations

import abc
from typing import Any

from typing_extensions import Self

from ...core.errors import EpisodeError
from .errors import EpisodeItemError
from .indexing import Indices, Steps


class Episode(abc.ABC):
    """An id, an end, times, and what users keep with an episode.

    Attributes:
        id_: Its id.
        is_terminated: Whether the last step ended it.
        is_truncated: Whether it was cut off after the last step.
        start_time: When it was reset.
        last_step_time: When its last step was made.
        custom_data: Whatever users keep with the episode; it does not go into slices.
    """

    __slots__ = ()

    id_: str
    is_terminated: bool
    is_truncated: bool
    start_time: float | None
    last_step_time: float | None
    custom_data: dict[Any, Any]

    # Taking apart and putting together

    @abc.abstractmethod
    def cut(self, len_lookback_buffer: int = 0) -> Self:
        """The episode that goes on where this one stops: same ids, no step yet.

        What hangs of an agent goes on hanging in it.

        Args:
            len_lookback_buffer: How many of the last steps it gets as look-back.

        Raises:
            EpisodeError: The episode is done.
        """

    @abc.abstractmethod
    def concat_episode(self, other: Any) -> None:
        """Append the steps of the episode that goes on where this one stops.

        Args:
            other: Comes from `cut()`; done flags and custom data are taken over from it.

        Raises:
            EpisodeError: It does not go on here: another id, time or joining observation.
        """

    @abc.abstractmethod
    def slice(self, slice_: Steps, *, len_lookback_buffer: int | None = None) -> Self:
        """A stretch of the steps as an episode of its own; `episode[a:b]` does the same.

        Changing one of them never changes the other. Done flags stay if it reaches the end. In a
        multi-agent episode steps are those of the environment, and actions whose answer lies behind
        the end hang.

        Args:
            slice_: The steps; bounds beyond the episode are moved to its ends.
            len_lookback_buffer: How many steps before it it gets as look-back, if there are so
                many; by default as many as this episode has.

        Raises:
            EpisodeItemError: It has a step other than 1.
        """

    def __getitem__(self, item: Steps) -> Self:
        if isinstance(item, slice):
            return self.slice(item)
        raise EpisodeItemError(
            f"a {type(self).__name__} has no item {item!r}",
            expected="a slice: episode[a:b]",
            hint="get_observations(i), get_actions(i), ... return single steps.",
        )

    # Writing

    @abc.abstractmethod
    def overwrite(
        self, name: str, key: str | None, new_data: Any, at_indices: Indices, neg: bool
    ) -> None:
        """Overwrite a column; see `set_observations`.

        Args:
            name: Of the column.
            key: Of the extra model output, where it is one.
            new_data: What to write.
            at_indices: At which steps.
            neg: Whether -1 is the last step of look-back.
        """

    def set_observations(
        self, *, new_data: Any, at_indices: Indices = None, neg_index_as_lookback: bool = False
    ) -> None:
        """Overwrite observations.

        Args:
            new_data: One for one step; else a list, or arrays with a row per step. In a multi-agent
                episode a dict of these by agent.
            at_indices: One step, a list of steps, a slice, or None for all of the episode; in a
                multi-agent episode they are each agent's own.
            neg_index_as_lookback: Whether -1 is the last step of look-back instead of the last one.

        Raises:
            EpisodeKeyError: There is no such agent.
            EpisodeIndexError: A step does not exist, or the sizes differ.
        """
        self.overwrite("observations", None, new_data, at_indices, neg_index_as_lookback)

    def set_actions(
        self, *, new_data: Any, at_indices: Indices = None, neg_index_as_lookback: bool = False
    ) -> None:
        """Overwrite complete actions; see `set_observations`."""
        self.overwrite("actions", None, new_data, at_indices, neg_index_as_lookback)

    def set_rewards(
        self, *, new_data: Any, at_indices: Indices = None, neg_index_as_lookback: bool = False
    ) -> None:
        """Overwrite complete rewards; see `set_observations`."""
        self.overwrite("rewards", None, new_data, at_indices, neg_index_as_lookback)

    def set_extra_model_outputs(
        self,
        *,
        key: str,
        new_data: Any,
        at_indices: Indices = None,
        neg_index_as_lookback: bool = False,
    ) -> None:
        """Overwrite one of the module's outputs besides the action; see `set_observations`."""
        self.overwrite("extra_model_outputs", key, new_data, at_indices, neg_index_as_lookback)

    # What it is

    @abc.abstractmethod
    def __len__(self) -> int: ...

    def env_steps(self) -> int:
        """How many steps of the environment it has."""
        return len(self)

    @property
    def is_done(self) -> bool:
        """Whether it is over, by termination or by truncation."""
        return self.is_terminated or self.is_truncated

    def get_duration_s(self) -> float:
        """Seconds from the reset to the last step."""
        if self.start_time is None or self.last_step_time is None:
            return 0.0
        return self.last_step_time - self.start_time

    def add_temporary_timestep_data(self, *_: Any, **__: Any) -> None:
        """Gone from RLlib, as from here: raises an EpisodeError that names `custom_data`."""
        raise EpisodeError(
            "add_temporary_timestep_data() is gone",
            hint="keep such data in custom_data: episode.custom_data[key] = value.",
        )

    def get_temporary_timestep_data(self, *_: Any, **__: Any) -> None:
        """Gone from RLlib, as from here: raises an EpisodeError that names `custom_data`."""
        raise EpisodeError(
            "get_temporary_timestep_data() is gone",
            hint="keep such data in custom_data: episode.custom_data[key].",
        )
