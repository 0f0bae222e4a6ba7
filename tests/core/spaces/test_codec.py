"""Spaces as plain data: bit for bit through JSON and msgpack; hostile data refused in time."""

import json

import gymnasium as gym
import msgpack
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from rlconnect.core.errors import (
    CheckpointError,
    CorruptCheckpointError,
    LimitExceededError,
    SpaceError,
    UnsafeCheckpointError,
)
from rlconnect.core.spaces.own_layout import space_from_data, space_to_data

from tests.spaces_table import SPACES, make_space


def assert_same_space(found, expected):
    """Every attribute alike, arrays to the bit, the order of keys too; generators aside."""
    assert type(found) is type(expected)
    ignored = {"_np_random"}
    assert vars(found).keys() - ignored == vars(expected).keys() - ignored
    for name, value in vars(expected).items():
        if name not in ignored:
            assert_same_part(vars(found)[name], value)


def assert_same_part(found, expected):
    if isinstance(expected, np.bool_):  # the flags of a scalar Box, an array or not by its making
        found, expected = np.bool_(found), np.bool_(expected)
    assert type(found) is type(expected)
    if isinstance(expected, gym.Space):
        assert_same_space(found, expected)
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            assert_same_part(found[key], value)
    elif isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            assert_same_part(one, other)
    else:
        assert found == expected


@pytest.mark.parametrize("name", SPACES)
def test_every_space_survives(name):
    """JSON without its non-standard numbers, and msgpack, give the same space back."""
    space = make_space(name)

    data = space_to_data(space)

    text = json.dumps(data, allow_nan=False, sort_keys=True)  # the order of keys must not matter
    assert_same_space(space_from_data(json.loads(text)), space)
    assert_same_space(space_from_data(msgpack.unpackb(msgpack.packb(data))), space)


@given(
    hnp.arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32, allow_nan=False)),
    hnp.arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32, allow_nan=False)),
)
def test_any_bounds_survive(one, other):
    """Denormals, negative zeros, infinities on either side: to the bit."""
    size = min(len(one), len(other))
    low, high = np.minimum(one[:size], other[:size]), np.maximum(one[:size], other[:size])
    assume(not np.isposinf(low).any())
    assume(not np.isneginf(high).any())
    space = Box(low, high)

    data = json.loads(json.dumps(space_to_data(space), allow_nan=False))

    assert_same_space(space_from_data(data), space)


def test_an_integer_box_remembers_infinite_bounds():
    """gymnasium turns them into the ends of the dtype and remembers; so does the data."""
    space = Box(-np.inf, np.inf, (2,), np.int64)

    found = space_from_data(space_to_data(space))

    assert_same_space(found, space)
    assert not found.is_bounded()


def test_the_data_is_readable():
    """What a person finds in a checkpoint of ours."""
    assert space_to_data(make_space("image")) == {
        "kind": "Box",
        "dtype": "uint8",
        "shape": [8, 6, 3],
        "low": 0,
        "high": 255,
    }
    assert space_to_data(make_space("box_cartpole"))["low"] == [-4.8, "-inf", -0.42, "-inf"]
    assert space_to_data(make_space("dict"))["spaces"]["b"] == {"kind": "Discrete", "n": 2}
    assert [key for key, _ in space_to_data(make_space("dict_own_order"))["items"]] == ["b", "a"]


def test_a_subclass_is_written_as_its_base_with_a_note():
    """The class cannot travel; its name does."""

    class Lidar(Box):
        pass

    data = space_to_data(Lidar(0, 1, (3,)))

    assert data["subclass"].endswith("Lidar")
    assert_same_space(space_from_data(data), Box(0, 1, (3,)))


def test_what_cannot_be_written_says_so():
    """A space of no known kind, bounds that are no numbers, keys JSON has no word for."""
    wrong = Box(0, 1, (2,))
    wrong.low = np.array([np.nan, 0], np.float32)

    with pytest.raises(SpaceError, match="cannot be written"):
        space_to_data(gym.Space())
    with pytest.raises(SpaceError, match="no numbers"):
        space_to_data(wrong)
    with pytest.raises(SpaceError, match="key"):
        space_to_data(Dict({(1, 2): Discrete(2)}))


