"""A train batch in minibatches: so many rows at a time of every module, round and round.

The rows of a module form a stream: first all in order, then all again, shuffled if that is asked
for, and so on; a minibatch takes the next rows of every module's stream. It ends when each module
has gone through its rows as often as there are epochs. So a minibatch may reach from one epoch into
the next, and all have the same size.

The rows of as many minibatches as make about one epoch are gathered at once, one `index_select` a
column; a minibatch is then a view of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from typing_extensions import Self, override

from ...core import nest
from ...core.columns import Columns
from ...core.errors import ConfigError
from ...core.types import Array
from ..modules.row_part import RowPart


class ModuleBatch(dict[str, Any]):
    """Columns by name, with the length of its rows: losses of strangers divide by `len(batch)`.

    Example:
        >>> import torch
        >>> batch = ModuleBatch(obs=torch.zeros(3, 1), rewards=torch.ones(3))
        >>> len(batch), sorted(batch), len(batch.copy(shallow=True))
        (3, ['obs', 'rewards'], 3)
    """

    part: RowPart | None = None
    """Which rows these are, where other learners have the others."""

    @override
    def __len__(self) -> int:
        obs = self.get(Columns.OBS)
        columns = self.values() if obs is None else (obs,)
        return next((len(nest.a_leaf(column)) for column in columns), 0)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self)

    @override
    def copy(self, shallow: bool = False) -> Self:
        """Give another one of the same columns.

        Args:
            shallow: Kept for RLlib's sake: tensors stay the same objects either way.
        """
        return type(self)(self)


nest.register_mapping(ModuleBatch)


Batch = dict[str, dict[str, Any]]

_BLOCK_BYTES: Final = 64 * 2**20
"""How much is gathered at once at most, if that is more than one minibatch."""


@dataclass(frozen=True)
class Epochs:
    """How often and in which portions a batch is gone through.

    Attributes:
        num_epochs: How often each module sees its rows.
        minibatch_size: Steps of each module in a minibatch; None takes all of them. Where rows are
            sequences, as many whole ones as hold so many steps on average, at least one.
        shuffle: Whether the rows are put into another order before each epoch but the first.
        num_minibatches: How many minibatches there are in all; 0 follows from the epochs.
    """

    num_epochs: int = 1
    minibatch_size: int | None = None
    shuffle: bool = False
    num_minibatches: int = 0

    @classmethod
    def asked(cls, epochs: int, size: int | None, shuffle: bool, minibatches: int) -> Epochs:
        """What an update is asked for; one pass has nothing to be put into another order for."""
        return cls(epochs, size, shuffle and epochs > 1, minibatches)

    def __post_init__(self) -> None:
        for name in ("num_epochs", "minibatch_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(name, expected="at least 1", found=repr(value))


def minibatches(
    batch: Batch,
    epochs: Epochs,
    rng: np.random.Generator | None,
    part: Callable[[int], RowPart] | None = None,
) -> Iterator[Batch]:
    """Give the minibatches of a train batch, or a learner's part of each.

    Args:
        batch: Columns by module; tensors, or nests of them.
        epochs: How often and in which portions.
        rng: Chooses the orders; not needed where rows are not shuffled.
        part: Which of a minibatch's rows are asked for; None for all.

    Example:
        >>> batch = {"p": {"obs": torch.arange(3)}}
        >>> halves = minibatches(batch, Epochs(1, 2), np.random.default_rng(0))
        >>> [half["p"]["obs"].tolist() for half in halves]
        [[0, 1], [2, 0]]
    """
    if epochs.minibatch_size is None:
        shares = (
            batch if part is None else {key: _part_of(each, part) for key, each in batch.items()}
        )
        for _ in range(epochs.num_minibatches or epochs.num_epochs):
            yield {
                module_id: _with_part(columns, shares[module_id], part)
                for module_id, columns in batch.items()
            }
        return
    streams = {
        module_id: _Stream(columns, epochs.minibatch_size, epochs.shuffle, rng, part)
        for module_id, columns in batch.items()
    }
    count = epochs.num_minibatches or max(
        -(-stream.rows * epochs.num_epochs // stream.size) for stream in streams.values()
    )
    for steps_left in range(count, 0, -1):
        yield {module_id: stream.next(steps_left) for module_id, stream in streams.items()}


def _part_of(columns: Mapping[str, Any], part: Callable[[int], RowPart]) -> dict[str, Any]:
    """A learner's rows of all, as copies: the memory they come in is not its own."""
    share = part(row_count(columns))
    rows = np.arange(share.start, share.stop)
    return {name: _gathered(column, rows) for name, column in columns.items()}


