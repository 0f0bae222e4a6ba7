"""`rlconnect act`: what a policy does on recorded observations, by the million."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    PATH,
    Chosen,
    Data,
    DryRun,
    Explore,
    Json,
    Loading,
    Observations,
    place_for,
)
from .printing import print_json
from .sources import Source


def act(
    path: Annotated[str, PATH],
    data: Data,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")],
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="parquet or json.")
    ] = None,
    processes: Annotated[
        int, typer.Option("--processes", min=1, help="How many act at the same time.")
    ] = 1,
    ray: Annotated[
        bool, typer.Option("--ray", help="Act in actors of Ray, on its cluster.")
    ] = False,
    explore: Explore = False,
    observations: Observations = "auto",
    seed: Annotated[int, typer.Option("--seed", help="Of exploration.")] = 0,
    dry_run: DryRun = False,
    *,
    chosen: Chosen,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Let a policy act on recorded observations and write its actions, a row a step.

    What was broken off goes on where it stopped.
    """
    from ..bridge.over_data.acting import act_on

    with place_for(out, dry_run=dry_run) as place:
        done = act_on(
            Source(path, chosen, loading).natives(),
            data,
            place,
            to=to,  # type: ignore[arg-type]  # looked at there
            processes=processes,
            ray=ray,
            observations=observations,  # type: ignore[arg-type]
            explore=explore,
            seed=seed,
            name=path,
        )
    if as_json:
        print_json({"out": str(out), **done.to_dict()})
        return
    wrote = "would write" if dry_run else "wrote"
    kept = f", {done.kept} of them from an earlier run" if done.kept else ""
    typer.echo(
        f"acted on {done.rows:,} steps of {done.episodes:,} episodes\n"
        f"{wrote} {done.files:,} files to {out}{kept}"
    )
