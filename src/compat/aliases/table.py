"""Where rlconnect has each name of RLlib, by the module that Ray has it in.

A view of `rlconnect.names`. The home `stand-in` means a class that can be named and subclassed,
and says so when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from ...core.importing.torch_needed import torch_needed
from ...core.text.near_names import near_names
from ...names import SHARED, front_tables
from ...names.legacy import LEGACY
from ...names.ray import RAY
from ...names.rows import Row, rows
from ...names.v2 import TUNING, V2
from .stand_ins import IN_TUNE, STAND_IN, stand_in

_ROOT: Final = __name__.split(".")[0]
_RLLIB: Final = "ray.rllib"
_ALL: Final = "*"


class Place(NamedTuple):
    """Where something is: a module below `rlconnect` (or a kind of stand-in) and its name there."""

    home: str
    name: str

    def fetch(self) -> Any:
        """The thing itself; its module is loaded.

        Raises:
            MissingExtraError: It needs torch, which is not installed.
        """
        if self.home in (STAND_IN, IN_TUNE):
            return stand_in(self.name, self.home)
        with torch_needed(self.name):
            return getattr(import_module(f"{_ROOT}.{self.home}"), self.name)


@lru_cache(maxsize=1)
def modules() -> dict[str, dict[str, Place]]:
    """Every module of Ray that can be imported, packages too, with the names it has; and `tree`.

    Example:
        >>> modules()["ray.rllib.core.columns"]
        {'Columns': Place(home='v2', name='Columns')}
    """
    by_path: dict[str, dict[str, Place]] = {}
    for front, tables in _TABLES:
        shown, hidden = front_tables(*tables)
        served = shown.keys() | hidden.keys()
        for row in (row for table in tables for row in rows(table)):
            places = dict(_places_of(row, front, served))
            for path in row.paths:
                by_path.setdefault(path, {}).update(places)
    for path in list(by_path):
        while path := path.rpartition(".")[0]:
            by_path.setdefault(path, {})
    return by_path


_TABLES: Final = (
    ("v2", (V2,)),
    ("v2.tuning", (TUNING,)),
    ("legacy", (LEGACY, SHARED)),
    ("", (RAY,)),
)


def _places_of(row: Row, front: str, served: Set[str]) -> Iterator[tuple[str, Place]]:
    """Where each name of a row is: on the front if it serves that, else in its module."""
    dots = len(row.home) - len(row.home.lstrip("."))
    above = f"{front}.".split(".")[: front.count(".") + 2 - dots] if dots else []
    home = ".".join([*above, row.home[dots:]])
    for name, our_name in row.names:
        if name == _ALL:
            public = vars(import_module(f"{_ROOT}.{home}"))
            yield from ((name, Place(home, name)) for name in public if name.isupper())
        elif front and (name in served or our_name in served):
            yield name, Place(front, name if name in served else our_name)
        else:
            yield name, Place(home, our_name)


@lru_cache(maxsize=1)
def _places() -> dict[str, frozenset[Place]]:
    """Every place a name has, over all modules."""
    by_name: dict[str, set[Place]] = {}
    for names in modules().values():
        for name, place in names.items():
            by_name.setdefault(name, set()).add(place)
    return {name: frozenset(places) for name, places in by_name.items()}


def locate(module: str, name: str) -> Place | None:
    """Where a name of one of Ray's modules lies; None where rlconnect lacks it.

    A module of RLlib also hands out what it imports itself. So a name that the module's row does
    not say, and that means the same in every other module, is found as well.

    Example:
        >>> locate("ray.rllib.algorithms.ppo.ppo", "Columns")
        Place(home='v2', name='Columns')
    """
    place = modules().get(module, {}).get(name)
    if place is not None:
        return place
    places = _places().get(name, frozenset())
    return next(iter(places)) if len(places) == 1 and module.startswith(_RLLIB) else None


def nearest_name(module: str, name: str) -> str | None:
    """The name that was probably meant: where it is, if elsewhere, else one spelt alike."""
    where = sorted(path for path, names in modules().items() if name in names)
    if where:
        return f"{where[0]}.{name}"
    known = modules().get(module, {})
    near = near_names(name, known, n=1)
    if near:
        return f"{module}.{near[0]}"
    anywhere = near_names(name, _places(), n=1, cutoff=0.75)
    return nearest_name(module, anywhere[0]) if anywhere else None


def nearest_module(path: str) -> str | None:
    """The module that was probably meant."""
    last = path.rpartition(".")[2]
    ends = sorted(module for module in modules() if module.rpartition(".")[2] == last)
    near = near_names(path, ends or modules(), n=1, cutoff=0.5)
    return near[0] if near else (ends[0] if ends else None)
