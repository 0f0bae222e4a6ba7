"""A progress line, shown on terminals only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .theme import errors_console


@contextmanager
def progress_line(what: str, *, shown: bool = True) -> Iterator[Callable[[int, int | None], None]]:
    """Give a function to call with how much is done and how much there is.

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
