"""Which decoded values may be keys of a dict or members of a set.

Hashing recurses through tuples, comparing equal hashes recurses too, and only text is hashed with
a secret: numbers can be chosen so that a dict of n of them takes n * n steps. All three are
bounded here, before Python hashes anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..errors import CorruptCheckpointError, LimitExceededError
from .budget import Budget, allowance

MAX_KEY_NODES: Final = 64
MAX_EQUAL_HASHES: Final = 32
MAX_NUMBER_KEYS: Final = 30_000
_UNHASHABLE: Final = (list, dict, set, memoryview, bytearray)


class KeyGuard:
    """Lets keys through, or refuses those that were built to make dicts slow.

    Example:
        >>> guard = KeyGuard(Budget())
        >>> guard.check("weights"), guard.check((0, "agent"))
        ('weights', (0, 'agent'))
    """

    __slots__ = ("_budget", "_hashes", "_last", "_numbers")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._hashes: dict[int, list[Any]] = {}
        self._last: int = -1
        self._numbers = 0

    def check(self, value: Any) -> Any:
        """`value` itself, if it may be hashed."""
        kind = type(value)
        if kind is str or kind is bytes or value is None or kind is bool:
            return value
        if kind is int and 0 <= value < 2**63:
            # Whole numbers one after the other cannot collide; others are counted.
            if value != self._last + 1:
                self._count()
            self._last = value
            return value
        if kind in _UNHASHABLE:
            raise CorruptCheckpointError(f"a {kind.__name__} as a key")
        self._count()
        self._check_hash(value)
        return value

    def _count(self) -> None:
        self._numbers += 1
        if self._numbers > MAX_NUMBER_KEYS:
            raise LimitExceededError(f"more than {MAX_NUMBER_KEYS:,} keys that are no text")

    def _check_hash(self, value: Any) -> None:
        pending, nodes = [value], 0
        while pending:
            part = pending.pop()
            nodes += 1
            if isinstance(part, (tuple, frozenset)):
                nodes += len(part)
                if nodes <= MAX_KEY_NODES:
                    pending.extend(part)
            if nodes > MAX_KEY_NODES:
                raise LimitExceededError(f"a key made of more than {MAX_KEY_NODES} parts")
        try:
            code = hash(value)
        except TypeError as error:
            raise CorruptCheckpointError(f"a key that can be none ({error})") from None
        equal = self._hashes.setdefault(code, [])
        if any(value is other or value == other for other in equal):
            return
        if len(equal) >= MAX_EQUAL_HASHES:
            raise LimitExceededError("keys that were built to collide")
        self._budget.spend(180, "keys")
        equal.append(value)


def checked_keys(values: Iterable[Any], guard: KeyGuard) -> list[Any]:
    """Values of a file that are about to be keys, each let through by the guard.

    One that is unhashable is a TypeError, as Python says it, for readers that tell the place.
    """
    try:
        return [guard.check(value) for value in values]
    except CorruptCheckpointError as error:
        raise TypeError(f"unhashable: {error.message}") from None


def table_of(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dict of keys and values read from a file; of a key that stands twice the last value counts.

    Example:
        >>> table_of([[0, "a"], [1, "b"]])
        {0: 'a', 1: 'b'}
    """
    check = KeyGuard(allowance()).check
    return {check(key): value for key, value in pairs}
