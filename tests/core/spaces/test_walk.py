"""Walking spaces: every leaf once, in RLlib's order, beside its value."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Text, Tuple
from rlconnect.core import nest
from rlconnect.core.errors import LimitExceededError, SpaceError
from rlconnect.core.spaces.values import sample
from rlconnect.core.spaces.walk import (
    flat_dim,
    kind_of,
    leaf_spaces,
    map_leaves,
    struct_of,
    walk,
    zeros_like,
)

from tests.spaces_table import FIXED, SPACES, make_space


class MyBox(Box):
    """A user's subclass with something of its own."""

    extra = "kept"


@pytest.mark.parametrize("name", SPACES)
def test_leaves_lie_where_their_values_lie(name):
    """The paths of the leaf spaces are the paths of a value's leaves, in the same order."""
    space = make_space(name)
    value = sample(space, 0)

    beside = list(walk(space, value))

    assert [(path, leaf) for path, leaf, _ in beside] == leaf_spaces(space)
    assert all(leaf.contains(part) for _, leaf, part in beside)


@pytest.mark.parametrize("name", FIXED)
def test_the_struct_flattens_as_the_space_is_walked(name):
    """The order of leaves is that of flattening plain dicts: by sorted key."""
    space = make_space(name)

    flat = nest.flatten(struct_of(space))

    leaves = [leaf for _, leaf in leaf_spaces(space)]
    assert len(flat) == len(leaves)
    assert all(one is other for one, other in zip(flat, leaves, strict=True))


@pytest.mark.parametrize("name", SPACES)
def test_a_space_is_never_rebuilt(name):
    """The leaves handed out are the user's own objects, and the space is as before."""
    space = make_space(name)
    before = repr(space), dict(vars(space))

    leaves = leaf_spaces(space)
    struct_of(space)

    assert (repr(space), dict(vars(space))) == before
    assert all(leaf is space for path, leaf in leaves if path == ())


def test_the_own_order_of_a_dict_can_be_kept():
    """RLlib's flattening preprocessor goes by the space, dm-tree by sorted keys."""
    space = Dict([("b", Discrete(2)), ("a", Discrete(3))])

    assert [path for path, _ in leaf_spaces(space)] == [("a",), ("b",)]
    assert [path for path, _ in leaf_spaces(space, sort_keys=False)] == [("b",), ("a",)]
    assert list(map_leaves(lambda leaf: 0, space)) == ["b", "a"]


def test_subclasses_and_strangers():
    """A subclass is what it derives from; a class of nobody's kind has no kind but is a leaf."""
    stranger = type("Stranger", (gym.Space,), {})()

    assert kind_of(MyBox(0, 1, (2,))) == "Box"
    assert kind_of(stranger) == ""
    assert leaf_spaces(stranger) == [((), stranger)]
    assert struct_of(Tuple((MyBox(0, 1, (2,)),)))[0].extra == "kept"


def test_rllibs_own_classes_are_known_by_name():
    """Spaces made by Ray's classes, where Ray is installed, count like ours."""
    rays = type("Simplex", (gym.Space,), {"__module__": "ray.rllib.utils.spaces.simplex"})
    others = type("Simplex", (gym.Space,), {"__module__": "somebody.spaces"})

    assert kind_of(rays()) == "Simplex"
    assert kind_of(others()) == ""


def test_a_function_sees_space_and_values():
    """Several values are mapped together, into plain dicts and tuples."""
    space = Dict(a=Discrete(4), b=Tuple((Box(0, 1, (2,)),)))

    mapped = map_leaves(
        lambda leaf, x, y: (kind_of(leaf), x, y), space, {"a": 1, "b": (2,)}, {"a": 3, "b": [4]}
    )

    assert mapped == {"a": ("Discrete", 1, 3), "b": (("Box", 2, 4),)}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"a": 1}, r"value: expected keys 'a', 'b', found no 'b'"),
        ({"a": 1, "b": (2,), "c": 3}, r"found 'c' besides"),
        ({"a": 1, "b": (2, 3)}, r"value\['b'\] does not fit: expected a tuple of 1, found 2"),
        ({"a": 1, "b": 2}, r"expected a tuple of 1, found a int"),
        ({"a": 1, "b": np.array(2)}, r"found a single number"),
        (3, r"expected a dict, found a int"),
    ],
)
def test_a_value_of_other_form_is_named(value, reason):
    """Missing and surplus keys, wrong counts: the error says where and what."""
    space = Dict(a=Discrete(4), b=Tuple((Box(0, 1, (2,)),)))

    for use in (lambda: list(walk(space, value)), lambda: map_leaves(print, space, value)):
        with pytest.raises(SpaceError, match=reason.replace("value:", "value does not fit:")):
            use()


def test_flat_length():
    """One-hot for discrete parts, size for the rest; huge sizes are only arithmetic."""
    assert flat_dim(make_space("nested")) == 28
    assert flat_dim(make_space("multi_discrete_2d")) == 14
    assert flat_dim(MultiBinary([2**20, 2**20])) == 2**40


@pytest.mark.parametrize("name", ["text", "sequence", "graph", "repeated", "open_parts"])
def test_what_has_no_fixed_length_says_so(name):
    """Text, sequences and graphs cannot be flattened to one length."""
    with pytest.raises(SpaceError, match="no fixed flat length"):
        flat_dim(make_space(name))


@pytest.mark.parametrize("name", FIXED)
def test_zeros_have_the_batched_form(name):
    """Shapes and dtypes are those of stacked values."""
    space = make_space(name)

    zeros = zeros_like(space, (2, 3))

    for (path, leaf), part in zip(leaf_spaces(space), nest.flatten(zeros), strict=True):
        assert part.shape == (2, 3, *leaf.shape), path
        assert part.dtype == leaf.dtype, path
        assert not part.any()


def test_zeros_are_bounded():
    """A space that declares much gets no memory for it; one without shape has no zeros."""
    with pytest.raises(LimitExceededError):
        zeros_like(MultiBinary(2**40))
    with pytest.raises(LimitExceededError):
        zeros_like(Box(0, 1, (100,)), (100,), max_bytes=39_999)
    with pytest.raises(SpaceError, match="fixed shape"):
        zeros_like(Text(5))


def test_endless_nesting_is_refused():
    """A space nested deeper than any honest one ends the walk."""
    space = Discrete(2)
    for _ in range(200):
        space = Tuple((space,))

    with pytest.raises(LimitExceededError, match="too deeply"):
        leaf_spaces(space)
    with pytest.raises(LimitExceededError, match="too deeply"):
        struct_of(space)
