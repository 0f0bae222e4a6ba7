"""Some of what a checkpoint holds, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ..errors import UnknownNameError

_Part = TypeVar("_Part")


def chosen(
    by_id: Mapping[str, _Part],
    ids: Iterable[str] | None,
    where: Any,
    *,
    kind: str = "policy",
    hint: str = "",
) -> dict[str, _Part]:
    """What has the wanted names, in their order; everything if None.

    Args:
        by_id: What there is.
        ids: The names.
        where: The path, for the error.
        kind: What has names, for the error.
        hint: What to do, for the error.

    Raises:
        UnknownNameError: There is nothing of some name.
    """
    names = list(by_id) if ids is None else list(ids)
    for name in names:
        if name not in by_id:
            there = ", ".join(map(repr, by_id)) or "one of none"
            raise UnknownNameError(f"no {kind} {name!r} in {where}", expected=there, hint=hint)
    return {name: by_id[name] for name in names}
