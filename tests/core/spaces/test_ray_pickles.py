"""Spaces out of pickles: the attributes of any gym or gymnasium release, luggage ignored."""

from collections import OrderedDict

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.data.budget import Limits, one_load
from rlconnect.core.errors import (
    CheckpointError,
    CorruptCheckpointError,
    LimitExceededError,
    SpaceError,
    UnsafeCheckpointError,
)
from rlconnect.core.spaces.own_layout import space_to_data
from rlconnect.core.spaces.ray_pickles import space_from_pickled

from tests.spaces_table import SPACES, make_space

LUGGAGE = object()


@pytest.mark.parametrize("name", SPACES)
def test_todays_attributes_give_the_space_back(name):
    """What pickle would store of the space at hand makes the same space."""
    space = make_space(name)
    state = {**vars(space), "_np_random": LUGGAGE}
    class_name = f"{type(space).__module__}.{type(space).__qualname__}"

    found = space_from_pickled(class_name, state)

    assert type(found) is type(space)
    assert space_to_data(found) == space_to_data(space)


F4 = np.dtype(np.float32)


@pytest.mark.parametrize(
    ("class_name", "state", "space"),
    [
        (
            "gym.spaces.box.Box",
            {
                "dtype": F4,
                "bounded_below": np.array([True, False]),
                "bounded_above": np.array([True, True]),
                "_shape": (2,),
                "low": np.array([0, -np.inf], np.float32),
                "high": np.array([1, 1], np.float32),
                "low_repr": "[0 -inf]",
                "high_repr": "1.0",
                "_np_random": LUGGAGE,
            },
            Box(np.array([0, -np.inf], np.float32), np.ones(2, np.float32)),
        ),
        (  # gym 0.17
            "gym.spaces.box.Box",
            {"dtype": F4, "shape": (1,), "low": np.zeros(1, "f4"), "high": np.ones(1, "f4")},
            Box(0, 1, (1,)),
        ),
        ("gym.spaces.discrete.Discrete", {"n": 4, "shape": (), "np_random": LUGGAGE}, Discrete(4)),
        ("gym.spaces.discrete.Discrete", {"n": 4, "start": 2, "_shape": ()}, Discrete(4, start=2)),
        (
            "gymnasium.spaces.discrete.Discrete",
            {"n": np.int64(4), "start": np.int64(0), "dtype": np.dtype("i8")},
            Discrete(4),
        ),
        (
            "gym.spaces.multi_discrete.MultiDiscrete",
            {"nvec": np.array([2, 3]), "_shape": (2,), "dtype": np.dtype("i8")},
            MultiDiscrete([2, 3]),
        ),
        ("gym.spaces.multi_binary.MultiBinary", {"n": 3, "_shape": (3,)}, MultiBinary(3)),
        ("gym.spaces.multi_binary.MultiBinary", {"n": (2, 3)}, MultiBinary([2, 3])),
        (
            "gym.spaces.dict.Dict",
            {"spaces": OrderedDict([("b", Discrete(2)), ("a", Discrete(3))]), "_shape": None},
            Dict([("b", Discrete(2)), ("a", Discrete(3))]),
        ),
        ("gym.spaces.tuple.Tuple", {"spaces": [Discrete(2)], "dtype": None}, Tuple((Discrete(2),))),
        (
            "gym.spaces.text.Text",
            {"min_length": 1, "max_length": 3, "_char_set": frozenset("ba")},
            Text(3, charset="ab"),
        ),
        (  # a user's subclass
            "my_envs.spaces.Lidar",
            {"low": np.zeros(2, "f4"), "high": np.ones(2, "f4"), "dtype": F4, "beams": 3},
            Box(0, 1, (2,)),
        ),
    ],
)
def test_old_attributes_are_understood(class_name, state, space):
    """Names that changed, entries that came later, generators that cannot be read."""
    found = space_from_pickled(class_name, state)

    assert found == space
    assert type(found) is type(space)
    assert space_to_data(found) == space_to_data(space)


def test_the_original_space_stays():
    """What the preprocessor saw hangs on the space as before; anything else there is dropped."""
    state = {"n": 2, "original_space": Dict(a=Discrete(2))}

    found = space_from_pickled("gym.spaces.discrete.Discrete", state)
    other = space_from_pickled("gym.spaces.discrete.Discrete", {"n": 2, "original_space": LUGGAGE})

    assert found.original_space == Dict(a=Discrete(2))
    assert not hasattr(other, "original_space")


def test_arrays_are_copied():
    """The space does not share memory with the file it came from."""
    low = np.zeros(2, np.float32)
    state = {"low": low, "high": np.ones(2, np.float32), "dtype": F4, "_shape": (2,)}

    space = space_from_pickled("gym.spaces.box.Box", state)

    assert not np.shares_memory(space.low, low)


