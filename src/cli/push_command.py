"""`rlconnect push`: a policy to the Hugging Face Hub."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .environments import Environment
from .options import PATH, Chosen, DryRun, Json
from .printing import print_json
from .theme import progress_line


def push(
    path: Annotated[str, PATH],
    repo: Annotated[str, typer.Argument(metavar="hf://USER/NAME", help="Where to.")],
    environment: Environment,
    episodes: Annotated[
        int, typer.Option("--episodes", min=1, help="Played in --env, for the card.")
    ] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Of the first episode.")] = 0,
    private: Annotated[
        bool, typer.Option("--private", help="A repository that is made is private.")
    ] = False,
    message: Annotated[str, typer.Option("--message", metavar="TEXT", help="Of the commit.")] = "",
    *,
    chosen: Chosen,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Bring a copy without a pickle in it, and a model card, to the Hugging Face Hub.

    With --env the policy plays there first, and the card tells what it earned. A licence is left to
    you: write one into the card. `rlconnect inspect hf://USER/NAME` opens what was pushed.
    """
    from ..bridge.front.hub import push as pushed

    measured: dict[str, Any] | None = None
    if environment.env is not None:
        from ..bridge.rollout import rollout

        with progress_line("playing", shown=not as_json) as advance:
            env = environment.make(path)
            played = rollout(path, env, episodes=episodes, seed=seed, progress=advance)
        measured = {"env": environment.env, "episodes": episodes, **played.to_dict()}
    done = pushed(
        path,
        repo,
        policies=chosen.ids,
        measured=measured,
        private=private,
        message=message,
        dry_run=dry_run,
    )
    if as_json:
        print_json({"url": done.url, "page": done.page, "card": done.card, **done.copy.as_data()})
        return
    if dry_run:
        typer.echo(done.card)
        return
    typer.echo(f"pushed {', '.join(done.copy.names)} to {done.page}")
    for problem in done.copy.not_kept[:20]:
        typer.echo(f"  not kept: {problem.what}")
    typer.echo(f"next\n  rlconnect inspect {done.url}")
