"""The old stack's way to feed recurrent policies: columns cut into sequences of one length.

Unlike `core.arrays.padding`, the rows stay on the first axis: a padded column has shape
`(sequences * length, ...)`, and the states are those at the start of each sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import nest
from ..errors import EpisodeError
from ..types import Array, Nest
from .padding import PaddingPlan


def sequence_lens(
    episode_ids: npt.ArrayLike,
    unroll_ids: npt.ArrayLike,
    agent_indices: npt.ArrayLike,
    max_seq_len: int,
) -> Array:
    """Return the lengths of the sequences in a batch.

    A sequence ends at a change of the episode, the unroll or the agent, and at `max_seq_len`. There
    is an id of each kind per row; a new rollout of an episode starts a new sequence.

    Example:
        >>> sequence_lens([1, 1, 5, 5, 5, 5], [0] * 6, [0] * 6, max_seq_len=3)
        array([2, 3, 1], dtype=int32)
    """
    changes = np.zeros(max(len(np.asarray(episode_ids)) - 1, 0), bool)
    for ids in (episode_ids, unroll_ids, agent_indices):
        column = np.asarray(ids)
        changes |= column[1:] != column[:-1]
    count = len(np.asarray(episode_ids))
    if not count:
        return np.zeros(0, np.int32)
    bounds = np.concatenate([[0], np.flatnonzero(changes) + 1, [count]])
    return PaddingPlan.of_episodes(np.diff(bounds), max_seq_len).seq_lens.astype(np.int32)


def chop_into_sequences(
    *,
    feature_columns: Sequence[Nest],
    state_columns: Sequence[Nest],
    max_seq_len: int,
    episode_ids: npt.ArrayLike | None = None,
    unroll_ids: npt.ArrayLike | None = None,
    agent_indices: npt.ArrayLike | None = None,
    dynamic_max: bool = True,
    shuffle: bool = False,
    seq_lens: Sequence[int] | Array | None = None,
    states_already_reduced_to_init: bool = False,
    handle_nested_data: bool = False,
    _extra_padding: int = 0,
    padding: Literal["zero", "last"] = "zero",
    pad_infos_with_empty_dicts: bool = False,
) -> tuple[list[Any], list[Any], Any]:
    """Cut columns into sequences and pad each to one length.

    Args:
        feature_columns: Columns with one row per step.
        state_columns: Recurrent states, one row per step.
        max_seq_len: The longest sequence.
        episode_ids: One per row; together with the next two, they determine the sequences.
        unroll_ids: One per row.
        agent_indices: One per row.
        dynamic_max: Pad to the longest sequence there is instead of `max_seq_len`.
        shuffle: Put the sequences in random order.
        seq_lens: Lengths that are known already, instead of the three columns of ids.
        states_already_reduced_to_init: The states have one row per sequence already.
        handle_nested_data: Return a list of padded leaves for each feature column.
        _extra_padding: Rows to add to each sequence, with `dynamic_max`.
        padding: "zero", or "last" to repeat the last step of a sequence.
        pad_infos_with_empty_dicts: Pad columns of objects with {} instead of None.

    Returns:
        Padded columns, initial states, and lengths (`seq_lens` itself where it was given).

    Raises:
        EpisodeError: Neither lengths nor all three columns of ids were given.
    """
    if seq_lens is None:
        if episode_ids is None or unroll_ids is None or agent_indices is None:
            raise EpisodeError(
                "the ends of the sequences are unknown",
                expected="seq_lens, or all of episode_ids, unroll_ids and agent_indices",
            )
        seq_lens = sequence_lens(episode_ids, unroll_ids, agent_indices, max_seq_len)
    lens = np.asarray(seq_lens, np.int64)
    length = max_seq_len
    if dynamic_max:
        length = int(lens.max(initial=0)) + _extra_padding
    plan = PaddingPlan(lens, length)
    order = np.random.default_rng().permutation(len(lens)) if shuffle else None

    def padded(column: Any) -> Array:
        rows = _padded(plan, column, padding, pad_infos_with_empty_dicts)
        rows = rows if order is None else rows[order]
        return rows.reshape((-1, *rows.shape[2:]))

    features: list[Any] = []
    for column in feature_columns:
        is_rows = isinstance(column, list) and not (
            handle_nested_data and column and isinstance(column[0], (np.ndarray, dict))
        )
        parts = [column] if is_rows else nest.flatten(column)
        leaves = [padded(part) for part in parts]
        features.append(leaves if handle_nested_data else leaves[0])

    def initial(column: Any) -> Array:
        states = np.asarray(column)
        states = states if states_already_reduced_to_init else states[plan.starts]
        return states if order is None else states[order]

    states = [
        initial(column) if isinstance(column, list) else nest.map_structure(initial, column)
        for column in state_columns
    ]
    if order is not None:
        seq_lens = np.asarray(seq_lens)[order]
    return features, states, seq_lens


def add_time_dimension(padded_inputs: Any, *, seq_lens: Any, time_major: bool = False) -> Any:
    """A padded column `(sequences * length, ...)` as `(sequences, length, ...)`.

    Of `seq_lens`, one length per sequence, only the number is read.
    """
    rows = padded_inputs.reshape((len(seq_lens), -1, *padded_inputs.shape[1:]))
    return rows.swapaxes(0, 1) if time_major else rows


def _padded(plan: PaddingPlan, column: Any, padding: str, has_empty_dicts: bool) -> Array:
    if isinstance(column, list):
        is_plain = not column or np.isscalar(column[0]) or isinstance(column[0], np.ndarray)
        steps = np.asarray(column) if is_plain else _as_rows(column)
    else:
        steps = np.asarray(column)
    if padding == "last":
        within = np.minimum(np.arange(plan.max_seq_len), np.maximum(plan.seq_lens[:, None] - 1, 0))
        return np.asarray(steps[plan.starts[:, None] + within])
    if steps.dtype != object:
        return np.asarray(plan.pad(steps))
    rows = np.empty((*plan.mask.shape, *steps.shape[1:]), object)
    if has_empty_dicts:
        rows[~plan.mask] = [{} for _ in range(int((~plan.mask).sum()))]
    rows[plan.mask] = steps
    return rows


def _as_rows(items: Sequence[Any]) -> Array:
    """Lists of numbers as rows of an array; anything else as objects."""
    if isinstance(items[0], (list, tuple)):
        return np.asarray(items)
    column = np.empty(len(items), object)
    column[:] = items
    return column
