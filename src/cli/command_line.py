"""The command line that runs, as a person would type it again."""

from __future__ import annotations

import shlex
import sys
from contextvars import ContextVar
from typing import Final

_given: Final[ContextVar[tuple[str, ...]]] = ContextVar("command_line", default=())


def take_command_line(argv: list[str] | None) -> tuple[str, ...]:
    """Remember and give what the program was called with; the process's own words if None."""
    words = tuple(sys.argv[1:] if argv is None else argv)
    _given.set(words)
    return words


def given_words() -> tuple[str, ...]:
    """What the program was called with."""
    return _given.get()


def command_line() -> str:
    """The command that runs, quoted for a shell."""
    return shlex.join(["rlconnect", *_given.get()])
