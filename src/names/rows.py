"""Rows of the table of names, taken apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import lines


class Row(NamedTuple):
    """Names of one module, and where Ray has them.

    Args:
        home: The module of ours.
        names: Each name, and what it is called in that module.
        paths: Ray's modules, in full.
    """

    home: str
    names: tuple[tuple[str, str], ...]
    paths: tuple[str, ...]


def rows(table: str) -> Iterator[Row]:
    """The rows of a table.

    Example:
        >>> next(rows("-.modules.catalogs: MARWILCatalog=PPOCatalog @ algorithms.marwil"))[1:]
        ((('MARWILCatalog', 'PPOCatalog'),), ('ray.rllib.algorithms.marwil',))
    """
    for line in lines(table):
        head, _, paths = line.partition(" @ ")
        home, _, words = head.lstrip("~-").partition(": ")
        pairs = (word.replace(">", "=").partition("=") for word in words.split())
        yield Row(
            home,
            tuple((name, ours if sign else name) for name, sign, ours in pairs),
            tuple(_whole(home.lstrip(".") if path == "=" else path) for path in paths.split()),
        )


def renamed(table: str) -> dict[str, str]:
    """The names that RLlib itself has given up, and what it calls these things today."""
    words = (word.partition(">") for line in lines(table) for word in line.split())
    return {name: today for name, sign, today in words if sign}


def _whole(path: str) -> str:
    return path[1:] if path[0] == "/" else f"ray.rllib.{path}"
