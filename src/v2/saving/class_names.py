"""Our classes and the names RLlib's checkpoints give them.

A checkpoint names a class by dotted path. Paths below `ray.rllib` are looked up by class name among
the rows of `rlconnect.names.v2` that a slot is for: what may be imported for a file is what these
say. Written checkpoints name our own pieces and modules as RLlib does, so that Ray reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from ...core.trust import by_path
from ...names.rows import Row, rows
from ...names.v2 import V2

_RAY: Final = "ray.rllib."
_OURS: Final = "rlconnect.v2"
RAY_PIECES: Final = "rlconnect.ray_pieces"
"""Where Ray finds what it lacks, under the names of our own classes."""

_SAVED_AS_RAYS: Final = (".connectors.", ".modules.")
_OF_PIECES: Final = tuple(
    f".connectors.{room}." for room in ("common", "env_to_module", "learner", "module_to_env")
)


def own_classes(*rooms: str) -> Callable[[str], Any]:
    """A table for a slot: what rlconnect.v2 has in some of its rooms, by RLlib's names.

    Args:
        *rooms: Packages and modules: ".connectors", ".config.callbacks".
    """

    def find(path: str) -> Any:
        is_known = path.startswith((_RAY, f"{_OURS}.", f"{RAY_PIECES}."))
        return _classes_in(rooms)(path) if is_known else None

    return find


@cache
def _rows() -> tuple[Row, ...]:
    return tuple(rows(V2))


@cache
def _classes_in(rooms: tuple[str, ...]) -> Callable[[str], Any]:
    inside = tuple(f"{room}." for room in rooms)
    homes = {
        name: f"{row.home}:{our_name}"
        for row in _rows()
        if f"{row.home}.".startswith(inside)
        for name, our_name in row.names
    }
    return by_path(homes, _OURS)


def pairs_of(room: str, ending: str) -> list[str]:
    """Names in a room that have another one beside them, with an ending: PPO by PPOConfig."""
    pairs = [
        name
        for row in _rows()
        if row.home.startswith(f"{room}.")
        for name, _ in row.names
        if f"{name}{ending}" in dict(row.names)
    ]
    return sorted(pairs)


def derived_from(name: str) -> Callable[[Any], bool]:
    """Whether something is a class derived from one of ours, which is not loaded to find out."""
    return lambda thing: (
        isinstance(thing, type)
        and any(
            base.__name__ == name and base.__module__.startswith(f"{_OURS}.")
            for base in thing.__mro__
        )
    )


@cache
def _ray_modules() -> dict[str, str]:
    """Our pieces, modules and what they are made of -> Ray's module that has them."""
    return {
        name: row.paths[0]
        for row in _rows()
        if row.paths and row.home.startswith(_SAVED_AS_RAYS)
        for name, our_name in row.names
        if name == our_name
    }


def pieces_without_rays() -> dict[str, str]:
    """Our pieces that Ray has no class for -> the module of `rlconnect.v2` that each lives in."""
    return {
        name: row.home
        for row in _rows()
        if row.home.startswith(_OF_PIECES) and not row.paths
        for name, _ in row.names
    }


def saved_name(cls: Any) -> tuple[str, str]:
    """Module and name under which a class or function is saved: RLlib's for our own.

    A class may say otherwise by `saved_as`, a module and a name; its subclasses do not inherit it.
    """
    saved_as: tuple[str, str] | None = vars(cls).get("saved_as") if isinstance(cls, type) else None
    if saved_as is not None:
        return saved_as
    module, name = cls.__module__, cls.__qualname__
    ray_module = _ray_modules().get(name) if module.startswith(_OURS) else None
    return ray_module or module, name
