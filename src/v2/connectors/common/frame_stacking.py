"""Several images, one after the other in time, as the channels of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Space
from typing_extensions import override

from ....core.adapters import StackFrames
from ....core.arrays.batching import batch as batched
from ....core.arrays.batching import rows_of_alike
from ....core.columns import Columns
from ....core.errors import SpaceError
from ....core.step.part import Contribution, Part
from ....core.types import Array
from ...episodes.single_agent import SingleAgentEpisode
from ..batch_items import (
    add_batch_item,
    add_n_batch_items,
    key_of,
    single_agent_episode_iterator,
)
from ..connector import ConnectorV2
from .written_observations import running_lists

_FEW: Final = 8


class FrameStacking(ConnectorV2):
    """Add the last frames of each episode as one observation; the episode keeps single frames.

    Frames are stacked along the last axis, the newest last; frames before the episode are zeros.

    Args:
        input_observation_space: Boxes whose last axis is 1; by agent id for several agents.
        num_frames: How many.
        multi_agent: Whether spaces are by agent id.
        as_learner_connector: Whether to stack at every step, look-back included, not the last.

    Example:
        >>> space = spaces.Box(0, 255, (84, 84, 1), np.uint8)
        >>> FrameStacking(space, num_frames=4).observation_space.shape
        (84, 84, 4)
    """

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        num_frames: int = 1,
        multi_agent: bool = False,
        as_learner_connector: bool = False,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.num_frames = num_frames
        self.multi_agent = multi_agent
        self.as_learner_connector = as_learner_connector

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Any, input_action_space: Any
    ) -> Space[Any]:
        if not self.multi_agent:
            return self._stacked(input_observation_space)
        by_agent = input_observation_space.spaces
        return spaces.Dict(
            {agent_id: self._stacked(agent_space) for agent_id, agent_space in by_agent.items()}
        )

    def _stacked(self, space: Any) -> spaces.Box:
        if not isinstance(space, spaces.Box) or not space.shape or space.shape[-1] != 1:
            raise SpaceError(
                f"{type(self).__name__} stacks along a last axis of length 1",
                expected="a Box of shape (..., 1)",
                found=str(space),
            )
        low, high = (np.repeat(bound, self.num_frames, -1) for bound in (space.low, space.high))
        return spaces.Box(low, high, dtype=space.dtype.type if space.dtype else np.float32)

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        if self.as_learner_connector:
            for episode in single_agent_episode_iterator(episodes, False):
                add_n_batch_items(batch, Columns.OBS, self._windows(episode), len(episode), episode)
            return batch
        acting = [*single_agent_episode_iterator(episodes)]
        items = self._last(acting)
        if Columns.OBS not in batch:
            column = {key_of(episode): [item] for episode, item in zip(acting, items, strict=True)}
            is_free = not batch or {key[-1] for key in column}.isdisjoint(batch)
            if len(column) == len(acting) > 0 and is_free:
                batch[Columns.OBS] = column
                return batch
        for episode, item in zip(acting, items, strict=True):
            add_batch_item(batch, Columns.OBS, item, episode)
        return batch

    def part(self) -> Contribution:
        """Return the transformation of a single agent's observations as data."""
        stacked = StackFrames(self.num_frames, "zero").bind(self.input_observation_space)
        return Contribution(obs=(Part.of(type(self).__name__, stacked),))

    def _last(self, episodes: Sequence[Any]) -> Iterable[Array]:
        """The last frames of each episode, stacked."""
        if len(episodes) > _FEW:
            lists = running_lists(episodes) or ()
            stacks = _stacks([frames[-self.num_frames :] for frames in lists], self.num_frames)
            if stacks is not None:
                return stacks
        return [np.concatenate(self._seen(episode), -1) for episode in episodes]

    def _seen(self, episode: Any) -> list[Array]:
        """The last frames of an episode, with zeros for those before it."""
        count = self.num_frames
        if type(episode) is SingleAgentEpisode:
            data = episode.observations.raw
            if type(data) is list and len(data) >= count:
                return data[-count:]
        present = min(count, episode.observations.len_incl_lookback())
        frames = episode.get_observations(slice(-present, None))
        return list(self._with_zeros(frames, count))

    def _windows(self, episode: Any) -> Array:
        steps = len(episode)
        before = min(self.num_frames - 1, episode.observations.lookback)
        observations = episode.observations.get(
            slice(-before if before else 0, steps), neg_index_as_lookback=True
        )
        frames = self._with_zeros(observations, steps + self.num_frames - 1)
        windows = np.lib.stride_tricks.sliding_window_view(frames, self.num_frames, axis=0)
        return windows[..., 0, :]  # (T, ..., 1, num_frames) without the frames' own last axis

    def _with_zeros(self, frames: Any, count: int) -> Array:
        """The frames as one array, with zeros in front of the first ones."""
        rows = np.asarray(batched(frames) if isinstance(frames, list) else frames)
        missing = count - len(rows)
        if not missing:
            return rows
        return np.concatenate([np.zeros((missing, *rows.shape[1:]), rows.dtype), rows])


def _stacks(parts: Sequence[list[Array]], count: int) -> Array | None:
    """Stack small frames of many episodes, one row each; None if their shapes differ."""
    frames = [frame for part in parts for frame in part]
    if not frames or len(frames) < len(parts) * count:
        return None
    rows = rows_of_alike(frames)
    if rows is None or rows.shape[-1] != 1:
        return None
    apart = rows.reshape(len(parts), count, *rows.shape[1:-1])
    stacks = np.empty((len(parts), *rows.shape[1:-1], count), rows.dtype)
    for place in range(count):  # Up to four times as fast as moving the axis at once.
        stacks[..., place] = apart[:, place]
    return stacks


class FrameStackingEnvToModule(FrameStacking):
    """`FrameStacking` of running episodes, for acting."""

    part = FrameStacking.part


class FrameStackingLearner(FrameStacking):
    """`FrameStacking` of sampled episodes, for learning.

    Args:
        input_observation_space: Boxes whose last axis is 1; by agent id for several agents.
        num_frames: How many.
        multi_agent: Whether spaces are by agent id.
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        num_frames: int = 1,
        multi_agent: bool = False,
    ) -> None:
        super().__init__(
            input_observation_space,
            input_action_space,
            num_frames=num_frames,
            multi_agent=multi_agent,
            as_learner_connector=True,
        )
