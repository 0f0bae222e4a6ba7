"""Turn errors while data of a file is taken over into errors that name the place in the file.

    with at("optimizer"):
        for name, held in state.items():
            with at(name):
                take(held)

What stumbles in there (`KeyError`, `TypeError`, ... of our own code or of numpy, torch and such)
becomes a `CorruptCheckpointError` that begins with `optimizer > adam`, and has the stumble as its
cause. Errors of ours pass with the place put in front. Errors of a user's own code stay theirs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator, contextmanager
from types import TracebackType
from typing import Any, Final, TypeVar

from typing_extensions import Self

from ..errors import CheckpointError, CorruptCheckpointError, LimitExceededError, RlconnectError

_F = TypeVar("_F", bound=Callable[..., Any])

_OURS: Final = __name__.partition(".")[0]
_KNOWN: Final = frozenset(sys.stdlib_module_names) - {"__main__"} | {
    *(_OURS, "PIL", "gymnasium", "h5py", "msgpack", "numpy", "optree", "pyarrow", "safetensors"),
    "torch",
}
"""Whose code runs while a file is read; anybody else's is a user's."""

_NOT_DAMAGE: Final = (RlconnectError, Warning, ImportError, OSError)
_THEIRS: Final = "_rlconnect_is_of_user"
_FRAMES: Final = "_rlconnect_user_frames"
_LONGEST: Final = 60
_MISUSE: Final = re.compile(
    r"\) (takes|missing|got an unexpected|got multiple) |^expected str, bytes or os\.PathLike"
)
"""How Python says that a function does not take what it was called with."""


class at(ContextDecorator):  # read as words: `with at("optimizer"):`
    """One or several steps into the data of a file; also a decorator.

    Args:
        *steps: Names and numbers, the outermost first; none for a boundary that is no place. Who
            takes many equal things sets them anew for each: `place.steps = (name,)`.

    Raises:
        CorruptCheckpointError: Something stumbled.
        LimitExceededError: It took more memory, or deeper calls, than there are.

    Example:
        >>> try:
        ...     with at("state.pkl", "layers"), at(3):
        ...         {}["weight"]
        ... except CorruptCheckpointError as error:
        ...     print(error.summary)
        state.pkl > layers > 3: this is damaged, no 'weight'
    """

    __slots__ = ("steps",)

    def __init__(self, *steps: Any) -> None:
        self.steps = steps

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            return
        if isinstance(error, RlconnectError):
            if self.steps:
                error.set_place(_joined(self.steps, error))
            return
        if not isinstance(error, Exception) or isinstance(error, _NOT_DAMAGE):
            return
        if not self.steps and isinstance(error, TypeError) and _MISUSE.search(str(error)):
            return  # the caller's arguments, not the file's: those are read with their place
        if not is_of_user(error, trace):
            raise _told(error, self.steps) from error


def _told(error: Exception, steps: tuple[Any, ...]) -> CheckpointError:
    place = _joined(steps, None)
    if isinstance(error, (MemoryError, RecursionError)):
        limit = "memory than there is" if isinstance(error, MemoryError) else "nesting than allowed"
        return LimitExceededError(f"this takes more {limit}", place=place)
    text = f"no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
    return CorruptCheckpointError(
        f"this is damaged, {_plain(text, 160)}",
        hint="copy the checkpoint again from where it came from.",
        place=place,
    )


def _joined(steps: tuple[Any, ...], error: RlconnectError | None) -> str:
    names = [_plain(str(step), _LONGEST) for step in steps]
    below = error.facts.get("place") if error is not None else None
    if isinstance(below, str) and below:
        names.append(below)
    return " > ".join(names)


def _plain(text: str, most: int) -> str:
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    return short if short.isprintable() else ascii(short)[1:-1]


def is_of_user(error: BaseException, trace: TracebackType | None) -> bool:
    """True if an error was raised in code that is neither ours nor our libraries'.

    `trace` is its way from the place that asks.
    """
    return getattr(error, _THEIRS, False) or any(True for _ in user_frames(trace))


def user_frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    """The steps of a traceback in code that is neither ours nor our libraries'."""
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__") or ""
        if name.partition(".")[0] not in _KNOWN:
            yield trace
        trace = trace.tb_next


def blame_user(error: BaseException, frames: Sequence[str] = ()) -> None:
    """Count an error as a user's, wherever it came up.

    Args:
        error: The error.
        frames: Lines of its traceback in the user's code, if it was raised in another process.
    """
    setattr(error, _THEIRS, True)
    setattr(error, _FRAMES, tuple(frames))


def remote_frames(error: BaseException) -> tuple[str, ...]:
    """Return the lines of a traceback in the user's code that `blame_user` was given."""
    return tuple(getattr(error, _FRAMES, ()))


@contextmanager
def calling(*called: Any) -> Iterator[None]:
    """Call what may be a user's: arguments that it does not take are a user's error, too.

    Such an error comes up in our line; its text begins with the name of the class or function.
    """
    try:
        yield
    except TypeError as error:
        name = str(error).partition("(")[0]
        kinds = [kind for each in called for kind in getattr(each, "__mro__", (each,))]
        if _MISUSE.search(str(error)) and any(_is_theirs(kind, name) for kind in kinds):
            blame_user(error)
        raise


def _is_theirs(called: Any, name: str) -> bool:
    qualified = getattr(called, "__qualname__", "")
    module = getattr(called, "__module__", None) or ""
    return (
        bool(qualified)
        and (name == qualified or name.startswith(f"{qualified}."))
        and module.partition(".")[0] not in _KNOWN
    )
