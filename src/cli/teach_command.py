"""`rlconnect teach`: a policy teaches another network what it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import ConfigError, PieceError
from ..core.text.shell import command
from .environments import Environment, adapting_first
from .options import PATH, DryRun, Json, Loading, One, Seed
from .printing import print_json, show_lines
from .training_recipe import Recipe

if TYPE_CHECKING:
    from ..bridge.teach.taught import Taught


def teach(
    path: Annotated[str, PATH],
    environment: Environment,
    student: Annotated[
        str | None,
        typer.Option(
            "--student",
            metavar="DIR",
            help="What was grafted, migrated or taught before; a new network if left out.",
        ),
    ] = None,
    told: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="The new network: model_config.use_lstm=true."
        ),
    ] = None,
    until: Annotated[
        float,
        typer.Option(
            "--until", min=0.0, max=1.0, help="Enough once this share of steps is done alike."
        ),
    ] = 0.98,
    steps: Annotated[
        int, typer.Option("--steps", min=1, help="Steps that the student plays at most.")
    ] = 50_000,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The student, written after each round."),
    ] = None,
    *,
    dry_run: DryRun = False,
    seed: Seed = 0,
    policy: One = None,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Let a policy teach a network of another kind, in the states that this gets into.

    The student plays, the teacher says what it would do at each step. What is written loads,
    serves and trains on.
    """
    from ..bridge.actor.actor import Actor
    from ..bridge.teach.teach import teach as taught_by
    from .theme import console, errors_console

    if environment.env is None:
        raise PieceError("which environment?", hint="give --env ID, or --env FILE.py:NAME.")
    if student is not None and told:
        raise ConfigError("--set is of a new network", hint="leave out --student or --set.")
    learner: Any = student
    if learner is None:
        recipe = Recipe({"algorithm": "PPO"})
        recipe.tell(told or [])
        learner = recipe.config(Path())
    out = None if dry_run else out
    teacher = Actor.from_checkpoint(path, policy_ids=policy, **loading.words())
    screen = errors_console() if as_json else console()
    with adapting_first(path, environment.words()):
        found = taught_by(
            learner,
            teacher,
            lambda: environment.make(path),
            until=until,
            steps=steps,
            seed=seed,
            out=out,
            progress=lambda lesson: screen.print(
                f"{lesson.steps:,} steps  agreement {lesson.agreement:.1%}", soft_wrap=True
            ),
        )
    if as_json:
        print_json({**found.to_dict(), "written": None if out is None else str(out)})
    else:
        show_lines(*_lines(found, environment, path, out))
    if not found.is_reached:
        raise typer.Exit(1)


def _lines(found: Taught, environment: Environment, teacher: str, out: Path | None) -> list[str]:
    lines = str(found).splitlines()
    if out is None:
        return [*lines, "written        nothing; give --out DIR and no --dry-run"]
    env = environment.words()
    train = command("train", "--algo", "PPO", *env, "--from", out, "--teacher", teacher)
    return [
        *lines,
        f"written        {out}",
        f"train on       {train}",
        f"act            {command('rollout', out, *env)}",
    ]
