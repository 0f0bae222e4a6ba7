"""`rlconnect`: look into checkpoints from the shell.

Exit codes: 0 done, 1 a finding (something is missing, damaged or different), 2 it could not be
done, 3 code of the user's own failed. `failures` says how each is told. Modules that a command
needs are loaded by that command, so that `--help` and `--version` are quick.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.main import get_command

from ..core.errors import RlconnectError, UnknownNameError
from ..core.importing.torch_needed import torch_needed
from ..core.version import __version__
from . import (
    act_command,
    adapt_command,
    codemod_command,
    convert_command,
    doctor_command,
    evaluate_command,
    export_command,
    graft_command,
    migrate_command,
    migration_commands,
    push_command,
    rollout_command,
    runs_command,
    sample_command,
    serve_command,
    teach_command,
    train_command,
    verify_command,
)
from .command_line import take_command_line
from .options import (
    DONE,
    FINDING,
    MISTAKE,
    PATH,
    Audit,
    Chosen,
    Json,
    UsageError,
    grouped,
)  # fmt: skip
from .printing import print_json, show, show_lines
from .tour import examples_of

_INTERRUPTED: Final = 130

app = typer.Typer(
    name="rlconnect",
    add_help_option=False,
    invoke_without_command=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def _common(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, help="Print the version and exit.")
    ] = False,
    show_help: Annotated[
        bool, typer.Option("--help", "-h", is_eager=True, help="Show the tour and exit.")
    ] = False,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="Let files that you trust take more than usual."),
    ] = None,
) -> None:
    if show_version:
        typer.echo(f"rlconnect {__version__}")
        raise typer.Exit
    if show_help or context.invoked_subcommand is None:
        _tour()
        raise typer.Exit
    if limit:
        from ..core.data.budget import limits

        context.with_resource(limits(**dict(map(_bound, limit))))


def _bound(text: str) -> tuple[str, int]:
    """A bound and its number out of what `--limit` was given."""
    name, _, number = text.partition("=")
    try:
        return name, int(number)
    except ValueError:
        message = f"--limit {text}: write it as NAME=NUMBER, such as base_memory=4294967296"
        raise UsageError(message) from None


def _tour() -> None:
    from .help_page import help_page

    show(help_page(__version__))


@app.command("help")
def help_of(
    context: typer.Context,
    command: Annotated[
        str | None, typer.Argument(metavar="COMMAND", help="Which; the tour if left out.")
    ] = None,
) -> None:
    """Show the tour, or how a command is written."""
    root: Any = context.find_root()
    if command is None:
        _tour()
    elif command in root.command.commands:
        subcommand = root.command.commands[command]
        with type(context)(subcommand, info_name=command, parent=root) as its_context:
            typer.echo(its_context.get_help())
    else:
        names = ", ".join(root.command.commands)
        raise UnknownNameError(
            f"no command {command!r}", expected=names, hint="see all: rlconnect --help"
        )


@app.command()
@grouped
def inspect(
    path: Annotated[str, PATH],
    as_json: Json = False,
    *,
    chosen: Chosen,
    weights: Annotated[
        bool, typer.Option("--weights", help="List every array with its shape and range.")
    ] = False,
    write_model: Annotated[
        Path | None,
        typer.Option(
            "--write-model",
            metavar="FILE",
            help="Write the network that its weights suggest, to look over and to pass as --model.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="FILE", help="Recorded outputs (JSON, .npz) that decide what it is."
        ),
    ] = None,
    audit: Audit = False,
) -> None:
    """Show what a checkpoint is, who wrote it, what it needs and what to do next."""
    if audit:
        from .audit_page import show_audits

        raise typer.Exit(show_audits([path], as_json=as_json))
    from ..bridge.exported.files import program_in

    program = program_in(Path(path))
    if program is not None:
        export_command.show_program(program, as_json=as_json)
        return
    from ..bridge.front.fit import try_loading
    from ..core.vault import open_checkpoint
    from ..core.vault.audit.files import with_audit
    from ..core.vault.description import describe_checkpoint
    from ..core.vault.opening import of_newest
    from .theme import FINDINGS, console

    if write_model is not None or data is not None:
        from .network_file import show_network

        only = None if chosen.ids is None else chosen.ids[0]
        raise typer.Exit(show_network(path, write_model, policy=only, data=data, as_json=as_json))

    checkpoint = with_audit(of_newest(path, open_checkpoint))
    tried = try_loading(checkpoint, chosen.ids)
    description = describe_checkpoint(checkpoint, policies=chosen.ids, tried=tried)
    if as_json:
        print_json(description)
    else:
        from .inspect_page import inspect_page, next_lines

        out = console()
        width = out.width
        out.print(inspect_page(checkpoint, description, with_weights=weights, width=width))
        steps = description["next"]
        if weights:
            steps = [step for step in steps if not step["command"].endswith(" --weights")]
        show_lines(*next_lines(steps))
    if description["verdict"]["level"] in FINDINGS:
        raise typer.Exit(FINDING)


@app.command()
def scan(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to look; all folders below count.")
    ],
    as_json: Json = False,
    audit: Audit = False,
) -> None:
    """List every checkpoint below a folder, with a verdict on each."""
    if audit:
        from .audit_page import show_audits
        from .scan_table import checkpoints_in

        raise typer.Exit(show_audits(checkpoints_in(folder), as_json=as_json, one=False))
    from .scan_table import lines_below, scan_rows, scan_table
    from .theme import FINDINGS, console

    rows = scan_rows(folder, show_progress=not as_json)
    if as_json:
        print_json([row.as_data() for row in rows])
    else:
        out = console()
        out.print(scan_table(folder, rows, width=out.width))
        show_lines(*lines_below(folder, rows))
    if any(row.level in FINDINGS for row in rows):
        raise typer.Exit(FINDING)


app.command()(grouped(adapt_command.adapt))
app.command()(grouped(graft_command.graft))
app.command()(grouped(teach_command.teach))
app.command()(grouped(verify_command.verify))
app.command()(grouped(rollout_command.rollout))
app.command()(grouped(evaluate_command.evaluate))
app.command()(grouped(act_command.act))
app.command()(grouped(train_command.train))
app.command()(runs_command.runs)
app.command()(codemod_command.codemod)
app.command()(grouped(export_command.export))
app.command()(grouped(migrate_command.migrate))
app.command()(grouped(convert_command.convert))
app.command()(grouped(push_command.push))
app.add_typer(migration_commands.app)
app.command()(grouped(serve_command.serve))
app.command("serve-admin")(serve_command.serve_admin)
app.command()(sample_command.sample)
app.command()(doctor_command.doctor)
for _command in app.registered_commands:
    _command.epilog = examples_of(_command.name or str(getattr(_command.callback, "__name__", "")))


@cache
def program() -> Any:
    """All commands as click has them; most of a quick call's time, so they are made once."""
    return get_command(app)


