"""Columns that grow by a row a step."""

import numpy as np
from rlconnect.legacy.views.growing_columns import GrowingColumn


def test_rows_survive_growth():
    """Beyond any doubling, all rows are there in order."""
    column = GrowingColumn({"a": 0.0, "b": (np.zeros(2),)})
    for i in range(1, 40):
        column.append({"a": float(i), "b": (np.full(2, i),)})

    rows = column.rows()

    assert len(column) == 40
    assert rows["a"].tolist() == list(range(40))
    assert rows["b"][0][:, 1].tolist() == list(range(40))


def test_beyond_the_end_are_zeros():
    """Places after the last row give zeros of the same dtype."""
    column = GrowingColumn(5)

    assert column.at(np.array([0, 3])).tolist() == [5, 0]


def test_the_end_may_be_kept():
    """Keeping the last rows forgets the others; more than there are keeps all."""
    column = GrowingColumn(0)
    for i in range(1, 5):
        column.append(i)

    column.keep_last(2)
    column.keep_last(9)

    assert column.rows().tolist() == [3, 4]


def test_infos_stay_whole():
    """Dicts as values are objects, not columns."""
    column = GrowingColumn({"lives": 3}, is_object=True)
    column.append({})

    assert column.rows().tolist() == [{"lives": 3}, {}]
