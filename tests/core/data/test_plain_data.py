"""Values as data, and back."""

from __future__ import annotations

import contextlib
from collections import deque
from fractions import Fraction
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.data.msgpack_arrays import encode_msgpack_object
from rlconnect.core.data.plain_data import NotPlainError, from_data, to_data
from rlconnect.core.errors import CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.msgpack_file import decode_msgpack

from tests.core.damaged_data import damaged

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


def test_what_is_deep_or_holds_itself_is_refused() -> None:
    """What is written can be read from a file, whose depth is limited; the rest is refused."""
    deep: Any = 0
    for _ in range(40):
        deep = {"in": deep}
    itself: list[Any] = []
    itself.append(itself)
    data = msgpack.packb(to_data(deep), default=encode_msgpack_object)

    assert from_data(decode_msgpack(data, Budget(Limits(), len(data)))) == deep
    for value in ([deep], itself):
        with pytest.raises(NotPlainError):
            to_data(value)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ({"who": 1}, "at the top: unknown tag 'who'"),
        ({}, "unknown tag"),
        ({1: 2}, "unknown tag 'int'"),
        ([1], "a list stands without its tag"),
        ({"items": [], "kind": "eval"}, "a malformed items, no 'eval'"),
        ({"items": [[1]], "kind": "list"}, "at 0: a list stands without its tag"),
        ({"items": 5, "kind": "list"}, "a malformed items"),
        ({"items": [1, 1], "kind": "set"}, "an entry stands twice"),
        ({"items": [{"items": [], "kind": "list"}], "kind": "set"}, "unhashable"),
        ({"items": [], "kind": "deque", "longest": "x"}, "a malformed items"),
        ({"pairs": [[1, 2, 3]]}, "a malformed pairs"),
        ({"pairs": [["a", 1], ["a", 2]]}, "an entry stands twice"),
        ({"pairs": [["a", {"long": "x"}]]}, "at a: a malformed long"),
        ({"long": 3.5}, "a malformed long"),
        ({"number": [1]}, "a malformed number"),
    ],
)
def test_damaged_data_is_told(data: Any, match: str) -> None:
    """What nothing here has written is an error that names the place and what is wrong there."""
    with pytest.raises(CorruptCheckpointError, match=match) as caught:
        from_data(data, name="the state of a test")

    assert str(caught.value).startswith("the state of a test is damaged at ")


def test_a_reader_that_stumbles_has_met_damage() -> None:
    """Whatever a caller's own reader raises is told in the same way."""
    with pytest.raises(CorruptCheckpointError, match="at 0: a malformed fraction, no 'of'"):
        from_data(
            {"items": [{"fraction": {}}], "kind": "list"}, lambda data, now: data["fraction"]["of"]
        )


@settings(derandomize=True, deadline=None, max_examples=120)
@given(_VALUES, st.data())
def test_any_damage_is_read_or_told(value: Any, data: Any) -> None:
    """Data with a part of it exchanged is other data, or a typed error; never a crash."""
    with contextlib.suppress(CorruptCheckpointError):
        from_data(damaged(to_data([value]), data.draw))


@pytest.mark.parametrize("kind", ["set", "frozenset", "pairs"])
def test_keys_built_to_collide_are_refused(kind: str) -> None:
    """Numbers of one hash would make a table of n of them take n * n steps."""
    keys = [{"long": hex((2**61 - 1) * i + 7 + 2**63)} for i in range(100)]
    pairs = {"pairs": [[key, None] for key in keys]}

    with pytest.raises(LimitExceededError, match="collide"):
        from_data(pairs if kind == "pairs" else {"items": keys, "kind": kind})


def test_numbers_without_end_are_refused() -> None:
    """Reading and printing them would take quadratic time."""
    with pytest.raises(CorruptCheckpointError, match="digits"):
        from_data({"long": "0x" + "f" * 5000})
    with pytest.raises(NotPlainError, match="without end"):
        to_data(1 << 9000)
