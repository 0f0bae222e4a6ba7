"""Functions that lower layers call in higher ones: the front door registers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from ..errors import ConfigError

Answer = TypeVar("Answer")


class AskedAbove(Generic[Answer]):
    """A function of a higher layer, for those that lie below it.

    `what` says what it does, for an error where nobody does it.

    Example:
        >>> double = AskedAbove("doubles numbers")
        >>> answering = double.answered_by(lambda number: 2 * number)
        >>> double(4)
        8
    """

    def __init__(self, what: str) -> None:
        self.what: Final = what
        self._answers: list[Callable[..., Answer]] = []

    def answered_by(self, function: Callable[..., Answer]) -> Callable[..., Answer]:
        """Say which function answers; also a decorator."""
        self._answers[:] = [function]
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Answer:
        """Ask."""
        if not self._answers:
            raise ConfigError(f"nothing {self.what} here", hint="import rlconnect first.")
        return self._answers[0](*args, **kwargs)
