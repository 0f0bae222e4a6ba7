"""Constants laid out for whole batches change no number."""

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.adapters import (
    AdapterChain,
    Clip,
    DropFeatures,
    ExtendAction,
    InsertFeatures,
    Rescale,
    Scale,
    SelectFeatures,
)
from rlconnect.core.adapters.laid import LARGEST, PerFeature, Selection

SPACE = spaces.Box(-2.0, 3.0, (6,), np.float32)
NUMBERS = st.floats(-4, 4, width=32)


def vectors(size):
    return st.lists(NUMBERS, min_size=size, max_size=size).map(tuple)


@st.composite
def chains(draw):
    """Steps that fit one another, over a vector whose width they change."""
    found, width = [], 6
    for kind in draw(st.lists(st.sampled_from("dsacrie"), max_size=5)):
        if kind == "d" and width > 1:
            found.append(DropFeatures([draw(st.integers(-width, width - 1))]))
            width -= 1
        elif kind == "s":
            found.append(SelectFeatures(draw(st.permutations(range(width)))))
        elif kind == "a":
            offset = draw(st.just(0.0) | vectors(width))
            found.append(Scale(draw(NUMBERS | vectors(width)), offset))
        elif kind == "c":
            found.append(Clip(-1.0, draw(vectors(width).map(lambda v: np.abs(v)))))
        elif kind == "r":
            found.append(Rescale(draw(vectors(width)), 9.0, from_low=-5.0, from_high=5.0))
        elif kind == "i":
            found.append(InsertFeatures([draw(st.integers(0, width))], [draw(NUMBERS)]))
            width += 1
        elif kind == "e":
            found.append(ExtendAction([draw(NUMBERS)]))
            width += 1
    return found


def one_by_one(bounds, value):
    for bound in bounds:
        value = bound.formula(value, *bound.constants)
    return value


@settings(derandomize=True, max_examples=80, deadline=None)
@given(chains(), st.lists(st.sampled_from([(), (1,), (3,), (2, 5)]), min_size=3, max_size=5))
def test_a_chain_is_its_formulas_one_by_one(steps, shapes):
    """To the last bit, for any number of rows, shapes in turn, in either direction."""
    rng = np.random.default_rng(0)
    bound = AdapterChain(obs=steps, action=steps).bind(SPACE, SPACE)

    for shape in shapes:
        value = rng.uniform(-2, 3, (*shape, 6)).astype(np.float32)
        kept = value.copy()
        wanted = one_by_one(bound.obs, value)
        for found in (bound.observe(value), bound.act(value)):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(value, kept)


@pytest.mark.parametrize("step", [Scale((1.0, 2.0, 3.0)), ExtendAction([7.0])])
def test_answers_belong_to_who_asked(step):
    """Writing into an answer changes no later one."""
    space = spaces.Box(-1, 1, (3,), np.float32)
    bound = AdapterChain(action=[step]).bind(space, space)
    value = np.ones((2, 3), np.float32)
    first = bound.act(value)
    wanted = first.copy()

    first[:] = -5

    np.testing.assert_array_equal(bound.act(value), wanted)


def test_what_is_left_out_may_hold_anything():
    """Infinite and missing numbers of dropped features reach nobody, and nobody is warned."""
    bound = AdapterChain(obs=[DropFeatures([4, 5]), Scale((2, 3, 4, 5))]).bind(SPACE, SPACE)
    value = np.ones((3, 6), np.float32)
    value[:, 4:] = np.inf, np.nan

    np.testing.assert_array_equal(bound.observe(value), [[2, 3, 4, 5]] * 3)


def test_another_width_is_as_before():
    """A selection takes its places of a longer row too, as the formula does."""
    bound = AdapterChain(obs=[DropFeatures([4, 5]), Scale((2, 3, 4, 5))]).bind(SPACE, SPACE)
    value = np.ones((3, 7), np.float32)

    np.testing.assert_array_equal(bound.observe(value), one_by_one(bound.obs, value))


def test_other_precisions_stay_themselves():
    """A float64 observation is computed in float64, and lengthened as such."""
    steps = [Scale((0.1,) * 6), InsertFeatures([6], [0.1])]
    bound = AdapterChain(obs=steps).bind(SPACE, SPACE)

    for dtype in (np.float32, np.float64, np.float32):
        value = np.full((2, 6), 0.7, dtype)
        wanted = one_by_one(bound.obs, value)
        assert bound.observe(value).dtype == wanted.dtype
        np.testing.assert_array_equal(bound.observe(value), wanted)


def test_large_batches_are_computed_row_by_row():
    """Nothing as large as the batch is kept."""
    rows = LARGEST // 6 + 1
    piece = PerFeature(np.multiply, [np.arange(6.0)])

    found = piece(np.ones((rows, 6)))

    np.testing.assert_array_equal(found[-1], np.arange(6.0))
    assert [each.size for each in piece._laid[rows, 6]] == [6]


def test_a_selection_that_leaves_most_out_goes_first():
    """One feature of many is taken before anything is computed."""
    piece = PerFeature(np.multiply, [np.ones(1)], [1.0])

    assert piece.behind(Selection(2, 3, 9)) is None
    assert piece.behind(Selection(0, 1, 2)) is not None
