"""`rlconnect codemod`: rewrite a source tree from Ray's imports to rlconnect's."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import FINDING, DryRun, Json
from .printing import print_json


def codemod(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A Python file, or a folder with all below it.")
    ],
    write: Annotated[
        bool, typer.Option("--write", help="Change the files; without it, only show the diff.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Rewrite a source tree from ray.rllib to rlconnect; a dry run without --write.

    Imports go to rlconnect.v2, rlconnect.legacy and rlconnect.v2.tuning; what RLlib renamed between
    its releases, from Ray 1 on, is renamed. Exit code 1 tells that something is left for you: lines
    marked "# rlconnect:" in the source, or files that could not be read.
    """
    from ..compat.codemod import codemod as rewrite

    write = write and not dry_run
    report = rewrite(path, write=write)
    if as_json:
        print_json(report.to_dict())
    else:
        from ..core.text.visible import visible

        if not write:
            for line in report.diff.splitlines():
                typer.echo(visible(line, most=len(line)))
        for line in str(report).splitlines():
            typer.echo(visible(line, most=len(line)))
        if report.changed and not write:
            typer.echo("nothing is written yet: run it again with --write.")
    if not report.is_complete:
        raise typer.Exit(FINDING)
