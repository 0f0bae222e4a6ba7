"""Data under tags, read back from files that nobody trusts.

A tag is the set of keys that an object has; a format is a table of tags and their readers. What is
in no table, and whatever a reader stumbles over, is damage, which is told with its place.
`plain_data` and the documents of the vault are read in this way; `damage` is for all other data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from ..errors import CorruptCheckpointError, RlconnectError

_T = TypeVar("_T", bound=Sized)

Path: TypeAlias = tuple[str, ...]

_STUMBLES: Final = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError),
)


def place(path: Path) -> str:
    """A place in data as errors name it."""
    return "/".join(path)[:120].encode("utf-8", "backslashreplace").decode() or "the top"


def damaged(name: str, path: Path, what: str) -> CorruptCheckpointError:
    """The error for data that cannot have been written as it is."""
    where = place(path)
    return CorruptCheckpointError(
        f"{name} is damaged at {where}: {what}.",
        hint="copy the checkpoint again from where it came from.",
        file=name,
        at=where,
    )


class TagReader:
    """Reads objects by their tags."""

    tags: ClassVar[Mapping[frozenset[str], Callable[..., Any]]] = {}
    """The reader of each tag; it gets this, the object, its place and what else was given."""

    def __init__(self, name: str) -> None:
        self.name = name

    def tagged(self, data: Mapping[Any, Any], path: Path, *given: Any) -> Any:
        """The value that a tagged object describes."""
        reader = self.tags.get(frozenset(data))
        try:
            if reader is None:
                return self.unknown(data, path, *given)
            return reader(self, data, path, *given)
        except RlconnectError:
            raise
        except _STUMBLES as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            reason = reason[:120] or type(error).__name__
            what = f"a malformed {_keys(data)[0]}, {reason}"
            raise damaged(self.name, path, what) from error

    def unknown(self, data: Mapping[Any, Any], path: Path, *given: Any) -> Any:
        """Raise the error for a tag that is in no table; a format may read more."""
        raise damaged(self.name, path, f"unknown tag {', '.join(_keys(data))[:80]!r}")


def _keys(data: Mapping[Any, Any]) -> list[str]:
    return sorted(key if isinstance(key, str) else type(key).__name__ for key in data) or ["dict"]


def distinct(result: _T, items: Sized) -> _T:
    """A set or dict that was made of items, which may not stand twice."""
    if len(result) != len(items):
        raise ValueError("an entry stands twice")
    return result
