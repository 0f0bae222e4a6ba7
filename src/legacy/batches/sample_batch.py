"""The column store that legacy policies eat: a dict of columns with equally many rows."""

from __future__ import annotations

from builtins import slice as Slice
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core import array_namespace as xp
from ...core.arrays.sequences import chop_into_sequences
from ...core.errors import PieceError
from . import batch_columns as bc
from .column_store import ColumnStore, UnknownColumnError

if TYPE_CHECKING:
    import torch

    from .multi_agent_batch import MultiAgentBatch

__all__ = ["SampleBatch", "UnknownColumnError"]

_COMPRESSED: Final = frozenset({"obs", "new_obs"})


class SampleBatch(ColumnStore):
    """Columns by name, one row per step.

    With a "seq_lens" column the rows fall into sequences; columns named "state_in_i" then have one
    row per sequence. Lists are turned into arrays, "infos" excepted.

    Args:
        *args: Positional arguments of `dict`.
        **kwargs: Columns, and the settings `_time_major`, `_zero_padded`, `_max_seq_len`,
            `_is_training` and `_num_grad_updates`.

    Example:
        >>> batch = SampleBatch({"obs": np.zeros((3, 2)), "rewards": [1.0, 2.0, 3.0]})
        >>> batch, len(batch[1:])
        (SampleBatch(3: ['obs', 'rewards']), 2)
    """

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every step as a dict."""
        lens = bc.lens_of(self)
        of_row = None if lens is None else np.repeat(np.arange(len(lens)), lens)
        for row in range(self.count):
            columns: dict[str, Any] = {}
            for name, column in self.items():
                if name == self.SEQ_LENS:
                    columns[name] = np.array([1])
                elif of_row is not None and bc.is_per_sequence(name):
                    columns[name] = bc.one_row(column, int(of_row[row]))
                else:
                    columns[name] = bc.one_row(column, row)
            yield columns

    def slice(
        self, start: int, end: int, state_start: int | None = None, state_end: int | None = None
    ) -> SampleBatch:
        """Return steps `start` to `end`; sequences at the edges are cut.

        Args:
            start: The first step.
            end: One past the last one.
            state_start: Index of the first state; by default that of the first sequence.
            state_end: One past the last state to take.
        """
        cut = bc.cut_steps(self, start, end)
        if state_start is not None or state_end is not None:
            for name in cut:
                if name.startswith("state_in_"):
                    cut[name] = dict.__getitem__(self, name)[state_start:state_end]
        return SampleBatch.of(cut, like=self)

    def cut(self, piece: Slice) -> SampleBatch:
        """Return the rows of a slice; edges are moved back so that no sequence is cut."""
        lens = bc.lens_of(self)
        if lens is None or self.time_major:
            start, stop, step = piece.indices(self.row_count)
            if step != 1:
                return SampleBatch.of(bc.take_rows(self, np.arange(start, stop, step)), like=self)
            rows = {
                k: v for k, v in self.items() if not (self.time_major and bc.is_per_sequence(k))
            }
            uncut = {k: v for k, v in self.items() if k not in rows}
            return SampleBatch.of(
                {**bc.cut_steps(rows, start, max(start, stop)), **uncut}, like=self
            )
        length = self.max_seq_len if self.zero_padded else None
        if self._by_batch_id:
            first, last, _ = piece.indices(len(lens))
        else:
            # Padding does not count: a slice means steps that were taken.
            start, stop, _ = piece.indices(int(lens.sum()))
            ends = np.cumsum(lens)
            first = int(np.searchsorted(ends, start, side="right"))
            last = int(np.searchsorted(ends, stop, side="right"))
        cut = bc.cut_sequences(self, first, max(first, last), length)
        return SampleBatch.of(cut, like=self)

    def enable_slicing_by_batch_id(self) -> None:
        """Let `batch[a:b]` mean sequences a to b from now on."""
        self._by_batch_id = True

    def disable_slicing_by_batch_id(self) -> None:
        """Let `batch[a:b]` mean steps again."""
        self._by_batch_id = False

    def timeslices(
        self, size: int | None = None, num_slices: int | None = None, k: int | None = None
    ) -> list[SampleBatch]:
        """The batch in pieces, in order; sequences stay whole.

        Args:
            size: Steps per piece.
            num_slices: How many pieces.
            k: An older name of `size`.
        """
        size = k if size is None else size
        if (size is None) == (num_slices is None):
            raise PieceError("timeslices() needs either size or num_slices.")
        pieces: list[SampleBatch] = []
        # A slice of a batch means steps that were taken, see `cut`.
        start, rows_left = 0, self.count
        while rows_left > 0 and (num_slices is None or len(pieces) < num_slices):
            length = size if size is not None else rows_left // (num_slices - len(pieces))  # type: ignore[operator]
            piece = self[start : start + max(length, 1)]
            while not piece.count and start + length < start + rows_left:
                length += 1
                piece = self[start : start + length]
            pieces.append(piece)
            done = piece.count
            start, rows_left = start + done, rows_left - done
        return pieces

    def split_by_episode(self, key: str | None = None) -> list[SampleBatch]:
        """One batch per episode.

        Args:
            key: "eps_id" to split where the id changes, "dones" to split after each end of an
                episode; the first of the two that the columns allow where None.
        """
        if key not in (None, self.EPS_ID, self.DONES):
            raise PieceError(
                "a batch cannot be split like this",
                expected=f"{self.EPS_ID!r}, {self.DONES!r} or None",
                found=repr(key),
            )
        if key is None:
            key = self.EPS_ID if self.EPS_ID in self else self.DONES
        if key == self.EPS_ID:
            ids = xp.to_numpy(self[self.EPS_ID])
            cuts = np.flatnonzero(ids[1:] != ids[:-1]) + 1
        else:
            cuts = np.flatnonzero(self._ends()) + 1
        bounds = [0, *cuts[cuts < self.count].tolist(), self.count]
        return [self.slice(a, b) for a, b in pairwise(bounds) if b > a]

    def shuffle(self) -> SampleBatch:
        """Put the rows in random order, in place; whole sequences where they are padded.

        Draws from numpy's global generator, the one that users of the old stack seed.
        """
        lens = bc.lens_of(self)
        if lens is not None and not self.zero_padded:
            raise PieceError(
                "a batch with seq_lens cannot be shuffled before it is padded.",
                hint="call right_zero_pad() first.",
            )
        units = self.count if lens is None else len(lens)
        order = np.random.permutation(units)  # noqa: NPY002  # see the docstring
        steps = order if lens is None else bc.rows_of_sequences(order, self.max_seq_len)
        for name, column in list(self.items()):
            rows = order if bc.is_per_sequence(name) and lens is not None else steps
            dict.__setitem__(self, name, bc.take_rows({name: column}, rows)[name])
        self.intercepted_values.clear()
        return self

    def right_zero_pad(self, max_seq_len: int, exclude_states: bool = True) -> SampleBatch:
        """Pad every sequence with zeros to `max_seq_len` rows, in place.

        Args:
            max_seq_len: At least as long as the longest sequence.
            exclude_states: Leave "state_in_i" and "state_out_i" alone.
        """
        lens = bc.lens_of(self)
        if lens is None:
            raise PieceError(
                "only a batch with a 'seq_lens' column can be padded",
                found=f"columns {list(self.keys())}",
            )
        if max(lens) > max_seq_len:
            raise PieceError(
                "a sequence is longer than it may be",
                expected=f"at most {max_seq_len} steps",
                found=f"{max(lens)}",
            )

        def padded(array: Any) -> Any:
            features, _, _ = chop_into_sequences(
                feature_columns=[array],
                state_columns=[],
                max_seq_len=max_seq_len,
                dynamic_max=False,
                seq_lens=lens,
            )
            return list(features[0]) if isinstance(array, list) else features[0]

        total = int(lens.sum())
        for name, column in list(self.items()):
            is_state = name.startswith(("state_in_", "state_out_"))
            if name == self.SEQ_LENS or (is_state and exclude_states):
                continue
            if not is_state or len(bc.first_array(column)) == total:
                dict.__setitem__(self, name, bc.map_column(padded, column))
        self.zero_padded, self._max_seq_len = True, max_seq_len
        self.intercepted_values.clear()
        return self

    def concat(self, other: SampleBatch) -> SampleBatch:
        """This batch and another as one."""
        joined: SampleBatch = SampleBatch.concat_samples([self, other])
        return joined

    @staticmethod
    def concat_samples(samples: Sequence[Any]) -> Any:
        """Batches as one; see `multi_agent_batch.concat_samples`."""
        from .multi_agent_batch import concat_samples

        return concat_samples(samples)

    def as_multi_agent(self, module_id: str | None = None) -> MultiAgentBatch:
        """The batch as that of the only policy, "default_policy" where it has no other name."""
        from .multi_agent_batch import MultiAgentBatch

        return MultiAgentBatch({module_id or "default_policy": self}, self.count)

    def to_device(
        self,
        device: str | torch.device,
        framework: str = "torch",
        pin_memory: bool = False,
        use_stream: bool = False,
        stream: Any = None,
    ) -> SampleBatch:
        """Turn the columns into torch tensors on `device`, in place; float64 becomes float32.

        Args:
            device: A torch device or its name.
            framework: Only "torch" is supported.
            pin_memory: Pin the memory first, for a faster way to the GPU.
            use_stream: Copy without waiting.
            stream: The CUDA stream to copy on.
        """
        if framework != "torch":
            raise PieceError(f"batches move to torch devices only, not to {framework!r}.")
        for name, column in list(self.items()):
            moved = bc.to_torch(column, device, pin_memory, use_stream, stream)
            dict.__setitem__(self, name, column if name == self.INFOS else moved)
        return self

    def compress(self, bulk: bool = False, columns: Collection[str] = _COMPRESSED) -> SampleBatch:
        """Do nothing; Ray compresses observations with lz4 here, if it is installed."""
        return self

    def decompress_if_needed(self, columns: Collection[str] = _COMPRESSED) -> SampleBatch:
        """Do nothing; see `compress`."""
        return self

    def is_terminated_or_truncated(self) -> bool:
        """Whether the last step ended its episode."""
        return bool(self._ends()[-1])

    def is_single_trajectory(self) -> bool:
        """Whether no step but the last one ended an episode."""
        return not bool(self._ends()[:-1].any())

    def get_single_step_input_dict(
        self, view_requirements: Mapping[str, Any], index: str | int = "last"
    ) -> SampleBatch:
        """Return the input of the policy at one position of a trajectory.

        Args:
            view_requirements: The view requirements of the policy.
            index: "last" for the position after the last step, whose observation is "new_obs";
                or a step, whose columns are returned unchanged, as in RLlib.
        """
        return SampleBatch(bc.single_step_columns(self, view_requirements, index))

    def _ends(self) -> Any:
        columns = [self[name] for name in (self.TERMINATEDS, self.TRUNCATEDS) if name in self]
        if not columns:
            return xp.to_numpy(self[self.TERMINATEDS]).astype(bool)
        return np.logical_or.reduce([xp.to_numpy(column).astype(bool) for column in columns])
