"""Arguments from files: plain data, spaces, and what the slots for names let in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

from ..errors import SpaceError
from ..spaces.ray_pickles import is_space
from ..vault.decode.standins import GlobalRef, Opaque, class_path, mapping_of
from ..vault.readers.spaces_in_files import space_in
from .names import Names, Slot

Records: TypeAlias = Mapping[str, Callable[[Mapping[str, Any], Names], Any]]

ARGUMENT: Final = Slot("a class or function among the arguments")
OBJECT: Final = Slot(
    "an object among the arguments", fits=lambda thing: not isinstance(thing, type)
)
_TEXTS: Final = ("torch.device", "gymnasium.envs.registration.VectorizeMode")
"""Classes whose objects are taken by their names wherever they may stand."""


def live_arguments(
    value: Any, names: Names, slot: Slot = ARGUMENT, records: Records | None = None
) -> Any:
    """Decoded data with its spaces made, and its names looked up; nothing is called.

    A name that nobody knows stays a stand-in, and `names` remembers it. `records` has by the last
    part of a class's name what makes its objects of their attributes.
    """
    if isinstance(value, dict):
        return {key: live_arguments(part, names, slot, records) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(live_arguments(part, names, slot, records) for part in value)
    if isinstance(value, GlobalRef) or (isinstance(value, Opaque) and value.is_by_value):
        return names.find(class_path(value), slot)
    if isinstance(value, Opaque):
        path = class_path(value)
        if ".spaces" in path:
            return space_in(value)
        if is_space(value.mapping()):
            with suppress(SpaceError):  # nothing that we have: names tell it below
                return space_in(value)
        last = path.rpartition(".")[2]
        if last == "DefaultModelConfig":
            return mapping_of(value)
        if records and last in records:
            return records[last](mapping_of(value), names)
        if path in _TEXTS and all(isinstance(arg, (str, int)) for arg in value.args):
            return ":".join(map(str, value.args))
        return names.find(path, OBJECT)
    return value