BOX = space_to_data(Box(-1, 1, (2,)))
DISCRETE = {"kind": "Discrete", "n": 2}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "Box",
        {},
        {"kind": None},
        {"kind": ["Box"]},
        {"kind": "Nope"},
        {"kind": "Box"},
        {**BOX, "shape": [3], "low": [0.0, 0.0]},
        {**BOX, "shape": [-1]},
        {**BOX, "shape": None},
        {**BOX, "dtype": "<U3"},
        {**BOX, "dtype": "complex64"},
        {**BOX, "low": "nan"},
        {**BOX, "low": 2.0},
        {**BOX, "low": None},
        {**BOX, "low": {"base64": "AAAA"}},
        {**BOX, "low": {}},
        {**BOX, "high": ["inf", "-inf"]},
        {**BOX, "bounded_below": 1},
        {**BOX, "dtype": "uint8", "low": -1, "high": 1},
        {**DISCRETE, "n": 0},
        {**DISCRETE, "n": 2.0},
        {**DISCRETE, "n": True},
        {**DISCRETE, "n": 2**63},
        {**DISCRETE, "start": 2**63 - 1},
        {**DISCRETE, "dtype": "int8", "n": 200},
        {**DISCRETE, "dtype": "float32"},
        {"kind": "MultiDiscrete", "dtype": "int64", "shape": [2], "nvec": [2, 0]},
        {"kind": "MultiDiscrete", "dtype": "int64", "shape": [2], "nvec": [2]},
        {"kind": "MultiDiscrete", "dtype": "int8", "shape": [1], "nvec": [9], "start": [127]},
        {"kind": "MultiBinary", "n": 0},
        {"kind": "MultiBinary", "n": -3},
        {"kind": "MultiBinary", "n": [2, 0]},
        {"kind": "MultiBinary", "n": "5"},
        {"kind": "Text", "min_length": 3, "max_length": 2, "charset": "a"},
        {"kind": "Text", "min_length": 0, "max_length": 2, "charset": ["ab"]},
        {"kind": "Text", "min_length": 0, "max_length": 2, "charset": None},
        {"kind": "Text", "min_length": -1, "max_length": 2, "charset": "a"},
        {"kind": "Dict", "spaces": [DISCRETE]},
        {"kind": "Dict", "items": [["a"]]},
        {"kind": "Dict", "items": [["a", DISCRETE], ["a", DISCRETE]]},
        {"kind": "Dict", "items": [[["a"], DISCRETE]]},
        {"kind": "Dict", "items": [[None, DISCRETE]]},
        {"kind": "Tuple", "spaces": {"a": DISCRETE}},
        {"kind": "Tuple", "spaces": [3]},
        {"kind": "OneOf", "spaces": []},
        {"kind": "Sequence", "space": None, "stack": False},
        {"kind": "Sequence", "space": DISCRETE, "stack": "no"},
        {"kind": "Graph", "nodes": None, "edges": None},
        {"kind": "Graph", "nodes": {"kind": "Text"}, "edges": None},
        {"kind": "Simplex", "dtype": "float32", "shape": [], "concentration": None},
        {"kind": "Repeated", "space": DISCRETE, "max_len": -1},
        {"kind": "Repeated", "space": DISCRETE, "max_len": 1.5},
        {**DISCRETE, "original_space": 5},
    ],
)
def test_contradictions_are_corrupt(data):
    """What describes no space ends in an error that says what is wrong with it."""
    with pytest.raises(CorruptCheckpointError):
        space_from_data(data)


def nested(kind, levels, **more):
    data = DISCRETE
    for _ in range(levels):
        data = {"kind": kind, "space": data, "nodes": data, "spaces": [data, data], **more}
    return data


@pytest.mark.parametrize(
    "data",
    [
        {**BOX, "shape": [2**40], "low": 0, "high": 1},
        {**BOX, "shape": [2**62, 2**62]},
        {**BOX, "shape": [1] * 65},
        {"kind": "MultiBinary", "n": [2**40, 2**40]},
        {"kind": "MultiDiscrete", "dtype": "int64", "shape": [2**40], "nvec": 2},
        nested("Sequence", 200, stack=False),
        nested("Repeated", 200, max_len=1),
        nested("Tuple", 40),
        nested("Sequence", 40, stack=True),
        {**DISCRETE, "original_space": nested("Tuple", 30)},
    ],
)
def test_bombs_are_stopped(data):
    """Sizes, depths and doublings that a few bytes declare cost no more than a few bytes.

    `Tuple` doubles by sharing, a stacked `Sequence` because gymnasium copies its parts.
    """
    with pytest.raises(LimitExceededError):
        space_from_data(data)


def test_graphs_do_not_double_without_end():
    """gymnasium copies the parts of a Graph (1.x), or takes no Graph as a part (0.29)."""
    with pytest.raises(CheckpointError):
        space_from_data(nested("Graph", 40, edges=None))


def test_objects_are_unsafe():
    """A dtype of objects is refused by name."""
    with pytest.raises(UnsafeCheckpointError):
        space_from_data({**BOX, "dtype": "|O"})


def test_the_limit_can_be_set():
    """What is too much for one is fine for another."""
    data = {**BOX, "shape": [2**20], "low": 0.0, "high": 1.0}

    with pytest.raises(LimitExceededError):
        space_from_data(data, max_bytes=2**20)
    assert space_from_data(data).shape == (2**20,)


def test_a_space_that_contains_itself_is_not_written_forever():
    """An original space that leads back to its owner ends in an error."""
    space = Tuple((Discrete(2),))
    space.original_space = space

    with pytest.raises(LimitExceededError):
        space_to_data(space)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.sampled_from(sorted(SPACES)), st.data())
def test_damaged_data_gives_a_space_or_our_error(name, data):
    """Any entry replaced by anything: never another exception."""
    plain = space_to_data(make_space(name))
    target = plain
    while True:
        key = data.draw(st.sampled_from(sorted(target)))
        if not isinstance(target[key], dict) or not target[key] or data.draw(st.booleans()):
            break
        target = target[key]
    target[key] = data.draw(JSON)

    try:
        space = space_from_data(plain)
    except CheckpointError:
        return
    assert isinstance(space, gym.Space)
