"""`rlconnect sample`: a checkpoint to try things with, for whoever has none at hand."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated, Final

import typer

from ..core.errors import CheckpointWriteError

SAMPLES: Final = Path(__file__).parents[1] / "samples"
NAME: Final = "ppo-pendulum-ray-2.7"


def sample(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put it; made if need be.")],
) -> None:
    """Write the sample checkpoint of the README: a PPO policy for Pendulum, from Ray 2.7."""
    target = out / NAME
    if target.exists():
        raise CheckpointWriteError(f"{target} is there already", hint="give another DIR.")
    try:
        shutil.copytree(SAMPLES / NAME, target)
    except OSError as error:
        raise CheckpointWriteError(
            f"{target} cannot be written", found=str(error.strerror or error)
        ) from error
    typer.echo(f"wrote {target}\n  rlconnect inspect {shlex.quote(str(target))}")
