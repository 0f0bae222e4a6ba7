"""Which of numpy and torch computes an actor's network."""

from __future__ import annotations

from typing import Any

from ...legacy.models.numpy_columns import ColumnStack
from ...legacy.networks import MAX_NUMPY_ROWS


def is_numpy_quicker(run: Any, rows: int) -> bool:
    """Whether numpy is the quicker one, as measured.

    It is up to 1,024 rows, where torch's dispatch costs more than the arithmetic. On one core it
    is for any number of rows, for networks that it computes by columns; torch shares a large
    batch better among several cores.

    Args:
        run: The network in numpy.
        rows: How many observations there are.
    """
    return rows <= MAX_NUMPY_ROWS or (isinstance(run, ColumnStack) and _is_one_core())


def _is_one_core() -> bool:
    import torch

    return bool(torch.get_num_threads() == 1)
