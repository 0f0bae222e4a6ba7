"""Steps of episodes into rows of one length, zero-padded at the end, and back.

A `PaddingPlan` is made once per batch and serves every column: one allocation and one copy each.
The functions below it carry RLlib's names; what the old stack cut its batches with is
`core.arrays.sequences`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import array_namespace as xp
from .. import nest
from ..errors import EpisodeError
from ..types import Array, Nest
from .batching import batch


def places_by_time(lengths: Array) -> list[Array]:
    """Return the positions of the first steps of all episodes, of the second ones, and so on.

    Episodes of at least one step are concatenated. Longer episodes come first, so that the running
    episodes are a prefix of those of the previous time step.

    Example:
        >>> [places.tolist() for places in places_by_time(np.array([1, 3]))]
        [[1, 0], [2], [3]]
    """
    longest_first = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[longest_first]
    shortening = -lengths[longest_first]
    counts = np.searchsorted(shortening, -np.arange(int(-shortening[0])), side="left")
    return [starts[:count] + time for time, count in enumerate(counts)]


@dataclass(frozen=True, eq=False)
class PaddingPlan:
    """How the steps of some episodes, laid end to end, fill rows.

    Attributes:
        seq_lens: Steps in each row, `(R,)`.
        max_seq_len: Length of a row, the padding included.

    Example:
        >>> plan = PaddingPlan.of_episodes([3, 1], max_seq_len=2)
        >>> plan.pad(np.array([5, 6, 7, 8]))
        array([[5, 6],
               [7, 0],
               [8, 0]])
        >>> plan.unpad(np.array([[5, 6], [7, 0], [8, 0]]))
        array([5, 6, 7, 8])
    """

    seq_lens: Array
    max_seq_len: int

    @classmethod
    def of_episodes(cls, episode_lens: npt.ArrayLike, max_seq_len: int) -> PaddingPlan:
        """Return a plan for episodes of these lengths, each starting a new row."""
        if max_seq_len < 1:
            raise EpisodeError(
                "max_seq_len is no length of a row", expected="at least 1", found=str(max_seq_len)
            )
        lens = np.asarray(episode_lens, np.int64).reshape(-1)
        counts = -(-lens // max_seq_len)
        seq_lens = np.full(int(counts.sum()), max_seq_len, np.int64)
        is_any = counts > 0
        last = np.cumsum(counts)[is_any] - 1
        seq_lens[last] = (lens - (counts - 1) * max_seq_len)[is_any]
        return cls(seq_lens, max_seq_len)

    @cached_property
    def mask(self) -> Array:
        """True where a place holds a step, `(R, max_seq_len)`."""
        return np.arange(self.max_seq_len) < self.seq_lens[:, None]

    @cached_property
    def places(self) -> Array:
        """Positions of the steps in the concatenated rows, `(steps,)`."""
        return np.flatnonzero(self.mask)

    @cached_property
    def starts(self) -> Array:
        """The first step of each row, `(R,)`."""
        return np.cumsum(self.seq_lens) - self.seq_lens

    @cached_property
    def steps(self) -> int:
        """Number of steps, without padding."""
        return int(self.seq_lens.sum())

    def pad(self, column: Any) -> Any:
        """One column from `(steps, ...)` to `(R, max_seq_len, ...)`, zeros where no step is."""
        self._check(len(column) == self.steps, f"{self.steps} steps", f"{len(column)}")
        shape = (*self.mask.shape, *column.shape[1:])
        if not xp.is_tensor(column):
            column = np.asarray(column)
            out = np.zeros(shape, column.dtype)
            if column.size:
                # Row by row the places of steps are in the order of the steps.
                flat = _as_scalars(out.reshape(-1, *shape[2:]))
                flat[self.mask.reshape(-1)] = _as_scalars(column)
            return out
        places = np.minimum(self.starts[:, None] + np.arange(self.max_seq_len), self.steps - 1)
        rows = column[xp.constant(places, column)]
        is_step = xp.constant(self.mask, column).reshape(self.mask.shape + (1,) * (rows.ndim - 2))
        return rows.masked_fill(~is_step, 0)

    def unpad(self, column: Any) -> Any:
        """One column from `(R, max_seq_len, ...)` back to `(steps, ...)`."""
        shape = tuple(column.shape[:2])
        self._check(shape == self.mask.shape, f"rows {self.mask.shape}", f"{shape}")
        flat = column.reshape((-1, *column.shape[2:]))
        return flat[xp.constant(self.places, column)]

    def _check(self, is_right: bool, expected: str, found: str) -> None:
        if not is_right:
            raise EpisodeError(
                "a column does not fit the padding of its batch", expected=expected, found=found
            )


def _as_scalars(rows: Array) -> Array:
    """A view of rows as scalars of as many bytes, which numpy puts in places ten times as fast."""
    if rows.ndim < 2 or rows.dtype.hasobject:
        return rows
    rows = np.ascontiguousarray(rows).reshape(len(rows), -1)
    return rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]


def create_mask_and_seq_lens(episode_len: int, T: int) -> tuple[list[Array], list[int]]:
    """Masks of the rows that one episode fills, and the steps in each.

    Args:
        episode_len: Steps of the episode; none make one empty row.
        T: Length of a row.

    Example:
        >>> create_mask_and_seq_lens(3, 2)
        ([array([ True,  True]), array([ True, False])], [2, 1])
    """
    if episode_len == 0:
        return [np.zeros(T, bool)], [0]
    plan = PaddingPlan.of_episodes([episode_len], T)
    return list(plan.mask), plan.seq_lens.tolist()


def split_and_zero_pad(item_list: Sequence[Nest], max_seq_len: int) -> list[Nest]:
    """The steps of one episode as rows of one length, the last one padded with zeros.

    Args:
        item_list: Steps, or `BatchedNdArray`s of several steps each; nested ones too.
        max_seq_len: Length of a row.

    Example:
        >>> split_and_zero_pad([0, 1, 2], max_seq_len=2)
        [array([0, 1]), array([2, 0])]
    """
    steps = batch(item_list, individual_items_already_have_batch_dim="auto")
    plan = PaddingPlan.of_episodes([len(nest.a_leaf(steps))], max_seq_len)
    if nest.is_leaf(steps):
        return list(plan.pad(steps))
    padded = [plan.pad(leaf) for leaf in nest.flatten(steps)]
    return [nest.unflatten_as(steps, row) for row in zip(*padded, strict=True)]


def split_and_zero_pad_n_episodes(
    nd_array: Array, episode_lens: Sequence[int], max_seq_len: int
) -> list[Array]:
    """Split the concatenated steps of several episodes into rows of one length.

    Args:
        nd_array: Array of shape `(steps, ...)`. Steps beyond the episodes are ignored.
        episode_lens: Steps of each episode; each episode starts a new row.
        max_seq_len: Length of a row.

    Raises:
        EpisodeError: There are fewer steps than the episodes have.
    """
    plan = PaddingPlan.of_episodes(episode_lens, max_seq_len)
    return list(plan.pad(nd_array[: plan.steps]))


def unpad_data_if_necessary(episode_lens: Sequence[int], data: Any) -> Any:
    """Undo the padding of rows; data with a single axis is returned unchanged.

    Args:
        episode_lens: Steps of each episode.
        data: `(steps,)`, or `(R, T)` with each episode in separate rows.

    Raises:
        EpisodeError: The data has more axes, or too few rows for the episodes.
    """
    if data.ndim == 1:
        return data
    if data.ndim != 2:
        raise EpisodeError(
            "only numbers per step can be unpadded",
            expected="data of one or two axes",
            found=f"shape {tuple(data.shape)}",
        )
    plan = PaddingPlan.of_episodes(episode_lens, int(data.shape[1]))
    return plan.unpad(data[: len(plan.seq_lens)])