def main(argv: list[str] | None = None) -> int:
    """Run the command line and give its exit code.

    Example:
        >>> main(["--version"])
        rlconnect ...
        0
    """
    from . import failures
    from .theme import one_line_warnings, prepare_streams

    prepare_streams()
    as_json = "--json" in take_command_line(argv)
    paths = list(sys.path)
    try:
        with one_line_warnings(), torch_needed("this command"):
            code = program()(args=argv, prog_name="rlconnect", standalone_mode=False)
        sys.stdout.flush()
    except RlconnectError as error:
        return failures.known(error).tell(as_json=as_json)
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # a group of commands by itself
            typer.echo(failures.usage(error).error)
            return MISTAKE
        return failures.usage(error).tell(as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough: `rlconnect ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (Exception, SystemExit) as error:
        if failures.TRACEBACK in os.environ and isinstance(error, Exception):
            raise
        failure = failures.of_user(error)
        if failure is None and isinstance(error, SystemExit):  # typer's answer to a broken pipe
            return DONE
        if failure is None and isinstance(error, OSError):
            return failures.unwritten(error).tell(as_json=False)
        return (failure or failures.of_ours(error)).tell(as_json=as_json)
    finally:
        sys.path[:] = paths  # where modules of the user's were looked for
    return code if isinstance(code, int) else DONE


def entry() -> None:
    """The `rlconnect` program."""
    sys.exit(main())
