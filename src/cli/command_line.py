"""The command line that runs, as a person would type it again."""

from __future__ import annotations

import shlex
import sys
from contextvars import ContextVar
from typing import Final

_given: Final[ContextVar[tuple[str, ...]]] = ContextVar("command_line", default=())


def take_command_line(argv: list[str] | None) -> None:
    """Remember what the program was called with; the process's own arguments if None."""
    _given.set(tuple(sys.argv[1:] if argv is None else argv))


def command_line() -> str:
    """The command that runs, quoted for a shell."""
    return shlex.join(["rlconnect", *_given.get()])
