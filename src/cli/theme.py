"""How pages look: a few named styles, one place that makes consoles.

Only the sixteen colours of the terminal's own palette are used, so that pages are as legible on a
light ground as on a dark one; every colour has a word or a mark beside it that says the same.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text
from rich.theme import Theme

WIDTH_IN_A_PIPE: Final = 100
_OURS: Final = __name__.partition(".")[0]
THEME: Final = Theme(
    {
        "title": "bold",
        "label": "dim",
        "name": "cyan",
        "number": "green",
        "good": "green",
        "warn": "yellow",
        "bad": "bold red",
        "command": "bold magenta",
    }
)
LEVEL_STYLES: Final = {
    "complete": "good",
    "not runnable": "warn",
    "not loadable": "warn",
    "needs code": "warn",
    "weights only": "warn",
    "state only": "label",
    "no weights": "bad",
    "damaged": "bad",
    "unreadable": "bad",
    "unsafe": "bad",
}
FINDINGS: Final = frozenset(level for level, style in LEVEL_STYLES.items() if style == "bad")
LEVEL_MARKS: Final = {"good": "●", "warn": "◐", "bad": "○", "label": "·"}


def console() -> Console:
    """A console on standard output; as wide as the terminal, 100 columns in a pipe."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_IN_A_PIPE
    return Console(theme=THEME, width=width, highlight=False, markup=False, emoji=False)


def errors_console() -> Console:
    """A console on standard error that never wraps a path."""
    return Console(
        theme=THEME, stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False
    )


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Show warnings of ours once, as a line without the place in our sources; others as always."""
    from ..core.errors import RlconnectError
    from ..core.text.visible import visible

    with warnings.catch_warnings():
        before = warnings.showwarning
        shown: set[str] = set()

        def show(message: Any, *args: Any, **kwargs: Any) -> None:
            text = message.summary if isinstance(message, RlconnectError) else str(message)
            if type(message).__module__.partition(".")[0] != _OURS:
                before(message, *args, **kwargs)
                return
            if text not in shown:
                line = Text.assemble(("warning:", "warn"), f" {visible(text, 2000)}")
                errors_console().print(line, soft_wrap=True)
            shown.add(text)

        warnings.showwarning = show
        yield


def prepare_streams() -> None:
    """Replace characters that the output cannot encode, and discard output to a closed stream."""
    if sys.stdout is None:  # as in `rlconnect doctor >&-`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def progress_line(what: str, *, shown: bool = True) -> Iterator[Callable[[int, int | None], None]]:
    """Return a function to call with how much is done and how much there is.

    Args:
        what: The work, in one word.
        shown: False keeps silent; so does an output that is no terminal.
    """
    out = errors_console()
    if not shown or not out.is_terminal:
        yield lambda done, total: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
