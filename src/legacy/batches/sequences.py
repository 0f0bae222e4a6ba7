"""Batches cut into sequences for recurrent policies; core/arrays/sequences.py does the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ...core import nest
from ...core.arrays import sequences as core_sequences
from ...core.arrays.sequences import chop_into_sequences
from ...core.errors import PieceError
from ...core.types import Nest
from . import batch_columns as bc
from .sample_batch import SampleBatch

__all__ = [
    "add_time_dimension",
    "chop_into_sequences",
    "get_fold_unfold_fns",
    "pad_batch_to_sequences_of_same_size",
    "timeslice_along_seq_lens_with_overlap",
]


def add_time_dimension(
    padded_inputs: Any, *, seq_lens: Any, framework: str = "torch", time_major: bool = False
) -> Any:
    """A padded column `(sequences * length, ...)` as `(sequences, length, ...)`.

    Args:
        padded_inputs: numpy or torch; which one is found out.
        seq_lens: One length per sequence; only their number is read.
        framework: Accepted for compatibility with Ray.
        time_major: Put the time axis first.

    Example:
        >>> add_time_dimension(np.zeros((6, 2)), seq_lens=[2, 3]).shape
        (2, 3, 2)
    """
    return core_sequences.add_time_dimension(
        padded_inputs, seq_lens=seq_lens, time_major=time_major
    )


def pad_batch_to_sequences_of_same_size(
    batch: SampleBatch,
    max_seq_len: int,
    shuffle: bool = False,
    batch_divisibility_req: int = 1,
    feature_keys: Sequence[str] | None = None,
    view_requirements: Mapping[str, Any] | None = None,
    _enable_new_api_stack: bool = False,
    padding: Literal["zero", "last"] = "zero",
) -> None:
    """Cut a batch into sequences of one length, in place.

    Without states, the batch is unchanged, unless its number of rows must be divisible.

    Args:
        batch: With "state_in_0" (one row per step, or one per sequence together with "seq_lens").
        max_seq_len: The longest sequence.
        shuffle: Put the sequences in random order.
        batch_divisibility_req: What the number of rows must divide by.
        feature_keys: Columns to pad, if not all.
        view_requirements: Columns not needed for training are left alone.
        _enable_new_api_stack: Accepted for compatibility with Ray.
        padding: "zero", or "last" to repeat the last step.
    """
    if batch.zero_padded:
        return
    states = [name for name in batch if name.startswith("state_in_")]
    batch.zero_padded = True
    if not states and batch_divisibility_req <= 1:
        if shuffle:
            batch.zero_padded = False
            batch.shuffle()
            batch.zero_padded = True
        return
    lens = batch.get(batch.SEQ_LENS)
    names = [
        name
        for name in (batch if feature_keys is None else feature_keys)
        if name not in states
        and name != batch.SEQ_LENS
        and (feature_keys is not None or _is_padded(name, view_requirements))
    ]
    ids = {}
    if lens is None:
        ids = {
            "episode_ids": batch.get(batch.EPS_ID),
            "unroll_ids": batch.get(batch.UNROLL_ID),
            "agent_indices": batch.get(batch.AGENT_INDEX),
        }
    steps = int(np.sum(lens)) if lens is not None else batch.count
    longest = max_seq_len if states else max(batch_divisibility_req, 1)
    is_reduced = bool(states) and len(bc.first_array(dict.__getitem__(batch, states[0]))) != steps
    columns, initial, seq_lens = chop_into_sequences(
        feature_columns=[bc.arrays_of(batch[name]) for name in names],
        state_columns=[batch[name] for name in states],
        max_seq_len=longest,
        dynamic_max=False,
        shuffle=shuffle,
        seq_lens=lens,
        states_already_reduced_to_init=is_reduced or (lens is not None and len(lens) == steps),
        handle_nested_data=True,
        padding=padding,
        **ids,
    )
    for name, leaves in zip(names, columns, strict=True):
        each = iter(leaves)
        padded = bc.map_column(lambda _, each=each: next(each), batch[name])
        batch[name] = list(padded) if isinstance(batch[name], list) else padded
    for name, state in zip(states, initial, strict=True):
        batch[name] = state
    batch[batch.SEQ_LENS] = seq_lens
    batch.max_seq_len = longest


def timeslice_along_seq_lens_with_overlap(
    sample_batch: SampleBatch,
    seq_lens: Sequence[int] | None = None,
    zero_pad_max_seq_len: int = 0,
    pre_overlap: int = 0,
    zero_init_states: bool = True,
) -> list[SampleBatch]:
    """Split a batch into one per sequence, each overlapping the end of the previous one.

    Args:
        sample_batch: One trajectory after the other.
        seq_lens: Lengths of the sequences; those of the batch where None.
        zero_pad_max_seq_len: Put zeros before the first steps where the overlap reaches beyond
            the start of an episode, if positive.
        pre_overlap: Steps each sequence shares with the one before.
        zero_init_states: Start every sequence with states of zero; else with the state that
            "state_out_i" has one step earlier.

    Raises:
        PieceError: The lengths of the sequences are unknown.
    """
    lens = bc.lens_of(sample_batch) if seq_lens is None else np.asarray(seq_lens)
    if lens is None or not len(lens):
        raise PieceError("the lengths of the sequences are unknown.", hint="pass seq_lens.")
    rows = {k: v for k, v in sample_batch.items() if not bc.is_per_sequence(k)}
    states = [name for name in sample_batch if name.startswith("state_in_")]
    episodes = rows.get("eps_id")
    pieces = []
    for end, length in zip(np.cumsum(lens).tolist(), np.asarray(lens).tolist(), strict=True):
        start = end - length
        first = max(start - pre_overlap, 0)
        if episodes is not None:
            while first < start and episodes[first] != episodes[start]:
                first += 1
        columns = bc.take_rows(rows, np.arange(first, end))
        pad = pre_overlap - (start - first) if zero_pad_max_seq_len > 0 else 0
        if pad > 0:
            behind = partial(_behind_zeros, pad)
            columns = {name: bc.map_column(behind, column) for name, column in columns.items()}
        for name in states:
            columns[name] = _first_state(sample_batch, name, first, zero_init_states)
        if states:
            columns[bc.SEQ_LENS] = np.array([end - first + max(pad, 0)], np.int32)
        pieces.append(SampleBatch.of(columns, like=sample_batch))
    return pieces


def _behind_zeros(rows: int, array: Any) -> Any:
    if isinstance(array, list):
        return [{}] * rows + array
    return np.concatenate([np.zeros((rows, *array.shape[1:]), array.dtype), array])


def _first_state(batch: SampleBatch, name: str, first: int, is_zero: bool) -> Any:
    outs = batch.get(name.replace("state_in_", "state_out_"))
    if is_zero or outs is None or first == 0:
        return bc.map_column(np.zeros_like, bc.map_column(lambda array: array[:1], batch[name]))
    return bc.map_column(lambda array: array[first - 1 : first], outs)


def _is_padded(name: str, view_requirements: Mapping[str, Any] | None) -> bool:
    if name.startswith("state_out_") or name == "infos":
        return False
    view = (view_requirements or {}).get(name)
    return view is None or bool(view.used_for_training)


def get_fold_unfold_fns(
    b_dim: int, t_dim: int, framework: str = "torch"
) -> tuple[Callable[[Nest], Nest], Callable[[Nest], Nest]]:
    """Two functions: one joins the batch and time axes of a nest's leaves, one parts them again.

    Args:
        b_dim: Rows of the batch.
        t_dim: Steps of each.
        framework: Taken for Ray's signature; arrays and tensors both are served.

    Returns:
        `fold`, which refuses leaves of other axes, and `unfold`.

    Example:
        >>> fold, unfold = get_fold_unfold_fns(2, 3)
        >>> fold(np.zeros((2, 3, 4))).shape, unfold(np.zeros((6, 4))).shape
        ((6, 4), (2, 3, 4))
    """

    def fold_leaf(leaf: Any) -> Any:
        if leaf is None:
            return None
        if tuple(leaf.shape[:2]) != (b_dim, t_dim):
            raise PieceError(
                "batch and time axes cannot be folded",
                expected=f"leading axes {(b_dim, t_dim)}",
                found=f"shape {tuple(leaf.shape)}",
            )
        return leaf.reshape((b_dim * t_dim, *leaf.shape[2:]))

    def unfold_leaf(leaf: Any) -> Any:
        return None if leaf is None else leaf.reshape((b_dim, t_dim, *leaf.shape[1:]))

    return (
        lambda values: nest.map_structure(fold_leaf, values),
        lambda values: nest.map_structure(unfold_leaf, values),
    )
