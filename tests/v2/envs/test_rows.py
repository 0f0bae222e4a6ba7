"""Observations of many environments as items: cast, copied, and refused where they do not fit."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple
from rlconnect.core.errors import SpaceError
from rlconnect.v2.envs.rows import RowReader


def test_rows_are_cast_and_are_copies():
    """What an environment changes later stays as it was read."""
    kept = np.zeros(2)
    rows = RowReader(Box(-1, 1, (2,), np.float32))([kept, [1, 1]])
    kept[:] = 9
    assert [row.dtype for row in rows] == [np.float32] * 2
    assert np.array_equal(rows, [[0, 0], [1, 1]])


def test_nested_observations_keep_their_structure():
    """Dicts and tuples come out as dicts and tuples of cast leaves; other items are copied."""
    space = Dict({"a": Tuple([Discrete(3), Box(0, 1, (1,), np.float32)]), "b": Text(5)})
    rows = RowReader(space)([{"a": (1, [0.5]), "b": "x"}, {"a": (2, [0.25]), "b": "y"}])
    assert [row["b"] for row in rows] == ["x", "y"]
    assert [row["a"][0] for row in rows] == [1, 2]
    assert rows[1]["a"][1].dtype == np.float32


@pytest.mark.parametrize(
    "wrong", [[np.zeros(3), np.zeros(3)], [np.zeros(2), np.zeros(3)], ["a", np.zeros(2)]]
)
def test_a_wrong_form_names_the_environment(wrong):
    """The first environment that does not fit is told, with what was expected."""
    with pytest.raises(SpaceError, match=r"environment \d .*observation"):
        RowReader(Box(-1, 1, (2,), np.float32))(wrong)


def test_a_tuple_of_another_length_is_refused():
    """Nothing is cut to fit."""
    with pytest.raises(SpaceError, match="environment 0"):
        RowReader(Tuple([Discrete(2), Discrete(2)]))([(1, 1, 1)])