def _with_part(
    columns_of_all: Mapping[str, Any],
    share: Mapping[str, Any],
    part: Callable[[int], RowPart] | None,
) -> ModuleBatch:
    module_batch = ModuleBatch(share)
    module_batch.part = None if part is None else part(row_count(columns_of_all))
    return module_batch


def row_count(columns: Mapping[str, Any]) -> int:
    """How many rows the columns of a module have."""
    leaf = nest.a_leaf(columns.get(Columns.OBS, columns))
    return leaf.shape[0] if isinstance(leaf, torch.Tensor) else len(leaf)


def step_count(columns: Mapping[str, Any]) -> int:
    """How many steps its rows hold; the padding of sequences does not count."""
    if Columns.SEQ_LENS in columns:
        return int(columns[Columns.SEQ_LENS].sum())
    return row_count(columns)


class _Stream:
    """The endless rows of one module, handed out `size` at a time."""

    def __init__(
        self,
        columns: Mapping[str, Any],
        minibatch_size: int,
        is_shuffled: bool,
        rng: np.random.Generator | None,
        part: Callable[[int], RowPart] | None,
    ) -> None:
        self._columns = columns
        self._is_shuffled = is_shuffled
        self._rng = rng
        self.rows = row_count(columns)
        self.size = max(1, minibatch_size * self.rows // step_count(columns))
        self._order = np.arange(self.rows)
        self._at = 0
        self._part = None if part is None else part(self.size)
        self._own = slice(0, self.size)
        if self._part is not None:
            self._own = slice(self._part.start, self._part.stop)
        self._length = self._own.stop - self._own.start
        self._per_block = _minibatches_per_block(columns, self.rows, self.size)
        self._block: dict[str, Any] = {}
        self._in_block = self._next_in_block = 0

    def next(self, left: int) -> ModuleBatch:
        """Give the next minibatch, of so many that are left."""
        if self._next_in_block == self._in_block:
            self._in_block = min(self._per_block, left)
            self._next_in_block = 0
            rows = self._take(self._in_block * self.size)
            rows = rows.reshape(-1, self.size)[:, self._own].reshape(-1)
            self._block = {name: _gathered(column, rows) for name, column in self._columns.items()}
        start = self._next_in_block * self._length
        self._next_in_block += 1
        module_batch = ModuleBatch(
            (name, _cut(column, start, self._length)) for name, column in self._block.items()
        )
        module_batch.part = self._part
        return module_batch

    def _take(self, count: int) -> Array:
        parts = []
        while count:
            if self._at == self.rows:
                self._at = 0
                if self._is_shuffled and self._rng is not None:
                    self._order = self._rng.permutation(self.rows)
            part = self._order[self._at : self._at + count]
            self._at += len(part)
            count -= len(part)
            parts.append(part)
        return np.concatenate(parts)


def _minibatches_per_block(columns: Mapping[str, Any], rows: int, size: int) -> int:
    tensors = [leaf for leaf in nest.flatten(dict(columns)) if isinstance(leaf, torch.Tensor)]
    per_row = sum(leaf.element_size() * leaf[:1].numel() for leaf in tensors)
    return max(1, min(-(-rows // size), _BLOCK_BYTES // max(1, per_row * size)))


def _gathered(column: Any, rows: Array) -> Any:
    if isinstance(column, torch.Tensor):
        return column.index_select(0, torch.from_numpy(rows).to(column.device))
    if isinstance(column, list):  # infos, texts
        return [column[row] for row in rows]
    if isinstance(column, np.ndarray):
        return column[rows]
    return nest.map_structure(lambda leaf: _gathered(leaf, rows), column)


def _cut(column: Any, start: int, size: int) -> Any:
    if isinstance(column, torch.Tensor):
        return column.narrow(0, start, size)
    if isinstance(column, (list, np.ndarray)):
        return column[start : start + size]
    return nest.map_structure(lambda leaf: _cut(leaf, start, size), column)
