"""Nested actions are taken apart and put together in one order."""

from gymnasium.spaces import Box, Dict, Discrete, Tuple
from rlconnect.core import nest
from rlconnect.legacy.distributions.action_leaves import leaf_spaces, map_actions, nest_leaves

SPACE = Dict(b=Tuple([Discrete(3), Box(-1, 1, (2,))]), a=Discrete(2))


def test_leaves_go_by_sorted_key_and_come_back():
    """Flattening what was nested gives the leaves again, in the space's order of leaves."""
    leaves = list("xyz")

    nested = nest_leaves(SPACE, leaves)

    assert nested == {"a": "x", "b": ("y", "z")}
    assert nest.flatten(nested) == leaves
    assert [type(leaf).__name__ for leaf in leaf_spaces(SPACE)] == ["Discrete", "Discrete", "Box"]


def test_a_plain_value_is_its_own_leaf():
    """An action that is not nested passes through all of it."""
    assert nest_leaves(Discrete(2), [7]) == 7
    assert map_actions(str, {"a": (1, 2)}) == {"a": ("1", "2")}
