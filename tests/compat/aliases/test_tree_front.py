"""`tree` without dm_tree: what connectors of strangers do with nested observations."""

import numpy as np
import pytest
from rlconnect.compat import ray_aliases
from rlconnect.compat.aliases import tree_front

NESTED = {"b": (1, [2, 3]), "a": {"z": None}}


def test_tree_can_be_imported_while_the_names_are_active():
    """An import of `tree` works whether or not dm_tree is installed, and sorts keys as it does."""
    with ray_aliases.activate(force=True):
        import tree

        assert tree.flatten(NESTED) == [None, 1, 2, 3]
        assert tree.unflatten_as(NESTED, [0, 1, 2, 3]) == {"b": (1, [2, 3]), "a": {"z": 0}}


def test_functions_get_paths():
    """The path comes first, then a leaf of each structure."""
    found = tree_front.map_structure_with_path(
        lambda path, a, b: (path, a, b), {"x": [1]}, {"x": [2]}
    )

    assert found == {"x": [(("x", 0), 1, 2)]}


def test_deeper_parts_are_kept_whole():
    """Where the shallow structure ends, the rest of the other is one part."""
    deep = {"a": [1, 2], "b": (3, {"x": 1})}

    assert tree_front.flatten_up_to({"a": 0, "b": (0, 0)}, deep) == [[1, 2], 3, {"x": 1}]
    assert tree_front.map_structure_up_to({"a": 0, "b": 0}, len, deep) == {"a": 2, "b": 2}


def test_lists_stand_for_tuples_where_types_do_not_matter():
    """With `check_types=False` leaves are taken in order."""
    assert tree_front.map_structure(max, (1, 5), [3, 4], check_types=False) == (3, 5)
    with pytest.raises(ValueError, match="structures differ"):
        tree_front.map_structure(max, (1, 5), [3, 4])


@pytest.mark.parametrize(
    ("value", "is_nested"), [({}, True), ((), True), ("ab", False), (3, False)]
)
def test_what_is_nested(value, is_nested):
    """Containers are, arrays and strings are not."""
    assert tree_front.is_nested(value) is is_nested
    assert not tree_front.is_nested(np.zeros(2))


def test_other_structures_are_told():
    """Structures with other keys or lengths are refused."""
    tree_front.assert_same_structure(NESTED, NESTED)
    with pytest.raises(ValueError, match="structures differ"):
        tree_front.assert_same_structure({"a": 1}, {"b": 1})
