"""How commands print: pages, lines that can be copied, documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType


def show(*parts: RenderableType) -> None:
    """Print parts of a page, as wide as the terminal."""
    from .theme import console

    console().print(*parts)


def show_lines(*lines: RenderableType) -> None:
    """Print lines that no terminal breaks: they can be copied."""
    from .theme import console

    page = console()
    for line in lines:
        page.print(line, soft_wrap=True)


def print_json(data: Any) -> None:
    """Print one JSON document."""
    from ..core.text.visible import visible_json

    typer.echo(visible_json(data))
