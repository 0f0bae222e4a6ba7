"""The layouts Ray wrote: recorded from real Ray, read and written alike."""

import json
from collections.abc import Mapping
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from rlconnect.core.data.ray_arrays import encode_ray_array
from rlconnect.core.errors import (
    CorruptCheckpointError,
    LimitExceededError,
    SpaceError,
    UnsafeCheckpointError,
)
from rlconnect.core.spaces.own_layout import space_to_data
from rlconnect.core.spaces.ray_layouts import (
    gym_space_from_dict,
    gym_space_to_dict,
    space_from_dict,
    space_from_ray,
    space_to_dict,
)
from rlconnect.core.spaces.rllib_spaces import FlexDict, Repeated

from tests.spaces_table import SPACES, make_space

GOLDEN = Path(__file__).parents[2] / "golden" / "spaces"


def untagged(value):
    """Recorded JSON back to the tuples, sets, arrays and maps it stands for."""
    if isinstance(value, list):
        return [untagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "__tuple__" in value:
        return tuple(untagged(value["__tuple__"]))
    if "__set__" in value:
        return frozenset(value["__set__"])
    if "__array__" in value:
        return np.array(value["__array__"], value["dtype"])
    if "__map__" in value:
        return {key: untagged(item) for key, item in value["__map__"]}
    return {key: untagged(item) for key, item in value.items()}


def as_msgpack_has_it(value):
    """The same with tuples and sets as lists, as msgpack hands them out."""
    if isinstance(value, dict):
        return {key: as_msgpack_has_it(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_msgpack_has_it(item) for item in value]
    return sorted(value) if isinstance(value, frozenset) else value


def assert_same_layout(found, expected):
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, item in expected.items():
            assert_same_layout(found[key], item)
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, (list, tuple)):
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same_layout(one, other)
    else:
        assert (found, type(found)) == (expected, type(expected))


def plain_repr(text):
    """A space's text without what changed between releases of gym: quotes and white space."""
    return "".join(text.replace("'", "").split())


def without_start(data):
    """A space's own data without what Ray drops; sets have no order, FlexDicts are Dicts to it."""
    if isinstance(data, list):
        return [without_start(item) for item in data]
    if not isinstance(data, dict):
        return "Dict" if data == "FlexDict" else data
    dropped = ("start", "subclass", "bounded_below", "bounded_above")
    kept = {key: without_start(item) for key, item in data.items() if key not in dropped}
    return {**kept, "charset": sorted(kept["charset"])} if "charset" in kept else kept


RECORDED = json.loads((GOLDEN / "ray_2.60.json").read_text(encoding="utf-8"))["spaces"]
CHECKPOINTS = json.loads((GOLDEN / "checkpoints.json").read_text(encoding="utf-8"))["spaces"]


@pytest.mark.parametrize("name", RECORDED)
def test_we_write_what_ray_writes(name):
    """The same entries in the same order with the same types, texts of arrays included."""
    assert_same_layout(space_to_dict(make_space(name)), untagged(RECORDED[name]["layout"]))


@pytest.mark.parametrize("name", RECORDED)
def test_we_read_what_ray_writes(name):
    """As it comes out of a pickle and as it comes out of msgpack; what Ray drops stays dropped."""
    space, layout = make_space(name), untagged(RECORDED[name]["layout"])

    for data in (layout, as_msgpack_has_it(layout)):
        found = space_from_ray(data)

        assert without_start(space_to_data(found)) == without_start(space_to_data(space))
        if name in ("preprocessed",):
            assert found.original_space == space.original_space


@pytest.mark.parametrize("entry", CHECKPOINTS, ids=lambda entry: f"{entry['ray']}-{entry['case']}")
def test_spaces_of_old_checkpoints_are_read(entry):
    """Recorded policy checkpoints of seven versions give the space the policy had."""
    found = space_from_ray(untagged(entry["data"]))

    assert plain_repr(str(found)) == plain_repr(entry["space"])
    original = getattr(found, "original_space", None)
    assert plain_repr(str(original)) == plain_repr(str(entry["original_space"]))


@pytest.mark.parametrize("name", sorted(set(SPACES) - set(RECORDED)))
def test_what_ray_cannot_write_is_refused(name):
    """Ray raises a ValueError for these; so do we, and name what can."""
    with pytest.raises(SpaceError, match="Ray has no layout") as caught:
        space_to_dict(make_space(name))
    assert isinstance(caught.value, ValueError)
    assert "space_to_data" in caught.value.hint


def test_a_dicts_order_is_the_files_whatever_gymnasium_sorts(monkeypatch):
    """gymnasium 1.0 sorts an OrderedDict; the old stack lays out parts in the space's order."""

    class Sorting(Dict):
        def __init__(self, spaces):
            super().__init__(sorted(spaces.items()) if isinstance(spaces, Mapping) else spaces)

    data = gym_space_to_dict(Dict([("b", Discrete(2)), ("a", Discrete(3))]))
    monkeypatch.setattr(gym.spaces, "Dict", Sorting)

    assert list(gym_space_from_dict(data).spaces) == ["b", "a"]


def test_none_stays_none():
    """A policy without spaces has none in its checkpoint."""
    assert gym_space_to_dict(None) is space_to_dict(None) is None
    assert gym_space_from_dict(None) is space_from_dict(None) is None


def test_one_space_and_a_policys_space():
    """The inner form has no place for an original space, the outer one has."""
    space = make_space("preprocessed")

    assert gym_space_to_dict(space)["space"] == "box"
    assert not hasattr(gym_space_from_dict(gym_space_to_dict(space)), "original_space")
    assert space_from_dict(space_to_dict(space)).original_space == space.original_space


DISCRETE = {"space": "discrete", "n": 2}


@pytest.mark.parametrize(
    ("data", "space"),
    [
        (DISCRETE, Discrete(2)),
        ({"space": {"space": DISCRETE}}, Discrete(2)),
        ({"space": "multi-binary", "n": 3, "dtype": "|i1"}, MultiBinary(3)),
        ({"space": "multi_binary", "n": [2, 3]}, MultiBinary([2, 3])),
        (
            {"space": "flex_dict", "z": DISCRETE, "a": DISCRETE},
            FlexDict([("z", Discrete(2)), ("a", Discrete(2))]),
        ),
        ({"space": "flex_dict", "spaces": {"z": DISCRETE}}, FlexDict(z=Discrete(2))),
        ({"space": "repeated", "child_space": DISCRETE, "max_len": 3}, Repeated(Discrete(2), 3)),
        (
            {"space": "box", "low": [0, 0], "high": [1.0, 2.0], "shape": [2], "dtype": "<f4"},
            Box(np.array([0, 0], np.float32), np.array([1, 2], np.float32)),
        ),
        ({"space": "box", "low": 0, "high": 1, "shape": [2], "dtype": "<f4"}, Box(0, 1, (2,))),
        (
            {"space": "multi-discrete", "nvec": np.array([2, 3]), "start": [1, 0], "dtype": "<i8"},
            MultiDiscrete([2, 3], start=[1, 0]),
        ),
        ({"space": "text", "max_length": 3, "charset": "ab"}, Text(3, charset="ab")),
        ({"space": "tuple", "spaces": (DISCRETE, Discrete(5))}, Tuple((Discrete(2), Discrete(5)))),
        (Dict(a=Discrete(2)), Dict(a=Discrete(2))),
    ],
)
def test_rare_forms_are_read(data, space):
    """What single releases wrote, hand-made files hold, or a pickle carries as objects."""
    found = space_from_ray(data)

    assert found == space
    assert type(found) is type(space)


ONES = encode_ray_array(np.ones(2, np.float32))
BOX = {"space": "box", "low": ONES, "high": ONES, "shape": (2,), "dtype": "<f4"}


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        {},
        {"space": None},
        {"space": "sphere"},
        {"space": 5},
        {**BOX, "shape": (3,)},
        {**BOX, "shape": None},
        {**BOX, "dtype": None},
        {**BOX, "dtype": "<i4"},
        {**BOX, "low": None},
        {**BOX, "low": "AAAA"},
        {**BOX, "low": [[0], [0, 1]]},
        {**BOX, "low": ["a", "b"]},
        {**BOX, "low": [2.0, 2.0]},
        {**BOX, "low": [float("nan"), 0.0]},
        {**BOX, "high": encode_ray_array(np.ones((1, 2), np.float32))},
        {"space": "multi-discrete", "nvec": ONES, "dtype": "<i8"},
        {"space": "multi-discrete", "nvec": ONES, "dtype": "<f4"},
        {"space": "discrete", "n": None},
        {"space": "tuple", "spaces": DISCRETE},
        {"space": "dict", "spaces": [DISCRETE]},
        {"space": "simplex", "shape": [3], "concentration": [1, 2], "dtype": "<f4"},
        {"space": "simplex", "shape": [2], "concentration": [1, -2], "dtype": "<f4"},
        {"space": "repeated", "child_space": None, "max_len": 3},
        {"space": DISCRETE, "original_space": 3},
    ],
)
def test_contradictions_are_corrupt(data):
    """Nothing but a space comes out, and nothing but our error."""
    with pytest.raises(CorruptCheckpointError):
        space_from_ray(data)


def test_bombs_and_pickles_are_stopped():
    """Declared sizes, doubling by sharing, endless depth, arrays of objects."""
    laughs, deep = DISCRETE, DISCRETE
    for _ in range(40):
        laughs = {"space": "tuple", "spaces": [laughs, laughs]}
    for _ in range(200):
        deep = {"space": deep}
    objects = encode_ray_array(np.ones(2)).encode()

    for data in (laughs, deep, {**BOX, "low": 0, "high": 1, "shape": [2**40]}):
        with pytest.raises(LimitExceededError):
            space_from_ray(data)
    with pytest.raises(UnsafeCheckpointError):
        space_from_ray({**BOX, "low": np.array([None, None])})
    with pytest.raises(UnsafeCheckpointError):
        space_from_ray(
            {**BOX, "low": {b"nd": True, b"type": "|O", b"kind": b"O", b"data": objects}}
        )
