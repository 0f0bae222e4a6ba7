"""What commands share: options, exit codes, and how a document is printed."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

DONE: Final = 0
FINDING: Final = 1
MISTAKE: Final = 2

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a page.")]
Audit = Annotated[
    bool,
    typer.Option("--audit", help="List what an ordinary unpickler would call; nothing here does."),
]
Env = Annotated[
    str | None,
    typer.Option("--env", metavar="ENV", help="An id of gymnasium's, or module:NAME of your own."),
]
One = Annotated[
    str | None, typer.Option("--policy", metavar="ID", help="This policy of several only.")
]


def print_json(data: Any) -> None:
    """Print one JSON document."""
    from ..core.visible import visible_json

    typer.echo(visible_json(data))
