"""What a file may ask for: numbers and spaces held to their bounds."""

from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.core.limits.asking import (
    BOUNDS,
    AskedTooMuchError,
    check_count,
    check_space,
    numbers_in,
)
from rlconnect.core.spaces.rllib_spaces import Repeated


@pytest.mark.parametrize("bound", BOUNDS)
def test_each_bound_lets_itself_pass_and_no_more(bound):
    """The bound is the largest number that passes; the error names setting, bound and call."""
    most = BOUNDS[bound].most
    check_count("a_setting", most, bound, "config=...")

    with pytest.raises(AskedTooMuchError, match=r"a_setting=[\s\S]*say so: config=\.\.\."):
        check_count("a_setting", most + 1, bound, "config=...")


@pytest.mark.parametrize("value", [10**400, 1e300, np.int64(2**62), float("inf")])
def test_numbers_of_any_size_are_told(value):
    """A number too large for anything is refused in a line."""
    with pytest.raises(AskedTooMuchError) as caught:
        check_count("a_setting", value, "steps", "config=...")

    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [None, "auto", True, "10000000000", [10**12], -5])
def test_what_is_no_count_is_left_to_others(value):
    """Only numbers are held to bounds of numbers."""
    check_count("a_setting", value, "steps", "config=...")


def test_numbers_in_a_space():
    """Choices count one by one, items of lists as often as there may be, others by shape."""
    inner = spaces.Dict({"a": spaces.Discrete(5), "b": spaces.MultiDiscrete([2, 3])})

    count = numbers_in(spaces.Tuple([inner, Repeated(spaces.Box(0, 1, (4,)), 3)]))

    assert count == 5 + 2 + 3 + 3 * 4


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(10**9),
        spaces.MultiDiscrete([2**62, 2**62]),
        Repeated(spaces.Discrete(100), 10**9),
        spaces.Dict({"a": spaces.Tuple([spaces.Discrete(2**23)])}),
    ],
)
def test_spaces_whose_values_are_huge_are_refused(space):
    """A value that would be encoded in millions of numbers is refused by its space."""
    with pytest.raises(AskedTooMuchError, match="observations of"):
        check_space(space, "observations", "observation_space=...")


def test_the_docs_list_each_bound():
    """The page of bounds says what the table says."""
    page = (Path(__file__).parents[3] / "docs/bounds.md").read_text(encoding="utf-8")

    for name, bound in BOUNDS.items():
        assert f"| {name} | {bound.most:,} | {bound.unit} | {bound.reason} |" in page
