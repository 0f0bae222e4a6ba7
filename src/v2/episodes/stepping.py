"""How a single-agent episode grows: the first observation, then one step a call."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

from ...core.errors import EpisodeError
from .lookback_buffer import InfiniteLookbackBuffer
from .step_access import StepAccess

_NONE: Final[Mapping[str, Any]] = {}


class Stepping(StepAccess):
    """Reset and steps of `SingleAgentEpisode`: an item more in each column."""

    __slots__ = ()

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
        # The same as `append_step`, in place: one call less is a tenth of the time.
        given = extra_model_outputs or _NONE
        outputs = self.extra_model_outputs
        earned = self.rewards.raw
        steps = len(earned)
        if not steps or len(given) != len(outputs):
            self.begin_outputs(given, steps)
        # Almost always all columns are lists. Where one is not, what was added already is taken
        # back and the columns add for themselves.
        try:
            for key, value in given.items():
                outputs[key].raw.append(value)
            self.observations.raw.append(observation)
            self.actions.raw.append(action)
            self.infos.raw.append({} if infos is None else infos)
            earned.append(reward)
        except (KeyError, AttributeError):
            self._add_carefully(observation, action, reward, infos, given, steps)
        self.t += 1
        self.is_terminated = terminated
        self.is_truncated = truncated
        self.last_step_time = perf_counter()

    def append_step(
        self, observation: Any, action: Any, reward: Any, infos: Any, given: Mapping[str, Any]
    ) -> None:
        """Add one item to each column; flags and times are the caller's."""
        outputs = self.extra_model_outputs
        earned = self.rewards.raw
        steps = len(earned)
        if not steps or len(given) != len(outputs):
            self.begin_outputs(given, steps)
        # Almost always all columns are lists. Where one is not, what was added already is taken
        # back and the columns add for themselves.
        try:
            for key, value in given.items():
                outputs[key].raw.append(value)
            self.observations.raw.append(observation)
            self.actions.raw.append(action)
            self.infos.raw.append({} if infos is None else infos)
            earned.append(reward)
        except (KeyError, AttributeError):
            self._add_carefully(observation, action, reward, infos, given, steps)
        self.t += 1

    def begin_outputs(self, given: Mapping[str, Any], steps: int) -> None:
        """Before the first step: begin the columns of its outputs. Later outputs must be those."""
        outputs = self.extra_model_outputs
        if steps:
            raise EpisodeError(
                f"episode {self.id_} needs the same extra model outputs in every step",
                expected=f"{sorted(map(str, outputs))}",
                found=f"{sorted(map(str, given))}",
                hint="an output must be there from the first step on; start a new episode.",
            )
        if not self.is_reset:
            raise EpisodeError(
                f"episode {self.id_} has no first observation",
                hint="call add_env_reset() before add_env_step().",
            )
        if given.keys() != outputs.keys():
            outputs.clear()
            outputs.update({key: InfiniteLookbackBuffer() for key in given})

    def _add_carefully(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        infos: dict[Any, Any] | None,
        given: Mapping[str, Any],
        steps: int,
    ) -> None:
        """Add a step to columns of any form; an error leaves all of them as they were."""
        outputs = self.extra_model_outputs
        items = [
            (self.observations, steps + 1, observation),
            (self.actions, steps, action),
            (self.rewards, steps, reward),
            (self.infos, steps + 1, {} if infos is None else infos),
            *((column, steps, given.get(key)) for key, column in outputs.items()),
        ]

        def take_back() -> None:
            for column, count, _ in items:
                while column.len_incl_lookback() > count:
                    column.pop()

        take_back()
        if given.keys() != outputs.keys():
            self.begin_outputs(given, steps)
        try:
            for column, _, item in items:
                column.append(item)
        except EpisodeError:
            take_back()
            raise
