"""What stands for `tree` (dm_tree) where it is not installed: Ray's users have it from RLlib.

Connectors of strangers walk nested observations with it. It has nothing to do with Ray's own names,
so an installed one is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import nest


def is_nested(structure: Any) -> bool:
    """Whether it is a container."""
    return not nest.is_leaf(structure)


def map_structure(
    func: Callable[..., Any], *structures: Any, check_types: bool = True, **_: Any
) -> Any:
    """Apply a function to the leaves of equally built structures.

    Args:
        func: Called with one leaf of each.
        *structures: The structures; the result is built like the first.
        check_types: Whether a list stands for lists only, and so on; if not, leaves are taken in
            order.
        **_: Of no meaning here.

    Example:
        >>> map_structure(lambda a, b: a + b, {"x": 1}, {"x": 2})
        {'x': 3}
    """
    if not check_types:
        rows = zip(*map(nest.flatten, structures), strict=True)
        return nest.unflatten_as(structures[0], [func(*row) for row in rows])
    return nest.map_structure(func, *structures)


def map_structure_up_to(shallow: Any, func: Callable[..., Any], *structures: Any, **_: Any) -> Any:
    """Apply a function where the shallow structure has leaves."""
    return nest.map_structure_up_to(shallow, func, *structures)


def map_structure_with_path(func: Callable[..., Any], *structures: Any, **_: Any) -> Any:
    """Apply a function to the path and the leaves of equally built structures.

    Example:
        >>> map_structure_with_path(lambda path, x: (*path, x), {"a": [1, 2]})
        {'a': [('a', 0, 1), ('a', 1, 2)]}
    """
    assert_same_structure(*structures)
    leaves = [nest.flatten(structure) for structure in structures]
    paths = [path for path, _ in nest.flatten_with_path(structures[0])]
    leaves_after = [func(path, *row) for path, *row in zip(paths, *leaves, strict=True)]
    return nest.unflatten_as(structures[0], leaves_after)


def flatten_up_to(shallow: Any, structure: Any, **_: Any) -> list[Any]:
    """The parts of a structure that lie where the shallow one has leaves."""
    flat: list[Any] = []
    nest.map_structure_up_to(shallow, flat.append, structure)
    return flat


def assert_same_structure(a: Any, *others: Any, **_: Any) -> None:
    """Check that structures are built alike.

    Raises:
        SpaceError: They are not.
    """
    if others:
        nest.map_structure(lambda *_: None, a, *others)
