"""Lists of varying length as one padded batch: what a model gets for a Repeated space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core import nest


@dataclass(frozen=True)
class RepeatedValues:
    """A batch of variable-length lists, padded to one length.

    Args:
        values: Nest of arrays `(B, max_len, *item)`; repeated values where lists lie in lists.
        lengths: How many items of each list are real, `(B,)`.
        max_len: The length all lists are padded to.

    Example:
        >>> import numpy as np
        >>> lists = RepeatedValues(np.array([[5, 6], [7, 0]]), np.array([2, 1]), max_len=2)
        >>> [[int(item) for item in row] for row in lists.unbatch_all()]
        [[5, 6], [7]]
    """

    values: Any
    lengths: Any
    max_len: int

    def unbatch_all(self) -> list[list[Any]]:
        """One list per row, with as many items as the row really has."""
        return [
            [
                nest.map_structure(lambda part, at=(row, item): _item(part, *at), self.values)
                for item in range(int(self.lengths[row]))
            ]
            for row in range(len(self.lengths))
        ]

    def unbatch_repeat_dim(self) -> Any:
        """The nest with a list of `max_len` batches in place of each array."""
        return nest.map_structure(
            lambda part: [_place(part, item) for item in range(self.max_len)], self.values
        )


def _item(part: Any, row: int, item: int) -> Any:
    if not isinstance(part, RepeatedValues):
        return part[row][item]
    length = int(part.lengths[row][item])
    return [
        nest.map_structure(lambda leaf: leaf[row][item][place], part.values)  # noqa: B023  # called at once
        for place in range(length)
    ]


def _place(part: Any, item: int) -> Any:
    if not isinstance(part, RepeatedValues):
        return part[:, item]
    inner = nest.map_structure(lambda leaf: leaf[:, item], part.values)
    return RepeatedValues(inner, part.lengths[:, item], part.max_len)
