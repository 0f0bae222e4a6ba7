"""Comparing nests: where they differ first, by how much, and RLlib's own assertion."""

import numpy as np
import pytest
from rlconnect.core.arrays.compare import check, differences

NAN, INF = np.nan, np.inf


def test_every_leaf_that_differs_is_told():
    """Its place, and by how much; differences within the tolerance are none."""
    a = {"x": [np.zeros(3), np.array([1.0, 2.0])], "y": 5.0}
    b = {"x": [np.zeros(3) + 0.1, np.array([1.0, 2.5])], "y": 7.0}

    first, second = differences(a, b, atol=0.2)

    assert first.startswith("value['x'][1]: 1 of 2 numbers differ, by 0.5 at most")
    assert second == "value['y']: 5.0 is not 7.0, off by 2"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (NAN, NAN),
        (np.array([INF, -INF, 1]), np.array([INF, -INF, 1])),
        ("a", "a"),
        (None, None),
        ([], []),
        ({"a": np.zeros((0, 2))}, {"a": np.zeros((0, 2))}),
        ((1, 2), [1, 2]),
        (100.0, 101.0),
        (np.array(["a"]), np.array(["a"])),
        (np.uint8(255), np.float32(255)),
    ],
)
def test_equal_within_one_percent(a, b):
    """Kinds of leaves that are equal."""
    assert differences(a, b, rtol=0.01) == []


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (NAN, 1.0, "nan is not 1.0"),
        (INF, -INF, "inf is not -inf"),
        (1.0, INF, "1.0 is not inf"),
        (np.zeros(2), np.zeros((1, 2)), "shape"),
        ({"a": 1}, {"b": 1}, "keys"),
        ({"a": 1}, [1], "dict is not a list"),
        ([1], [1, 2], "items"),
        (None, 0, "None is not 0"),
        ("a", "b", "'a' is not 'b'"),
        (100.0, 102.0, "off by 2"),
        (np.array([1.0, 9.0]), np.array([1.0, 2.0]), "1 of 2 numbers differ"),
    ],
)
def test_different_by_more_than_one_percent(a, b, reason):
    """Kinds of leaves that differ, and the words for it."""
    result = differences(a, b, rtol=0.01)

    assert len(result) == 1
    assert reason in result[0]


def test_dtypes_matter_only_where_asked():
    """Numbers are compared by value."""
    a, b = np.ones(2, np.float32), np.ones(2)

    assert differences(a, b) == []
    assert "float32 is not float64" in str(differences(a, b, dtypes=True))


def test_tensors_compare_with_arrays():
    """Also such that need a gradient."""
    torch = pytest.importorskip("torch")
    tensor = torch.ones(2, requires_grad=True)

    assert differences({"a": tensor}, {"a": np.ones(2)}) == []
    check(tensor, torch.ones(2))


@pytest.mark.parametrize(
    ("x", "y", "options"),
    [
        (1.0, 1.000014, {}),
        (np.ones(2), 1.0, {}),
        (100.0, 101.0, {"rtol": 0.02}),
        (1000.0, 1000.005, {"atol": 0.01}),
        (1.0, 1.4, {"decimals": 0}),
        ({"a": 1}, {"a": 1, "b": 2}, {}),
        ((1, 2), [1, 2], {}),
        (True, 1, {}),
        (1, 2, {"false": True}),
        (np.ones(2), np.ones(3), {"false": True}),
        ("a", "b", {"false": True}),
    ],
)
def test_check_passes_where_rllibs_does(x, y, options):
    """Recorded by hand from Ray 2.60.0; raising is the failure."""
    assert check(x, y, **options) is None


@pytest.mark.parametrize(
    ("x", "y", "options"),
    [
        (1.0, 1.000016, {}),
        (0.0, 1e-8, {"rtol": 1e-5}),
        (1.0, 2.6, {"decimals": 0}),
        ({"a": 1, "b": 2}, {"a": 1}, {}),
        ([1, 2], np.array([1, 2]), {}),
        ([1, 2], [1], {}),
        ({"a": 1}, [1], {}),
        (np.ones(2), np.ones((1, 2)), {}),
        (np.array([True]), np.array([False]), {}),
        (None, 1, {}),
        (1, 1, {"false": True}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"false": True}),
    ],
)
def test_check_fails_where_rllibs_does(x, y, options):
    """Recorded by hand from Ray 2.60.0."""
    with pytest.raises(AssertionError):
        check(x, y, **options)
