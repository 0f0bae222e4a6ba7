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
    """The parts with the given names, in that order; all of them if None.

    What is not known is an error, which `where`, `kind` and `hint` are for.
    """
    names = list(by_id) if ids is None else list(ids)
    for name in names:
        if name not in by_id:
            known = ", ".join(map(repr, by_id)) or "one of none"
            raise UnknownNameError(f"no {kind} {name!r} in {where}", expected=known, hint=hint)
    return {name: by_id[name] for name in names}
