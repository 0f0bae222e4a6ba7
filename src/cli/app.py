"""`rlconnect`: look into checkpoints from the shell.

Exit codes: 0 done, 1 a finding (something is missing or damaged), 2 a mistake in use or a path
that holds no checkpoint. Known errors are two lines, never a traceback.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import RlconnectError
from ..core.vault import open_checkpoint
from ..core.vault.description import describe_checkpoint
from ..core.version import __version__
from .theme import console, errors_console

_TOUR = """\
Load, adapt and migrate RLlib policies of any Ray, without Ray and without unpickling.

A first tour:

\b
  rlconnect scan .                   which checkpoints lie below this folder?
  rlconnect inspect PATH             what is in this one, who wrote it, what does it need?
  rlconnect inspect PATH --weights   every array with its shape and range

Nothing in a checkpoint is ever run: strangers' files are safe to look at.
"""

app = typer.Typer(
    name="rlconnect",
    help=_TOUR,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a page.")]


@app.callback()
def _common(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"rlconnect {__version__}")
        raise typer.Exit


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(help="A checkpoint folder, or a checkpoint-<n> file.")],
    as_json: Json = False,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="ID", help="Show this policy or module only.")
    ] = None,
    weights: Annotated[
        bool, typer.Option("--weights", help="List every array with its shape and range.")
    ] = False,
) -> None:
    """Show what a checkpoint is, who wrote it, what it needs and what to do next."""
    checkpoint = open_checkpoint(path)
    description = describe_checkpoint(checkpoint, policy=policy)
    if as_json:
        print_json(description)
    else:
        from .inspect_page import inspect_page

        console().print(inspect_page(checkpoint, description, with_weights=weights))
    if description["verdict"]["level"] in ("damaged", "no weights"):
        raise typer.Exit(1)


@app.command()
def scan(
    folder: Annotated[Path, typer.Argument(help="Where to look; all folders below count.")],
    as_json: Json = False,
) -> None:
    """List every checkpoint below a folder, with a verdict on each."""
    from .scan_table import scan_rows, scan_table

    rows = scan_rows(folder, show_progress=not as_json)
    if as_json:
        print_json([row.as_data() for row in rows])
    else:
        console().print(scan_table(folder, rows))
    if any(row.level in ("damaged", "unreadable") for row in rows):
        raise typer.Exit(1)


def print_json(data: Any) -> None:
    """Print data as JSON, readable and in UTF-8."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def main(argv: list[str] | None = None) -> int:
    """Run the command line and give its exit code.

    Example:
        >>> main(["--version"])
        rlconnect ...
        0
    """
    try:
        app(args=argv)
    except RlconnectError as error:
        errors_console().print(f"[bad]error:[/] {_plain(error.summary)}", highlight=False)
        if error.hint:
            errors_console().print(f"[dim]hint:[/] {_plain(error.hint)}", highlight=False)
        return 2
    except SystemExit as stop:  # how typer ends, with its own word on mistakes in use
        return stop.code if isinstance(stop.code, int) else 0
    return 0


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(" ".join(text.split()))


def entry() -> None:
    """The `rlconnect` program."""
    sys.exit(main())
