"""`rlconnect sample`: a checkpoint to try things with."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated, Final

import typer

from ..core.errors import CheckpointWriteError
from .options import DryRun, Json
from .printing import print_json

SAMPLES: Final = Path(__file__).parents[1] / "samples"
NAME: Final = "ppo-pendulum-ray-2.7"


def sample(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put it; made if need be.")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Write the sample checkpoint of the README: a PPO policy for Pendulum, from Ray 2.7."""
    target = out / NAME
    if target.exists():
        raise CheckpointWriteError(f"{target} is there already", hint="give another DIR.")
    if not dry_run:
        from ..core.vault.own.write_errors import refusals

        with refusals(target):
            shutil.copytree(SAMPLES / NAME, target)
    if as_json:
        print_json({"written": None if dry_run else str(target)})
    elif dry_run:
        typer.echo(f"would write {target}")
    else:
        typer.echo(f"wrote {target}\n  rlconnect inspect {shlex.quote(str(target))}")
