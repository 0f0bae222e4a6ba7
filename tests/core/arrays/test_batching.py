"""Items to batches and back, for every kind of item RLlib batches."""

import pickle
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.arrays.batching import BatchedNdArray, batch, unbatch
from rlconnect.core.errors import SpaceError

SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(0, 3))


AUTO = {"individual_items_already_have_batch_dim": "auto"}


def tagged(*shape):
    return BatchedNdArray(np.ones(shape))


@pytest.mark.parametrize(
    ("items", "dtype"),
    [
        ([1, 2], np.int64),
        ([1.0, 2.0], np.float64),
        ([True, False], np.bool_),
        ([np.float32(1), np.float32(2)], np.float32),
        ([1, 2.5], np.float64),
        ([np.ones(2, np.float32), np.zeros(2, np.float32)], np.float32),
        ([None, None], np.object_),
    ],
)
def test_numpy_chooses_the_dtype(items, dtype):
    """Python numbers as numpy has them, arrays as they are."""
    assert batch(items).dtype == dtype


@given(SHAPES)
def test_unbatching_undoes_batching(shape):
    """Nested items come back equal, in order."""
    count, width, height = shape
    items = [
        {"b": np.full((width, height), k, np.float32), "a": (k, np.full(width, k))}
        for k in range(count)
    ]

    back = unbatch(batch(items))

    assert len(back) == count
    for item, one in zip(items, back, strict=True):
        assert list(one) == ["b", "a"]
        np.testing.assert_array_equal(one["b"], item["b"])
        assert one["a"][0] == item["a"][0]
        np.testing.assert_array_equal(one["a"][1], item["a"][1])


@pytest.mark.parametrize("mode", [True, "auto"])
def test_batches_are_joined(mode):
    """Items that are batches follow one another; "auto" knows them by their tag."""
    items = [{"a": tagged(2, 3), "b": (tagged(2),)}, {"a": tagged(1, 3), "b": (tagged(1),)}]

    result = batch(items, individual_items_already_have_batch_dim=mode)

    assert result["a"].shape == (3, 3)
    assert result["b"][0].shape == (3,)
    assert type(result["a"]) is np.ndarray


def test_auto_stacks_what_carries_no_tag():
    """Plain arrays are items."""
    result = batch([np.ones(3), np.ones(3)], individual_items_already_have_batch_dim="auto")

    assert result.shape == (2, 3)


def test_a_tag_shares_memory_and_lives_on_in_views():
    """Tagging copies nothing; a slice of a batch is a batch."""
    plain = np.zeros((3, 2))

    one = BatchedNdArray(plain)

    assert np.shares_memory(one, plain)
    assert isinstance(one[1:], BatchedNdArray)
    assert isinstance(BatchedNdArray([1, 2]), np.ndarray)


def test_lists_are_arrays_as_items_and_nests_inside_of_them():
    """RLlib's difference between the two is kept."""
    rows = batch([[1, 2, 3], [4, 5, 6]])
    inside = batch([{"a": [1, 2]}, {"a": [4, 5]}])

    np.testing.assert_array_equal(rows, [[1, 2, 3], [4, 5, 6]])
    assert isinstance(inside["a"], list)
    np.testing.assert_array_equal(inside["a"][0], [1, 4])


def test_forms_survive():
    """An OrderedDict stays one; nests of a single nested leaf are no flat dicts."""
    items = [OrderedDict(z=1, a=(2,)), OrderedDict(z=3, a=(4,))]

    result = batch(items)

    assert type(result) is OrderedDict
    assert unbatch(result) == items
    assert unbatch({"a": (np.array([1, 2]),)}) == [{"a": (1,)}, {"a": (2,)}]


def test_many_small_arrays_are_rows_whatever_became_of_them():
    """Unpickled ones have a dtype of their own; strided, wider and tagged ones are joined, too."""
    items = [np.full(3, k, np.float32) for k in range(40)]

    sent = batch([pickle.loads(pickle.dumps(item)) for item in items])
    strided = batch([*items[:-1], np.full((3, 2), 39, np.float32)[:, 0]])
    wider = batch([*items[:-1], np.full(3, 39.0)])
    with_tag = batch([*items[:-1], BatchedNdArray(items[-1])])

    assert sent.dtype == strided.dtype == with_tag.dtype == np.float32
    assert wider.dtype == np.float64
    for made in (sent, strided, wider, with_tag):
        np.testing.assert_array_equal(made, np.stack(items))
        assert type(made) is np.ndarray
        assert made.flags.writeable
    with pytest.raises(SpaceError, match="different shapes"):
        batch([*items, np.ones(4, np.float32)])


def test_tensors_become_arrays():
    """As RLlib's batches are numpy's."""
    torch = pytest.importorskip("torch")

    result = batch([torch.ones(2), torch.zeros(2)])

    np.testing.assert_array_equal(result, [[1, 1], [0, 0]])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: batch([]), "no items"),
        (lambda: batch([np.ones(2), np.ones(3)]), "different shapes"),
        (lambda: batch([np.ones((2, 3)), np.ones((3, 2))]), "different shapes"),
        (lambda: batch([1, [1, 2]]), "different shapes"),
        (lambda: batch([{"a": 1}, {"b": 1}]), "structures differ"),
        (lambda: batch([{"a": 1}, {"a": {"x": 2}}]), "structures differ"),
        (lambda: batch([1], individual_items_already_have_batch_dim="x"), "'auto'"),
        (lambda: batch([1], individual_items_already_have_batch_dim=True), "leading batch axis"),
        (
            lambda: batch(
                [tagged(2, 3), np.ones(3)], individual_items_already_have_batch_dim="auto"
            ),
            "leading batch axis",
        ),
        (lambda: unbatch({}), "nothing to unbatch"),
        (lambda: unbatch({"a": np.ones(2), "b": 1}), "nothing to unbatch"),
        (lambda: unbatch({"a": np.ones(2), "b": np.ones(3)}), "differ in length"),
    ],
)
def test_what_makes_no_batch_is_refused(call, match):
    """The error says what was expected."""
    with pytest.raises(SpaceError, match=match):
        call()
