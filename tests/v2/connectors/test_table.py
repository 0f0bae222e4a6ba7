"""Rows become the items that the pieces would give."""

import numpy as np
import pytest
from rlconnect.core.arrays.batching import unbatch
from rlconnect.v2.connectors.table import have_rows, items_of

from .planning import scenes

ROWS = np.arange(12.0, dtype=np.float32).reshape(3, 4)
COLUMNS = [
    ROWS,
    ROWS[:, 0],
    {"h": ROWS, "c": ROWS[:, 0]},
    {"h": ROWS, "c": ROWS, "z": (ROWS, {"deep": ROWS})},
    {"actor": {"h": ROWS, "c": ROWS}, "critic": {"h": ROWS, "c": ROWS}},
    (ROWS, ROWS[:, 0]),
]


@pytest.mark.parametrize("column", COLUMNS)
def test_items_are_those_of_unbatch(column):
    """However columns are nested: types, keys in order, values."""
    assert have_rows({"column": column}, 3)

    assert scenes.is_same(items_of(column), unbatch(column))


@pytest.mark.parametrize(
    "column", [ROWS[:2], np.float32(1), [ROWS], {}, {"h": ROWS, "c": ROWS[:2]}, (ROWS, [1, 2, 3])]
)
def test_other_columns_have_no_rows(column):
    """Other lengths, lists and empty nests are left to the pieces."""
    assert not have_rows({"column": column}, 3)
