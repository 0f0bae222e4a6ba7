"""Why a value does not fit: agrees with gymnasium on whether, and says where and why."""

import warnings

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Text, Tuple
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import LimitExceededError
from rlconnect.core.spaces.fit import explain_mismatch
from rlconnect.core.spaces.values import sample

from tests.spaces_table import SPACES, make_space

STRANGE = [
    None,
    True,
    -1,
    2.5,
    "abc",
    "",
    (),
    [],
    {},
    {"a": 1},
    (0, 1),
    [1, 0],
    np.int64(1),
    np.float32(0.5),
    np.zeros(3, np.float32),
    np.zeros((2, 3), np.int8),
    np.full(3, np.nan, np.float32),
    np.full(2, 9.0),
    np.array("x"),
]


IS_OLD = MultiDiscrete([2]).contains(np.zeros(1, np.float32))
takes_floats = pytest.mark.skipif(IS_OLD, reason="this gymnasium takes floats for integers")


def is_member(space, value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gymnasium warns that it casts lists
        try:
            return bool(space.contains(value))
        except Exception:  # what gymnasium stumbles over is no member
            return False


@takes_floats
@given(st.sampled_from(sorted(SPACES)), st.sampled_from(sorted(SPACES)), st.integers(0, 99))
def test_gymnasium_agrees(name, other, seed):
    """There is a reason exactly when gymnasium finds that a value is no member."""
    space = make_space(name)
    value = sample(make_space(other), seed)

    reason = explain_mismatch(space, value)

    assert (reason is None) == is_member(space, value), reason


@takes_floats
@pytest.mark.parametrize("name", SPACES)
def test_strange_values_are_judged_alike(name):
    """Wrong types, empties and not-a-numbers are refused, or taken, as gymnasium does."""
    space = make_space(name)

    for value in STRANGE:
        reason = explain_mismatch(space, value)
        assert (reason is None) == is_member(space, value), (value, reason)


@pytest.mark.parametrize(
    ("space", "value", "reason"),
    [
        (Box(0, 1, (2,)), np.zeros(3, np.float32), "value: expected shape (2,), found (3,)"),
        (Box(0, 1, (2,)), np.zeros(2), "value: expected dtype float32, found float64"),
        (
            Box(0, 1, (2, 2)),
            np.array([[0, 0], [3, 4]], np.float32),
            "value: expected <= 1.0 at [1, 0], found 3.0 (and 1 more outside)",
        ),
        (Box(0, 1, ()), np.array(-2, np.float32), "value: expected >= 0.0, found -2.0"),
        (Box(0, 1, (1,)), np.array([np.nan], "f4"), "value: expected >= 0.0 at [0], found nan"),
        (Discrete(3, start=2), 5, "value: expected 2 to 4, found 5"),
        (Discrete(3), 1.0, "value: expected one integer, found a float"),
        (MultiDiscrete([2, 3]), np.array([1, 3]), "value: expected <= 2 at [1], found 3"),
        (Text(3, charset="ab"), "abc", "value: expected only its 2 characters, found ['c']"),
        (
            Dict(eye=Tuple((Discrete(2), Box(0, 1, (1,))))),
            {"eye": (1, np.array([2], np.float32))},
            "value['eye'][1]: expected <= 1.0 at [0], found 2.0",
        ),
        (Dict(a=Discrete(2)), {"b": 1}, "value: expected keys 'a', found no 'a'"),
    ],
)
def test_reasons_name_place_expected_and_found(space, value, reason):
    """A person can fix the value without looking at the space."""
    assert explain_mismatch(space, value) == reason


def test_endless_nesting_is_refused():
    """Space and value of absurd depth end in an error of ours."""
    space, value = Discrete(2), 0
    for _ in range(200):
        space, value = Tuple((space,)), (value,)

    with pytest.raises(LimitExceededError, match="too deeply"):
        explain_mismatch(space, value)
