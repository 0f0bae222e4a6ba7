"""One-hot rows: RLlib's numbers, and an error where RLlib would wrap or fail later."""

from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from rlconnect.core.arrays.one_hot import one_hot, one_hot_in_space
from rlconnect.core.errors import SpaceError

RECORDED = np.load(Path(__file__).parents[2] / "golden" / "formulas" / "preprocessors.npz")


def test_depth_comes_from_the_largest_integer():
    """Without a depth the rows are as long as the data needs."""
    result = one_hot(np.array([1, 9, 3]))

    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, RECORDED["one_hot/plain"])


def test_values_and_dtype_can_be_chosen():
    """On and off values are written in the dtype asked for, on a new last axis."""
    result = one_hot(np.array([[1], [3]]), depth=4, on_value=2, off_value=-1, dtype=np.int8)

    assert result.dtype == np.int8
    np.testing.assert_array_equal(result, RECORDED["one_hot/values"])


@pytest.mark.parametrize(
    ("x", "match"), [(4, "found 4"), (-1, "found -1"), (np.array([0.5]), "float64")]
)
def test_what_points_nowhere_is_refused(x, match):
    """An index outside of its row is an error; RLlib lets -1 mean the last place."""
    with pytest.raises(SpaceError, match=match):
        one_hot(x, depth=4)


@pytest.mark.parametrize(
    ("space", "x"),
    [
        (Discrete(3, start=-1), np.array([-1, 1, 0])),
        (MultiDiscrete([2, 3]), np.array([[0, 2], [1, 1]])),
        (MultiDiscrete([2, 3]), np.zeros((0, 2), np.int64)),
        (MultiDiscrete([2, 3], start=[1, -1]), np.array([[1, 1], [2, -1]])),
        (MultiDiscrete([[2, 3], [4, 2]]), np.array([[[1, 2], [3, 1]]])),
    ],
)
def test_tensors_and_arrays_agree(space, x):
    """The rows of a space are the same for numpy and torch, and hold one 1 per part."""
    torch = pytest.importorskip("torch")
    parts = 1 if isinstance(space, Discrete) else space.nvec.size

    rows = one_hot_in_space(x, space)
    tensor = one_hot_in_space(torch.from_numpy(x), space)

    assert tensor.dtype == torch.int64
    np.testing.assert_array_equal(rows, tensor.numpy())
    np.testing.assert_array_equal(rows.sum(-1), np.full(len(x), parts))


@pytest.mark.parametrize("start", [0, 1, -1, 5])
def test_values_of_modules_index_rows_directly(start):
    """As RLlib's one_hot() for torch does, whatever the start; its own values are modulo n."""
    torch = pytest.importorskip("torch")
    single, several = Discrete(3, start=start), MultiDiscrete([2, 3], start=[start, start])
    own = start + np.arange(3)

    np.testing.assert_array_equal(one_hot_in_space(torch.arange(3), single), np.eye(3))
    np.testing.assert_array_equal(one_hot_in_space(np.arange(3), single), np.eye(3))
    np.testing.assert_array_equal(one_hot_in_space(own, single), np.eye(3)[own % 3])
    np.testing.assert_array_equal(one_hot_in_space(np.array([1, 0]), several), [0, 1, 1, 0, 0])
    outside = max(start, 0) + 3
    with pytest.raises(SpaceError, match="does not fit"):
        one_hot_in_space(np.array([outside]), single)


@pytest.mark.parametrize("depth", [0, 3])
def test_rows_of_a_length_are_arrays(depth):
    """A tensor of integers becomes an array of rows, as RLlib's function for numpy has it."""
    torch = pytest.importorskip("torch")

    result = one_hot(torch.tensor([2, 0]), depth=depth)

    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [[0, 0, 1], [1, 0, 0]])


def test_a_space_without_integers_has_no_one_hot_form():
    """The error names the space."""
    with pytest.raises(SpaceError, match="Box"):
        one_hot_in_space(np.zeros(2), Box(-1, 1, (2,)))
