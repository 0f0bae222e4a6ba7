"""Values of one step as rows of a batch."""

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.legacy.batches.step_rows import (
    stack_objects,
    stack_rows,
    to_row,
    zero_of,
    zeros_of,
)

SPACES = [
    spaces.Discrete(3),
    spaces.Discrete(3, start=5),
    spaces.MultiDiscrete([2, 3]),
    spaces.MultiBinary(3),
    spaces.Box(1, 2, (2, 3), np.float32),
    spaces.Box(0, 255, (2,), np.uint8),
    spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Tuple((spaces.Box(-1, 1, ()),))}),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_zeros_have_the_form_of_the_space(space):
    """Zeros nest like a sample; integers stay integers, the row has one axis more."""
    zero, row = zero_of(space), zeros_of(space)

    if not isinstance(space, spaces.Dict):
        assert zero.shape == space.shape
        assert row.shape == (1, *space.shape)
        assert zero.dtype == space.dtype
    else:
        assert zero["a"][0].shape == ()
        assert row["b"].tolist() == [0]


def test_other_spaces_are_sampled_for_their_form():
    """A space without shape gives zeros like its samples."""
    space = spaces.Sequence(spaces.Discrete(3), stack=False, seed=1)

    assert all(leaf == 0 for leaf in zero_of(space))


@pytest.mark.parametrize("value", [1.5, np.float64(1.5), np.array([1.0, 2.0])])
def test_doubles_become_floats(value):
    """Networks compute in float32."""
    assert to_row(value).dtype == np.float32
    assert to_row(value).shape[0] == 1


def test_rows_own_their_memory():
    """Writing into a row changes nothing that was given."""
    given = np.zeros(2, np.float32)

    to_row(given)[0, 0] = 1
    stack_rows([given])[0, 0] = 1

    assert given.tolist() == [0, 0]


def test_stacking_equals_rows_joined():
    """Stacked nests hold, row by row, what each nest's own row holds."""
    values = [{"a": np.full((2, 2), i), "b": (i, np.float64(i))} for i in range(3)]

    stacked = stack_rows(values)

    for i, value in enumerate(values):
        np.testing.assert_array_equal(stacked["a"][i], to_row(value)["a"][0])
        assert stacked["b"][1][i] == to_row(value)["b"][1][0]
    assert stacked["b"][1].dtype == np.float32


@pytest.mark.parametrize(
    "values",
    [
        [np.zeros(2), np.zeros(3)],
        [np.zeros((2, 1)), np.zeros((2, 2))],
        [np.zeros(2), 1.0],
        [1.0, np.zeros(2)],
    ],
)
def test_shapes_must_agree(values):
    """Values of different shapes are refused, never broadcast."""
    with pytest.raises(ValueError, match="different shapes"):
        stack_rows(values)


def test_objects_stay_whole():
    """Dicts and lists of equal length are entries, not axes."""
    assert stack_objects([{"a": 1}, {}]).tolist() == [{"a": 1}, {}]
    assert stack_objects([[1, 2], [3, 4]]).shape == (2,)
