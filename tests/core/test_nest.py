"""Nests: RLlib's order of leaves, the form kept, mistakes named."""

from collections import OrderedDict, namedtuple
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core import nest
from rlconnect.core.errors import LimitExceededError, SpaceError

Point = namedtuple("Point", "y x")

LEAVES = st.one_of(st.integers(), st.none(), st.text(max_size=3))
NESTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.tuples(inner, inner).map(lambda pair: Point(*pair)),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(OrderedDict),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(MappingProxyType),
    ),
    max_leaves=12,
)


def as_rllib_orders(value):
    """The leaves as dm-tree would list them, written out independently."""
    if isinstance(value, (dict, MappingProxyType)):
        return [leaf for key in sorted(value) for leaf in as_rllib_orders(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in as_rllib_orders(item)]
    return [value]


def at(value, path):
    for key in path:
        value = value[key]
    return value


@given(NESTS)
def test_leaves_come_in_the_order_of_sorted_keys(value):
    """Every mapping, an OrderedDict too, gives its leaves by sorted key; None is a leaf."""
    assert nest.flatten(value) == as_rllib_orders(value)


@given(NESTS)
def test_unflatten_undoes_flatten(value):
    """Leaves put back in order give the nest again, with its types and the order of its keys."""
    rebuilt = nest.unflatten_as(value, nest.flatten(value))

    assert rebuilt == value
    assert repr(rebuilt) == repr(value)


@given(NESTS)
def test_paths_lead_to_their_leaves(value):
    """Following a path from the root arrives at the very leaf."""
    pairs = nest.flatten_with_path(value)

    assert [leaf for _, leaf in pairs] == nest.flatten(value)
    assert all(at(value, path) == leaf for path, leaf in pairs)


@given(NESTS)
def test_mapping_keeps_the_form(value):
    """A mapped nest is built like the one it came from, each leaf changed."""
    mapped = nest.map_structure(lambda leaf: ("was", leaf), value)

    expected = [("was", leaf) for leaf in nest.flatten(value)]
    assert nest.flatten(nest.map_structure_up_to(value, lambda leaf: leaf[1], mapped)) == (
        nest.flatten(value)
    )
    assert nest.flatten(nest.map_structure_up_to(value, str, mapped)) == [
        str(leaf) for leaf in expected
    ]


def test_several_nests_are_mapped_together():
    """Kinds of dict and the order of keys may differ; the first nest's form is kept."""
    first = OrderedDict([("b", 1), ("a", (2, 3))])
    other = MappingProxyType({"a": (20, 30), "b": 10})

    assert nest.map_structure(lambda x, y: x + y, first, dict(other)) == OrderedDict(
        [("b", 11), ("a", (22, 33))]
    )


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ({"a": 1}, {"b": 1}),
        ((1, 2), (1,)),
        ((1, 2), [1, 2]),
        ((1, 2), 3),
        (1, (1,)),
        ({"a": 1}, {"a": {"deeper": 1}}),
    ],
)
def test_nests_of_other_form_are_refused(first, other):
    """A structure that differs is an error, not a silently wrong pairing."""
    with pytest.raises(SpaceError, match="structures differ"):
        nest.map_structure(lambda x, y: x, first, other)


def test_up_to_hands_over_whole_parts():
    """Below the leaves of the shallow nest, parts are passed as they are."""
    deep = {"a": (1, 2), "b": [3]}

    assert nest.map_structure_up_to({"a": 0, "b": 0}, len, deep) == {"a": 2, "b": 1}
    assert nest.map_structure_up_to(0, len, deep) == 2


@pytest.mark.parametrize("leaf", [np.zeros(2), np.float32(1), None, "text", b"x", object(), {1, 2}])
def test_a_lone_leaf_is_a_nest(leaf):
    """What is no container passes through every function as one leaf."""
    assert nest.is_leaf(leaf)
    assert nest.flatten(leaf)[0] is leaf
    assert nest.flatten_with_path(leaf)[0] == ((), leaf) or isinstance(leaf, np.ndarray)
    assert nest.map_structure(lambda item: item, leaf) is leaf
    assert nest.unflatten_as(0, [leaf]) is leaf


@given(NESTS)
def test_a_leaf_is_one_of_them(value):
    """Whichever leaf it is, it is one of the nest; where there is none, that is an error."""
    leaves = nest.flatten(value)
    if not leaves:
        with pytest.raises(IndexError):
            nest.a_leaf(value)
        return

    assert any(nest.a_leaf(value) is leaf for leaf in leaves)


@pytest.mark.parametrize("at", [0, -1, slice(1, None)])
def test_rows_are_taken_of_each_leaf(at):
    """The form is kept, and a lone array gives its row."""
    rows = np.arange(6).reshape(3, 2)

    taken = nest.taken(OrderedDict(b=(rows,), a=rows + 1), at)

    assert type(taken) is OrderedDict
    np.testing.assert_array_equal(taken["b"][0], rows[at])
    np.testing.assert_array_equal(taken["a"], rows[at] + 1)
    np.testing.assert_array_equal(nest.taken(rows, at), rows[at])


def test_a_wrong_number_of_leaves_is_refused():
    """Too few or too many leaves cannot fill a structure."""
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(SpaceError, match="do not fill"):
            nest.unflatten_as({"a": 0, "b": 0}, leaves)


def test_endless_depth_is_refused():
    """A nest too deep for the machine's stack ends in an error of ours."""
    value = 0
    for _ in range(10_000):
        value = [value]

    for use in (nest.flatten, nest.flatten_with_path, lambda deep: nest.map_structure(id, deep)):
        with pytest.raises(LimitExceededError, match="too deeply"):
            use(value)


def test_a_path_reads_like_python():
    """Paths in messages are what one would type to get there."""
    assert nest.path_text(("eye", 0), "obs") == "obs['eye'][0]"
