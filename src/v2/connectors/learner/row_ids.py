"""Whose row of a train batch it is, without an item for each row."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, overload

from typing_extensions import override


class RowIds(Sequence[Any]):
    """The episode ids of rows that lie episode by episode.

    A list of them would stay in memory while advantages are computed, when a batch needs most.

    Args:
        ids: One id an episode.
        counts: How many rows each has.

    Example:
        >>> RowIds(["e0", "e1"], [2, 1])
        ['e0', 'e0', 'e1']
    """

    __slots__ = ("_counts", "_ends", "_ids")

    def __init__(self, ids: Sequence[Any], counts: Sequence[int]) -> None:
        self._ids, self._counts = ids, counts
        self._ends = list(accumulate(counts))

    @override
    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @override
    def __iter__(self) -> Iterator[Any]:
        return iter(self.listed())

    def listed(self) -> list[Any]:
        """The list they stand for."""
        ids: list[Any] = []
        for episode_id, count in zip(self._ids, self._counts, strict=True):
            ids += [episode_id] * count
        return ids

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    @override
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self.listed()[index]
        return self._ids[bisect_right(self._ends, range(len(self))[index])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.listed() == [*other]

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return repr(self.listed())
