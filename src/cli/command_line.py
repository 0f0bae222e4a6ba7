"""The command line that runs, as a person would type it again."""

from __future__ import annotations

import os
import re
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


def free_name(path: str, word: str) -> str:
    """A name in this folder that nothing has yet, for what becomes of a checkpoint.

    Args:
        path: The checkpoint.
        word: What it becomes, such as "adapted"; an ending such as ".onnx" is kept as one.
    """
    stem, dot, ending = word.partition(".")
    base = os.path.basename(os.path.normpath(path)).removesuffix(".zip")
    plain = re.sub(r"[^\w.-]+", "-", base).strip("-.") or "checkpoint"
    names = (f"{plain}-{stem}{number}{dot}{ending}" for number in ("", *map(str, range(2, 1000))))
    return next(
        (each for each in names if not os.path.lexists(each)), f"{plain}-{stem}{dot}{ending}"
    )


def command_line() -> str:
    """The command that runs, quoted for a shell."""
    return shlex.join(["rlconnect", *_given.get()])