@pytest.mark.parametrize("class_name", ["os.system", "gym.spaces.box.Sphere", "Box", ""])
def test_unknown_classes_are_refused(class_name):
    """Neither the name nor the attributes say what it is."""
    with pytest.raises(SpaceError, match="no known space"):
        space_from_pickled(class_name, {"a": 1})


BOX = {"low": np.zeros(2, "f4"), "high": np.ones(2, "f4"), "dtype": F4, "_shape": (2,)}


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("box.Box", None),
        ("box.Box", {}),
        ("box.Box", {**BOX, "low": [0, 0]}),
        ("box.Box", {**BOX, "low": np.zeros(3, "f4")}),
        ("box.Box", {**BOX, "low": np.full(2, 5, "f4")}),
        ("box.Box", {**BOX, "low": np.full(2, np.nan, "f4")}),
        ("box.Box", {**BOX, "low": np.zeros(2, "i8")[::-1], "_shape": "2"}),
        ("box.Box", {**BOX, "_shape": (-2,)}),
        ("box.Box", {**BOX, "_shape": (2, 1)}),
        ("box.Box", {**BOX, "dtype": "<U4"}),
        ("box.Box", {**BOX, "dtype": LUGGAGE}),
        ("box.Box", {**BOX, "dtype": np.dtype("c8")}),
        ("discrete.Discrete", {"n": None}),
        ("discrete.Discrete", {"n": -4}),
        ("discrete.Discrete", {"n": np.array([4])}),
        ("discrete.Discrete", {"n": 4, "start": "0"}),
        ("multi_discrete.MultiDiscrete", {"nvec": np.array([2.0])}),
        ("multi_discrete.MultiDiscrete", {"nvec": np.array([2]), "start": np.array([1, 2])}),
        ("multi_binary.MultiBinary", {"n": np.array([[1]])}),
        ("dict.Dict", {"spaces": None}),
        ("dict.Dict", {"spaces": {"a": LUGGAGE}}),
        ("dict.Dict", {"spaces": {None: Discrete(2)}}),
        ("tuple.Tuple", {"spaces": {"a": Discrete(2)}}),
        ("tuple.Tuple", {"spaces": [LUGGAGE]}),
        ("text.Text", {"min_length": 1, "max_length": 3}),
        ("text.Text", {"min_length": 1, "max_length": 3, "_char_list": [LUGGAGE]}),
        ("sequence.Sequence", {"feature_space": None}),
        ("sequence.Sequence", {"feature_space": Discrete(2), "stack": 7}),
        ("graph.Graph", {"node_space": LUGGAGE, "edge_space": None}),
        ("graph.Graph", {"node_space": Discrete(2), "edge_space": LUGGAGE}),
    ],
)
def test_contradictions_are_corrupt(kind, state):
    """Whatever attributes a hostile pickle invents, the answer is our error."""
    with pytest.raises(CorruptCheckpointError):
        space_from_pickled(f"gym.spaces.{kind}", state)


def test_objects_in_arrays_are_unsafe():
    """Bounds made of Python objects are refused."""
    with pytest.raises(UnsafeCheckpointError):
        space_from_pickled("gym.spaces.box.Box", {**BOX, "low": np.array([None, None])})


def test_shared_parts_count_each_time():
    """Sixty objects that stand for 2**60 leaves, and a chain without end, are refused."""

    def grow(times, class_name, state_of):
        space = Discrete(2)
        for _ in range(times):
            space = space_from_pickled(class_name, state_of(space))

    with pytest.raises(LimitExceededError):
        grow(60, "gym.spaces.tuple.Tuple", lambda space: {"spaces": (space, space)})
    with pytest.raises(LimitExceededError):
        grow(200, "gym.spaces.discrete.Discrete", lambda space: {"n": 2, "original_space": space})


def test_spaces_stay_within_the_budget_of_the_load():
    """Large bounds need leave."""
    state = {"low": np.zeros(5000, "f4"), "high": np.ones(5000, "f4"), "dtype": F4}

    limits = Limits(base_memory=40_000, memory_factor=0)
    with one_load(limits), pytest.raises(LimitExceededError):
        space_from_pickled("gym.spaces.box.Box", state)


ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.lists(st.integers(-3, 3), max_size=3)
    | st.lists(st.integers(-3, 3), max_size=3).map(np.array)
    | st.just(LUGGAGE)
    | st.just(Discrete(2))
    | st.just({"a": Discrete(2)})
)


@given(st.sampled_from(sorted(SPACES)), st.data())
def test_damaged_attributes_give_a_space_or_our_error(name, data):
    """Any attribute replaced by anything, or gone: never another exception."""
    space = make_space(name)
    state = dict(vars(space))
    for attribute in data.draw(st.sets(st.sampled_from(sorted(state)), max_size=2)):
        if data.draw(st.booleans()):
            state[attribute] = data.draw(ANYTHING)
        else:
            del state[attribute]

    try:
        found = space_from_pickled(f"{type(space).__module__}.{type(space).__qualname__}", state)
    except (CheckpointError, SpaceError):
        return
    assert isinstance(found, gym.Space)
