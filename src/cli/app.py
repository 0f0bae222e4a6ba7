"""`rlconnect`: look into checkpoints from the shell.

Exit codes: 0 done, 1 a finding (something is missing or damaged), 2 a mistake in use or a path
that holds no checkpoint. Errors are two lines, never a
traceback but that of a user's own code or with RLCONNECT_TRACEBACK=1. Modules that a command
needs are loaded by that command, so that `--help` and `--version` are quick.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Final

import typer

from ..core.damage import is_of_user
from ..core.errors import CheckpointError, RlconnectError
from ..core.torch_needed import torch_needed
from ..core.version import __version__
from . import (
    codemod_command,
    convert_command,
    export_command,
    migrate_command,
    proof_commands,
    sample_command,
)
from .command_line import take_command_line
from .options import DONE, FINDING, MISTAKE, Audit, Json, print_json

_INTERRUPTED: Final = 130
TRACEBACK: Final = "RLCONNECT_TRACEBACK"
_LONGEST_LINE: Final = 1200
# What typer raises for a wrong command line; where that class lives depends on its version.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="rlconnect",
    add_help_option=False,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def _common(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")
    ] = False,
    show_help: Annotated[
        bool, typer.Option("--help", "-h", is_eager=True, help="Show the tour and exit.")
    ] = False,
) -> None:
    if show_version:
        typer.echo(f"rlconnect {__version__}")
        raise typer.Exit
    if show_help or context.invoked_subcommand is None:
        from .help_page import help_page
        from .theme import console

        console().print(help_page(__version__))
        raise typer.Exit


@app.command()
def inspect(
    path: Annotated[
        str, typer.Argument(help="A checkpoint folder, a checkpoint-<n> file, or a URL (s3://...).")
    ],
    as_json: Json = False,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="ID", help="Show this policy or module only.")
    ] = None,
    weights: Annotated[
        bool, typer.Option("--weights", help="List every array with its shape and range.")
    ] = False,
    audit: Audit = False,
) -> None:
    """Show what a checkpoint is, who wrote it, what it needs and what to do next."""
    if audit:
        from .audit_page import show_audits

        raise typer.Exit(show_audits([path], as_json=as_json))
    from ..core.vault import open_checkpoint
    from ..core.vault.audit.files import with_audit
    from ..core.vault.description import describe_checkpoint

    checkpoint = with_audit(open_checkpoint(path))
    description = describe_checkpoint(checkpoint, policy=policy)
    if as_json:
        print_json(description)
    else:
        from .inspect_page import inspect_page, next_lines
        from .theme import console

        out = console()
        width = out.width
        out.print(inspect_page(checkpoint, description, with_weights=weights, width=width))
        steps = description["next"][1 if weights else 0 :]  # the first one lists the weights
        for line in next_lines(steps):
            out.print(line, soft_wrap=True)
    if description["verdict"]["level"] in ("damaged", "no weights", "unsafe"):
        raise typer.Exit(FINDING)


@app.command()
def scan(
    folder: Annotated[Path, typer.Argument(help="Where to look; all folders below count.")],
    as_json: Json = False,
    audit: Audit = False,
) -> None:
    """List every checkpoint below a folder, with a verdict on each."""
    if audit:
        from .audit_page import show_audits
        from .scan_table import checkpoints_in

        raise typer.Exit(show_audits(checkpoints_in(folder), as_json=as_json, one=False))
    from .scan_table import lines_below, scan_rows, scan_table
    from .theme import console

    rows = scan_rows(folder, show_progress=not as_json)
    if as_json:
        print_json([row.as_data() for row in rows])
    else:
        out = console()
        out.print(scan_table(folder, rows, width=out.width))
        for line in lines_below(folder, rows):
            out.print(line, soft_wrap=True)
    if any(row.level in ("damaged", "unreadable", "no weights", "unsafe") for row in rows):
        raise typer.Exit(FINDING)


app.command()(proof_commands.adapt)
app.command()(proof_commands.verify)
app.command()(proof_commands.rollout)
app.command()(codemod_command.codemod)
app.command()(export_command.export)
app.command()(migrate_command.migrate)
app.command()(convert_command.convert)
app.command()(sample_command.sample)


def main(argv: list[str] | None = None) -> int:
    """Run the command line and give its exit code.

    Example:
        >>> main(["--version"])
        rlconnect ...
        0
    """
    from .theme import one_line_warnings, tolerate_narrow_encodings

    tolerate_narrow_encodings()
    take_command_line(argv)
    try:
        with one_line_warnings(), torch_needed("this command"):
            code = app(args=argv, prog_name="rlconnect", standalone_mode=False)
        sys.stdout.flush()
    except RlconnectError as error:
        ask = "rlconnect scan FOLDER lists what can be read."
        fallback = ask if isinstance(error, CheckpointError) else "rlconnect --help shows the way."
        return _complain(error.summary, error.hint or fallback)
    except _UsageError as error:
        return _complain(*_usage(error))
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except SystemExit:  # typer's own answer to a broken pipe
        return DONE
    except BrokenPipeError:  # the reader has seen enough: `rlconnect ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        from ..core.vault.own.write_errors import hint_for

        reason = error.strerror or type(error).__name__
        hint = hint_for(error.errno) or "look at where it goes to, and try again."
        return _complain(f"the output cannot be written: {reason.lower()}", hint)
    except Exception as error:
        if TRACEBACK in os.environ or is_of_user(error, _below_typer(error.__traceback__)):
            raise
        told = f"rlconnect itself failed, {type(error).__name__}: {error}"
        return _complain(told, f"please report it; {TRACEBACK}=1 shows where it came up.")
    return code if isinstance(code, int) else DONE


def _below_typer(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins with the command itself."""
    found = trace
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__"))
        if name.partition(".")[0] in ("click", "typer"):
            found = trace.tb_next
        trace = trace.tb_next
    return found


def _usage(error: Any) -> tuple[str, str]:
    """A wrong command line in typer's words, and where to read how it is written."""
    command = error.ctx.command_path if error.ctx else "rlconnect"
    return str(error.format_message()), f"{command} --help shows how it is written."


def _complain(summary: str, hint: str) -> int:
    """Print a known error in its two lines."""
    from rich.text import Text

    from ..core.visible import visible
    from .theme import errors_console

    out = errors_console()
    for word, style, text in (("error", "bad", summary), ("hint", "label", hint)):
        line = visible(_shortened(" ".join(text.split())), most=_LONGEST_LINE * 10)
        out.print(Text.assemble((f"{word}:", style), f" {line}"))
    return MISTAKE


def _shortened(text: str) -> str:
    """A line whose middle is left out where nobody could read all of it."""
    half = _LONGEST_LINE // 2
    return text if len(text) <= _LONGEST_LINE else f"{text[:half]}…{text[-half:]}"


def entry() -> None:
    """The `rlconnect` program."""
    sys.exit(main())
