"""What a setting is when nobody has given it."""

from __future__ import annotations

from typing import Any, Final


class _NotProvided:
    """Stands for no value, where None is one."""

    def __repr__(self) -> str:
        return "NotProvided"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "NotProvided"


NotProvided: Final[Any] = _NotProvided()
