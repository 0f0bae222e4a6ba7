"""`rlconnect migration`: how a migrated folder stands, and the way back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import ConfigError
from .command_line import command_line
from .options import FINDING, DryRun, Json, Loading, grouped
from .printing import print_json, show, show_lines
from .tour import examples_of

_FOLDER = typer.Argument(metavar="DIR", help="A folder that `rlconnect migrate --out` wrote.")

app = typer.Typer(
    name="migration",
    help="How a migrated folder stands, and the way back.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    epilog=examples_of("migration"),
)


def current(path: Annotated[str, _FOLDER], *, loading: Loading, as_json: Json = False) -> None:
    """Show which pieces are native now, and which are still the old ones, wrapped."""
    plan = _plan(path, loading)
    if as_json:
        print_json(plan.to_dict())
        return
    from .migrate_page import migrate_page

    show(migrate_page(path, plan))


def history(path: Annotated[str, _FOLDER], *, loading: Loading, as_json: Json = False) -> None:
    """List what was done to a migration: date, command, versions, what was native then."""
    plan = _plan(path, loading)
    if as_json:
        print_json({"origin": plan.origin, "history": plan.history})
        return
    from .migrate_page import history_lines

    show_lines(*history_lines(plan))


def check(
    path: Annotated[str, _FOLDER],
    samples: Annotated[int, typer.Option("--samples", min=1, help="Random episodes.")] = 64,
    *,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Prove again that a migrated folder does what its source did; for continuous integration.

    Exit code 1 tells that steps are left, that a piece needs code of yours, or that the proof no
    longer holds.
    """
    from ..bridge.migrate.standing import check_migration

    standing = check_migration(path, samples=samples, **loading.words())
    if as_json:
        print_json(standing.to_dict())
    else:
        from .migrate_page import standing_lines
        from .verify_page import verify_page

        show(verify_page(standing.verdict), "")
        show_lines(*standing_lines(standing))
    if not standing.is_good:
        raise typer.Exit(FINDING)


def undo(
    path: Annotated[str, _FOLDER],
    step: Annotated[
        str | None,
        typer.Option("--step", metavar="STEP", help="Take this step back, not the last one."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Take every step back.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write here instead of in place."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--source", metavar="DIR", help="Only write the policy as it was before migrating."
        ),
    ] = None,
    *,
    dry_run: DryRun = False,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Take the last step of a migration back: the old piece stands there again, wrapped.

    `rlconnect migrate DIR --out DIR` applies it again. `--source` gives the old policy itself.
    """
    if sum((step is not None, every, source is not None)) > 1:
        raise ConfigError("rlconnect migration undo", expected="one of --step, --all, --source")
    plan = _plan(path, loading)
    if not plan.steps:
        raise ConfigError(
            f"{path} has no step to take back",
            found="a policy that was of the new stack before",
            hint=f"it is what it was: rlconnect migration check {path}",
        )
    if source is not None:
        if not dry_run:
            plan.policy.export_checkpoint(source)
        _show_undone({"written": str(source), "undone": []}, dry_run, as_json)
        return
    applied = [piece.name for piece in plan.steps if piece.is_applied]
    if not applied:
        raise ConfigError(
            f"{path} has no step to take back",
            found="every piece is an old one, wrapped",
            hint=f"rlconnect migration undo {path} --source DIR gives the old policy itself.",
        )
    undone = applied if every else [step or applied[-1]]
    for name in undone:
        plan.revert(name)
    from ..bridge.migrate.checkpoint import save_migrated

    target = str(out or path)
    if not dry_run:
        save_migrated(plan, target, command=command_line())
    _show_undone({"written": target, "undone": undone}, dry_run, as_json)


def _show_undone(done: dict[str, Any], dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({**done, "written": None} if dry_run else done)
        return
    from .migrate_page import undone_lines

    show_lines(*undone_lines(done["undone"], done["written"], dry_run))


def _plan(path: str, loading: Loading) -> Any:
    from ..bridge.migrate.plan import MigrationPlan

    return MigrationPlan.load(path, **loading.words())


for _each in (current, history, check, undo):
    app.command(epilog=examples_of(f"migration {_each.__name__}"))(grouped(_each))
