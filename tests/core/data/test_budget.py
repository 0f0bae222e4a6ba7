"""What foreign data may cost, and what counts as a shape or dtype."""

from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from rlconnect.core.data.budget import (
    DEFAULT_LIMITS,
    MAX_DEPTH,
    MAX_DIMENSIONS,
    Budget,
    Limits,
    allowance,
    checked_bytes,
    checked_dtype,
    checked_int,
    checked_shape,
    limits,
    limits_in_force,
    one_load,
)
from rlconnect.core.errors import (
    ConfigError,
    CorruptCheckpointError,
    LimitExceededError,
    UnsafeCheckpointError,
)


def test_a_budget_is_spent_once():
    """What one part took is missing for the next."""
    budget = Budget.of_bytes(100)

    budget.spend(60, "one")

    with pytest.raises(LimitExceededError, match="two would take 41 bytes"):
        budget.spend(41, "two")
    budget.spend(40, "three")


def test_a_budget_grows_with_the_files_that_are_read():
    """The base is granted once; each file adds what its own bytes may unfold to."""
    budget = Budget(Limits(base_memory=100, memory_factor=6, max_operations=3))

    budget.admit(10)
    budget.admit(70)

    assert (budget.total, budget.left) == (580, 580)
    assert budget.operations == 10


def test_what_is_loaded_together_shares_one_budget():
    """Whoever asks inside a load gets its budget; by itself, or with a bound, one of his own."""
    with one_load() as outer:
        with one_load() as inner:
            assert inner is outer
        assert allowance() is outer
        assert allowance(10).left == 10
        with one_load(Limits(max_depth=9)) as other:
            assert allowance() is other

    assert allowance() is not allowance()


def test_who_trusts_a_file_widens_the_bounds_of_whatever_reads_it():
    """Bounds asked for hold in the block for all loads in it, and add up; others stay."""
    with limits(max_depth=7), limits(base_memory=10) as bounds:
        assert (bounds.max_depth, bounds.base_memory) == (7, 10)
        assert bounds.max_entries == DEFAULT_LIMITS.max_entries
        assert limits_in_force(Limits(max_depth=9, max_entries=5)) == replace(bounds, max_entries=5)
        with one_load() as budget, pytest.raises(LimitExceededError, match=r"limits\(base_memory="):
            budget.spend(11, "an array")

    assert limits_in_force() is DEFAULT_LIMITS
    with one_load(Limits(max_depth=9)):
        assert limits_in_force().max_depth == 9


@pytest.mark.parametrize("bounds", [{"memory": 1}, {"max_depth": -1}, {"max_depth": 1.5}])
def test_bounds_that_are_none_are_refused(bounds):
    """A name nobody knows, and what is no number of things."""
    with pytest.raises(ConfigError, match=next(iter(bounds))), limits(**bounds):
        pass


def test_depth_is_counted_only_while_inside():
    """Leaving a level frees it; the one too many is refused."""
    budget = Budget()
    with ExitStack() as stack:
        for _ in range(MAX_DEPTH):
            stack.enter_context(budget.level("a"))
        too_deep = pytest.raises(LimitExceededError, match="c is nested too deeply")
        with too_deep, budget.level("c"):
            pass

    with budget.level("d"):
        pass


@pytest.mark.parametrize("shape", [[-1], [1.0], ["3"], [True], [None], "3", 3, None, {"a": 1}])
def test_what_is_no_shape_is_corrupt(shape):
    """Sizes are whole and not negative, in a list or tuple."""
    with pytest.raises(CorruptCheckpointError):
        checked_shape(shape, "it")


@pytest.mark.parametrize(
    "shape", [[1] * (MAX_DIMENSIONS + 1), [2**62, 2**62], [0, 2**63], [10**30]]
)
def test_shapes_beyond_any_memory_are_refused(shape):
    """Too many axes, or a product no address reaches, even behind a zero."""
    with pytest.raises(LimitExceededError):
        checked_shape(shape, "it")


def test_numpy_sizes_become_python_ones():
    """Sizes out of a pickle may be numpy integers."""
    shape = checked_shape((np.int64(3), 2), "it")

    assert shape == (3, 2)
    assert all(type(size) is int for size in shape)


@pytest.mark.parametrize("given", ["<f4", ">i8", "|u1", "float32", "bool", np.dtype("c8"), "=f8"])
def test_number_dtypes_pass(given):
    """Codes, names and dtypes of plain numbers are taken."""
    assert checked_dtype(given, "it") == np.dtype(given)


@pytest.mark.parametrize("given", ["|O", "O", "object", np.dtype(object), np.dtype([("a", "O")])])
def test_object_dtypes_are_unsafe(given):
    """An array of objects is a pickle in disguise."""
    with pytest.raises(UnsafeCheckpointError):
        checked_dtype(given, "it")


@pytest.mark.parametrize(
    "given", ["<U5", "|S3", "|V8", "<M8[ns]", "f4,f4", "(2,)f4", "nope", "", 4, None, [("a", "f4")]]
)
def test_other_dtypes_are_corrupt(given):
    """Text, bytes, times and fields are no numbers; numpy's mini-language is not spoken."""
    with pytest.raises(CorruptCheckpointError):
        checked_dtype(given, "it")


def test_a_kind_can_be_demanded():
    """A float dtype is no answer where integers are meant."""
    with pytest.raises(CorruptCheckpointError):
        checked_dtype("<f4", "it", "iu")


def test_bytes_of_an_array():
    """Size times width, in Python's unbounded integers."""
    assert checked_bytes((2**20, 2**20), np.dtype("f8")) == 2**43
    assert checked_bytes((), np.dtype("f8")) == 8


def test_bools_are_no_sizes():
    """True is an int to Python; to a size it is a mistake."""
    with pytest.raises(CorruptCheckpointError):
        checked_int(True, "it")
