"""Stretches of several episodes as columns, one stretch after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from typing_extensions import Self

from ...core import nest
from ...core.columns import Columns
from ...core.errors import EpisodeError
from ...core.types import Array, Nest
from .gather import concat_column
from .single_agent import SingleAgentEpisode
from .space_state import space_from_state, space_to_state

OUTPUT: Final = "output "
"""What the column of a module's output is called by, in front of its name."""

HAS: Final = "has "
"""In front of that: what the column of whether a step has it is called by."""


@dataclass(frozen=True, eq=False)
class EpisodeColumns:
    """Stretches of episodes, each with at least one step.

    Attributes:
        ids: The episode of each.
        started: At which step of it each begins.
        lens: How many steps each has.
        is_done: Whether the episode ends with it.
        settings: Spaces, and ids of agent and module.
        observations: One more than steps of each.
        columns: What each step has besides.
        infos: With each observation; None where all are empty.
    """

    ids: Sequence[str]
    started: Sequence[int]
    lens: Sequence[int]
    is_done: Sequence[bool]
    settings: Sequence[dict[str, Any]]
    observations: Nest
    columns: dict[str, Nest]
    infos: list[Any] | None

    @classmethod
    def of(cls, episodes: Sequence[SingleAgentEpisode]) -> Self:
        """Those of episodes; look-back is left out.

        Raises:
            EpisodeError: Their steps differ in shape.
        """
        lens = [len(each) for each in episodes]
        if not episodes:
            return cls([], [], [], [], [], np.empty(0), {}, None)
        steps = sum(lens)
        columns: dict[str, Nest] = {
            Columns.ACTIONS: _column(episodes, Columns.ACTIONS),
            Columns.REWARDS: _rewards(_column(episodes, Columns.REWARDS)),
            Columns.TERMINATEDS: at_ends([each.is_terminated for each in episodes], lens),
            Columns.TRUNCATEDS: at_ends([each.is_truncated for each in episodes], lens),
        }
        names = dict.fromkeys(name for each in episodes for name in each.extra_model_outputs)
        for name in names:
            if all(name in each.extra_model_outputs for each in episodes):
                columns[f"{OUTPUT}{name}"] = _column(episodes, name)
                columns[f"{HAS}{OUTPUT}{name}"] = np.ones(steps, bool)
        infos = [each.infos.rows(each.infos.lookback, None) for each in episodes]
        return cls(
            ids=[each.id_ for each in episodes],
            started=[each.t_started for each in episodes],
            lens=lens,
            is_done=[bool(each.is_done) for each in episodes],
            settings=[settings_of(each) for each in episodes],
            observations=_column(episodes, Columns.OBS),
            columns=columns,
            infos=[one for episode_infos in infos for one in episode_infos]
            if any(map(any, infos))
            else None,
        )

    @property
    def steps(self) -> int:
        """How many steps there are in all."""
        return sum(self.lens)

    def without(self, places: Sequence[int]) -> Self:
        """The same without some stretches."""
        kept_places = [place for place in range(len(self.ids)) if place not in set(places)]
        is_kept = np.zeros(len(self.ids), bool)
        is_kept[kept_places] = True
        rows = np.repeat(is_kept, self.lens)
        obs_kept = np.repeat(is_kept, np.array(self.lens) + 1)
        return type(self)(
            ids=[self.ids[place] for place in kept_places],
            started=[self.started[place] for place in kept_places],
            lens=[self.lens[place] for place in kept_places],
            is_done=[self.is_done[place] for place in kept_places],
            settings=[self.settings[place] for place in kept_places],
            observations=nest.taken(self.observations, obs_kept),
            columns={name: nest.taken(column, rows) for name, column in self.columns.items()},
            infos=None
            if self.infos is None
            else [one for one, is_in in zip(self.infos, obs_kept, strict=True) if is_in],
        )

    def get_state(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "ids": [*self.ids],
            "started": [*self.started],
            "lens": [*self.lens],
            "is_done": [*self.is_done],
            "settings": [
                {name: _SPACES.get(name, _same)[0](value) for name, value in each.items()}
                for each in self.settings
            ],
            "observations": self.observations,
            "columns": dict(self.columns),
            "infos": self.infos,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make it of what `get_state` gave."""
        return cls(
            **{
                **state,
                "settings": [
                    {name: _SPACES.get(name, _same)[1](value) for name, value in each.items()}
                    for each in state["settings"]
                ],
            }
        )


def _column(episodes: Sequence[SingleAgentEpisode], name: str) -> Nest:
    """A column of all episodes; that of a single one may share its memory."""
    joined = concat_column(episodes, name)
    if joined is None:  # Some in lists, some in arrays; or of different shapes.
        joined = concat_column([deepcopy(each).to_numpy() for each in episodes], name)
    if joined is None:
        raise EpisodeError(f"the episodes for a replay buffer differ in the shape of {name!r}")
    return joined[0]


def at_ends(flags: Sequence[Any], lens: Sequence[int]) -> Array:
    """Flags of episodes at their last steps."""
    column = np.zeros(sum(lens), bool)
    if not any(flags):
        return column
    end = -1
    for flag, steps in zip(flags, lens, strict=True):
        end += steps
        if flag:
            column[end] = True
    return column


def _rewards(column: Any) -> Array:
    """Rewards as floats, so that none is cut off later."""
    array = np.asarray(column)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def settings_of(episode: SingleAgentEpisode) -> dict[str, Any]:
    """What an episode has besides its steps: spaces, and ids of agent and module."""
    return {
        "observation_space": episode.observation_space,
        "action_space": episode.action_space,
        "agent_id": episode.agent_id,
        "module_id": episode.module_id,
        "multi_agent_episode_id": episode.multi_agent_episode_id,
    }


def _kept(value: Any) -> Any:
    return value


_same: Final = (_kept, _kept)
_SPACES: Final = {
    "observation_space": (space_to_state, space_from_state),
    "action_space": (space_to_state, space_from_state),
}
