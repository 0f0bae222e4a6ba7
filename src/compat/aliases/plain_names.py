"""Small names of RLlib that old sources import and nothing else here needs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

DEPRECATED_VALUE: Final = -1
LARGE_INTEGER: Final = 100_000_000
LEARNER_INFO: Final = "learner"
MAX_LOG_NN_OUTPUT: Final = 2
MIN_LOG_NN_OUTPUT: Final = -5
TIMESTAMP: Final = "timestamp"
TIMESTEPS_TOTAL: Final = "timesteps_total"
TIME_THIS_ITER_S: Final = "time_this_iter_s"
TIME_TOTAL_S: Final = "time_total_s"
TRAINING_ITERATION: Final = "training_iteration"


def deprecation_warning(
    old: str,
    new: str | None = None,
    *,
    help: str | None = None,
    error: bool | type[Exception] | None = None,
    stacklevel: int = 2,
) -> None:
    """Say that something is outdated; with `error`, refuse it.

    Args:
        old: What is outdated.
        new: What to use instead.
        help: The sentence to say in place of the one made from `new`.
        error: An error to raise; True for a ValueError.
        stacklevel: Whose line a warning names, counted from the caller.
    """
    advice = help or (f"use `{new}` instead." if new else "it will go away.")
    text = f"`{old}` is deprecated: {advice}"
    if error:
        raise (error if isinstance(error, type) else ValueError)(text)
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)


def Deprecated(*_: Any, **__: Any) -> Callable[[T], T]:  # RLlib's name
    """Mark a class or function as outdated; it stays as it is."""
    return _unchanged


def _unchanged(obj: T) -> T:
    return obj


class RayDeprecationWarning(DeprecationWarning):
    """Said about what goes away."""


def is_overridden(obj: Callable[..., Any]) -> bool:
    """Whether a method is none of the no-ops of a base class of rlconnect."""
    return not getattr(obj, "__module__", "").startswith(f"{__name__.split('.')[0]}.")
