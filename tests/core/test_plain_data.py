"""Values as data, and back."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.plain_data import NotPlainError, from_data, to_data

_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary()
)
_KEYS = st.one_of(st.integers(), st.text(), st.tuples(st.integers(), st.text()))
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner),
        st.tuples(inner, inner),
        st.dictionaries(_KEYS, inner),
        st.lists(inner).map(lambda items: deque(items, 4)),
    ),
    max_leaves=12,
)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(_VALUES)
def test_values_come_back(value: Any) -> None:
    """What is written is read again, types and order included."""
    back = from_data(to_data(value))

    assert back == value
    assert repr(back) == repr(value)


def test_sets_come_back() -> None:
    """Sets of both kinds, in whatever order."""
    value = [{1, (2, "a")}, frozenset({3})]

    assert from_data(to_data(value)) == value


def test_arrays_are_copied_and_numbers_keep_their_type() -> None:
    """Data shares nothing with the value, on neither way."""
    array = np.arange(3, dtype=np.int16)

    data = to_data([array, np.float32(0.5)])
    array[0] = 9
    first, second = from_data(data), from_data(data)
    first[0][1] = 7

    assert second[0].tolist() == [0, 1, 2]
    assert second[0].dtype == np.int16
    assert type(second[1]) is np.float32


def test_what_the_caller_knows_is_data_too() -> None:
    """A writer turns its own objects into dicts, and a reader back."""

    def write(value: Any, data: Any) -> dict[str, Any]:
        return {"fraction": data((value.numerator, value.denominator))}

    def read(data: Any, now: Any) -> Any:
        return Fraction(*from_data(data["fraction"]))

    assert from_data(to_data([Fraction(1, 3)], write), read) == [Fraction(1, 3)]


@pytest.mark.parametrize(
    "value", [object(), [np.array([object()])], {"a": Fraction(1, 3)}, [0] * 50, 1j]
)
def test_what_is_no_data_is_refused(value: Any) -> None:
    """Objects nobody knows, and more items than are allowed."""
    with pytest.raises(NotPlainError):
        to_data(value, most=20)


@pytest.mark.parametrize("data", [{"who": 1}, {"items": [], "kind": "eval"}])
def test_other_data_is_refused(data: Any) -> None:
    """A dict that nothing here has written."""
    with pytest.raises(NotPlainError):
        from_data(data)
