"""Steps of running episodes that went on as columns: episodes get them once somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ...core import nest
from ...core.columns import Columns
from ...core.types import Nest
from ..episodes import stretches
from ..episodes.column_items import listed
from ..episodes.episode_columns import HAS, OUTPUT, EpisodeColumns, at_ends, settings_of
from ..episodes.lookback_buffer import InfiniteLookbackBuffer
from ..episodes.single_agent import SingleAgentEpisode
from .step_block import BlockColumns, Stretch

LOOKBACK: Final = 1
"""How many steps of look-back there are to be had at most."""


class LateSteps(NamedTuple):
    """Steps that an episode does not have yet.

    Attributes:
        episode: It stands before them, or further back.
        started: Which step of it is the first of these.
        stretch: Which of the block's they are.
        block: Where they are.
        first_info: With the observation before them.
    """

    episode: SingleAgentEpisode
    started: int
    stretch: Stretch
    block: BlockColumns
    first_info: dict[str, Any]

    @property
    def rewards(self) -> list[float]:
        """What each step earned."""
        env, start, stop, *_ = self.stretch
        rewards: list[float] = self.block.rewards[env, start:stop].tolist()
        return rewards

    @property
    def infos(self) -> list[dict[str, Any]]:
        """With each observation, the one before the steps included."""
        env, start, stop, *_ = self.stretch
        return [self.first_info, *[infos[env] for infos in self.block.infos[start:stop]]]

    def seconds(self) -> float:
        """How long the episode took in these steps; 0 where an earlier stretch has its begin."""
        _, start, stop, is_begun, *_ = self.stretch
        begun = self.block.times[start - 1] if is_begun else self.episode.start_time
        return self.block.times[stop - 1] - begun if begun is not None and stop > start else 0.0

    def cut(self, lookback: int) -> SingleAgentEpisode:
        """The episode behind these steps, with up to so many as look-back."""
        env, start, stop, *_ = self.stretch
        lookback_steps = min(lookback, LOOKBACK, stop - start)
        episode, block = self.episode, self.block
        steps = slice(stop - lookback_steps, stop)

        def of_items(items: list[Any], space: Any) -> InfiniteLookbackBuffer:
            return InfiniteLookbackBuffer.of_parts(items, lookback_steps, space, False, False)

        def of_rows(column: Nest, rows: slice, space: Any) -> InfiniteLookbackBuffer:
            return of_items(listed(nest.taken(column, (env, rows))), space)

        t = self.started + stop - start
        follower = stretches.like(
            episode,
            (
                of_rows(
                    block.observations, slice(stop - lookback_steps, stop + 1), episode.spaces[0]
                ),
                of_rows(block.actions, steps, episode.spaces[1]),
                of_items(block.rewards[env, steps].tolist(), episode.rewards.space),
                of_items(self.infos[len(self.infos) - lookback_steps - 1 :], None),
            ),
            {name: of_rows(column, steps, None) for name, column in block.outputs.items()}
            if stop > start
            else {},
            t,
            t,
        )
        follower.custom_data = episode.custom_data
        follower.start_time = episode.start_time
        return follower


def as_columns(late: Sequence[LateSteps]) -> EpisodeColumns:
    """Steps of episodes as columns.

    Args:
        late: Of one block, each with at least one step.
    """
    block = late[0].block
    parts = [each.stretch for each in late]
    lens = [part.stop - part.start for part in parts]
    steps = sum(lens)
    columns: dict[str, Nest] = {
        Columns.ACTIONS: _joined(block.actions, parts),
        Columns.REWARDS: _joined(block.rewards, parts),
        Columns.TERMINATEDS: at_ends([part.terminated for part in parts], lens),
        Columns.TRUNCATEDS: at_ends([part.truncated for part in parts], lens),
    }
    for name, column in block.outputs.items():
        columns[f"{OUTPUT}{name}"] = _joined(column, parts)
        columns[f"{HAS}{OUTPUT}{name}"] = np.ones(steps, bool)
    infos = [info for each in late for info in each.infos]
    return EpisodeColumns(
        ids=[each.episode.id_ for each in late],
        started=[each.started for each in late],
        lens=lens,
        is_done=[part.is_over for part in parts],
        settings=[settings_of(each.episode) for each in late],
        observations=_joined(block.observations, parts, 1),
        columns=columns,
        infos=infos if any(infos) else None,
    )


def _joined(column: Nest, parts: Sequence[Stretch], more: int = 0) -> Nest:
    """The rows of some stretches, one stretch after the other."""
    return nest.joined(
        [nest.taken(column, (each.env, slice(each.start, each.stop + more))) for each in parts]
    )
