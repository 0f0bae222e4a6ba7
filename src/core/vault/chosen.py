"""Some of what a checkpoint holds, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ..errors import UnknownNameError

_Part = TypeVar("_Part")


def chosen(
    found: Mapping[str, _Part],
    wanted: Iterable[str] | None,
    where: Any,
    *,
    kind: str = "policy",
    hint: str = "",
) -> dict[str, _Part]:
    """What has the wanted names, in their order; everything if None.

    Args:
        found: What there is.
        wanted: The names.
        where: The path, for the error.
        kind: What has names, for the error.
        hint: What to do, for the error.

    Raises:
        UnknownNameError: There is nothing of some name.
    """
    names = list(found) if wanted is None else list(wanted)
    for name in names:
        if name not in found:
            there = ", ".join(map(repr, found)) or "one of none"
            raise UnknownNameError(f"no {kind} {name!r} in {where}", expected=there, hint=hint)
    return {name: found[name] for name in names}
