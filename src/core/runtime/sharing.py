"""For objects that several threads share: locks that copy, and values of each thread.

A lock guards what outlasts a call (sessions, counts, random numbers); what a call leaves behind
for the next line of its own thread, such as the features that `value_function()` reads after
`forward()`, is kept by thread.
"""

from __future__ import annotations

import threading
from _thread import RLock
from typing import Any, Final, Generic, TypeVar, overload

from typing_extensions import Self

T = TypeVar("T")


class Turn(RLock):  # type: ignore[misc]  # it may be subclassed, whatever typeshed says
    """A reentrant lock; a copy of its owner, pickled or not, gets a new one.

    Example:
        >>> import copy
        >>> turn = Turn()
        >>> with turn:
        ...     copy.deepcopy(turn) is turn
        False
    """

    __slots__ = ()

    def __reduce__(self) -> Any:
        return type(self), ()


class _Values(threading.local):
    """The values of one thread; copies start empty."""

    def __reduce__(self) -> Any:
        return type(self), ()


class PerThread(Generic[T]):
    """An attribute of which each thread sees the value that it set itself, else None.

    Example:
        >>> class Model:
        ...     features = PerThread[int]()
        >>> model = Model()
        >>> model.features = 3
        >>> model.features
        3
        >>> seen = []
        >>> thread = threading.Thread(target=lambda: seen.append(model.features))
        >>> thread.start(), thread.join()
        (None, None)
        >>> seen
        [None]
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T | None: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The thread's value."""
        if instance is None:
            return self
        values = instance.__dict__.get(_VALUES)
        return None if values is None else values.__dict__.get(self._name)

    def __set__(self, instance: Any, value: T | None) -> None:
        """Let it be the thread's value."""
        attributes = instance.__dict__
        values = attributes.get(_VALUES)
        if values is None:
            values = attributes.setdefault(_VALUES, _Values())  # of two threads, one puts it there
        values.__dict__[self._name] = value


_VALUES: Final = "_values_of_threads"
