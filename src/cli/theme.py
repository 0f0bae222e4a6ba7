"""How pages look: a few named styles, one place that makes consoles."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.theme import Theme

THEME = Theme(
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
LEVEL_STYLES = {
    "complete": "good",
    "needs code": "warn",
    "weights only": "warn",
    "state only": "label",
    "no weights": "bad",
    "damaged": "bad",
    "unreadable": "bad",
}
LEVEL_MARKS = {"good": "●", "warn": "◐", "bad": "○", "label": "·"}


def console() -> Console:
    """A console on standard output; as wide as the terminal, 100 columns in a pipe."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100
    return Console(theme=THEME, width=width, highlight=False)


def errors_console() -> Console:
    """A console on standard error that never wraps a path."""
    return Console(theme=THEME, stderr=True, soft_wrap=True)
