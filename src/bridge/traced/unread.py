"""What a traced function may pass on and must not look at."""

from __future__ import annotations

from typing import Any, Final

from .tape import Untraceable


class Unread:
    """Stands for something beside the value that is traced.

    Args:
        name: What it is, as a user calls it.
    """

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __copy__(self) -> Unread:
        return self

    def __deepcopy__(self, memo: Any) -> Unread:
        return self

    def _refused(self, *args: Any, **kwargs: Any) -> Any:
        raise Untraceable(f"reads {object.__getattribute__(self, '_name')}")

    def __hash__(self) -> int:
        return int(self._refused())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refused()


_WORDS: Final = (
    "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv mod"
    " rmod pow rpow matmul rmatmul and rand or ror xor rxor neg pos abs invert eq ne lt le gt ge"
    " bool int float index complex round len iter contains getitem setitem delitem call str repr"
    " format array array_ufunc array_function setattr"
)
for _name in _WORDS.split():
    setattr(Unread, f"__{_name}__", Unread._refused)
