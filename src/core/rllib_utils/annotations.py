"""RLlib's marks on classes and methods, as marks that do nothing.

Old sources decorate with them everywhere. They must never stand in the way: `override` does not
look whether the base class still has the method, since the base may be one that RLlib changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def override(parent_cls: Any) -> Callable[[T], T]:
    """Mark a method as one of `parent_cls` that is replaced; nothing is checked.

    Example:
        >>> class Mine(dict):
        ...     @override(dict)
        ...     def gone_since_long(self):
        ...         return 1
        >>> Mine().gone_since_long()
        1
    """
    return _unchanged


def PublicAPI(obj: Any = None, *, stability: str = "stable", **_: Any) -> Any:  # RLlib's name
    """Mark something as public, with or without arguments.

    Example:
        >>> PublicAPI(len) is PublicAPI(stability="alpha")(len) is len
        True
    """
    return _unchanged if obj is None else obj


DeveloperAPI = ExperimentalAPI = OldAPIStack = PublicAPI
OverrideToImplementCustomLogic = PublicAPI
OverrideToImplementCustomLogic_CallToSuperRecommended = PublicAPI


def _unchanged(obj: T) -> T:
    return obj
