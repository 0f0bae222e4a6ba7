"""A cache of the last few keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_KEPT: Final = 8
"""So many things are kept: whoever acts alternates between a few sizes of batches."""


class LastFew(dict[Any, Any]):
    """A dict that makes missing values from their keys and keeps only a few; threads may share it.

    Example:
        >>> squares = LastFew(lambda key: key**2)
        >>> squares[3], len(squares)
        (9, 1)
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        value = self._make(key)
        if len(self) >= _KEPT:
            self.clear()
        self[key] = value
        return value
