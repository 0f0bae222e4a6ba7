"""Several images, one after the other in time, as the channels of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from typing_extensions import override

from ...core.batching import batch as batched
from ...core.columns import Columns
from ...core.errors import SpaceError
from ...core.types import Array
from ..batch_items import add_batch_item, add_n_batch_items, single_agent_episode_iterator
from ..connector import ConnectorV2
from ..episodes.column_items import stacked

_SMALL: Final = 1024


class FrameStacking(ConnectorV2):
    """Add the last frames of each episode as one observation; the episode keeps single frames.

    Frames lie along the last axis, the newest last; zeros stand for those before the episode.

    Args:
        input_observation_space: Boxes whose last axis is 1; by agent id for several agents.
        input_action_space: Of what comes in.
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
    ) -> Any:
        if not self.multi_agent:
            return self._stacked(input_observation_space)
        by_agent = input_observation_space.spaces
        return spaces.Dict({agent_id: self._stacked(own) for agent_id, own in by_agent.items()})

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
    def __call__(self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any) -> Any:
        if self.as_learner_connector:
            for episode in single_agent_episode_iterator(episodes, False):
                add_n_batch_items(batch, Columns.OBS, self._windows(episode), len(episode), episode)
            return batch
        acting = list(single_agent_episode_iterator(episodes))
        for episode, item in zip(acting, self._last(acting), strict=True):
            add_batch_item(batch, Columns.OBS, item, episode)
        return batch

    def _last(self, episodes: Sequence[Any]) -> list[Array]:
        """The last frames of each episode, stacked."""
        count = self.num_frames
        parts = []
        for episode in episodes:
            known = min(count, episode.observations.len_incl_lookback())
            seen = episode.get_observations(slice(-known, None))
            is_whole = known == count and type(seen) is list
            parts.append(seen if is_whole else list(self._with_zeros(seen, count)))
        frames = [frame for part in parts for frame in part]
        if len(episodes) == 1 or not frames or not _are_small(frames):
            return [np.concatenate(part, axis=-1) for part in parts]
        rows = stacked(frames)
        rows = rows.reshape(len(episodes), count, *rows.shape[1:-1])
        return list(np.ascontiguousarray(np.moveaxis(rows, 1, -1)))

    def _windows(self, episode: Any) -> Array:
        steps = len(episode)
        before = min(self.num_frames - 1, episode.observations.lookback)
        seen = episode.observations.get(
            slice(-before if before else 0, steps), neg_index_as_lookback=True
        )
        frames = self._with_zeros(seen, steps + self.num_frames - 1)
        windows = np.lib.stride_tricks.sliding_window_view(frames, self.num_frames, axis=0)
        return windows[..., 0, :]  # (T, ..., 1, num_frames) without the frames' own last axis

    def _with_zeros(self, frames: Any, count: int) -> Array:
        """The frames as one array, with zeros in front of the first ones."""
        rows = np.asarray(batched(frames) if isinstance(frames, list) else frames)
        missing = count - len(rows)
        if not missing:
            return rows
        return np.concatenate([np.zeros((missing, *rows.shape[1:]), rows.dtype), rows])


def _are_small(frames: Sequence[Any]) -> bool:
    """Whether all frames are alike and small: then stacking them all at once is quicker."""
    first = frames[0]
    return (
        first.nbytes <= _SMALL
        and all(type(frame) is np.ndarray for frame in frames)
        and {frame.shape for frame in frames} == {first.shape}
        and {frame.dtype for frame in frames} == {first.dtype}
    )
