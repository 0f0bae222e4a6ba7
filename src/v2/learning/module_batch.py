"""One module's part of a minibatch, as losses get it."""

from __future__ import annotations

from typing import Any

from typing_extensions import Self, override

from ...core import nest
from ...core.columns import Columns
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
