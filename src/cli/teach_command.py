"""`rlconnect teach`: a policy teaches another network what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import ConfigError
from .environments import Environment, adapting_first, closing_lines
from .options import PATH, DryRun, Json, Loading, One, Seed
from .printing import print_json, show_lines
from .training_recipe import Recipe


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
    settings: Annotated[
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
    from ..bridge.teach.teach import teach as teach_student
    from .theme import console, errors_console

    environment.named()
    if student is not None and settings:
        raise ConfigError("--set is of a new network", hint="leave out --student or --set.")
    learner: Any = student
    if learner is None:
        recipe = Recipe({"algorithm": "PPO"})
        recipe.tell(settings or [])
        learner = recipe.config(Path())
    out = None if dry_run else out
    teacher = Actor.from_checkpoint(path, policy_ids=policy, **loading.words())
    screen = errors_console() if as_json else console()
    with adapting_first(path, environment.words()):
        taught = teach_student(
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
        print_json({**taught.to_dict(), "written": None if out is None else str(out)})
    else:
        closing = closing_lines(out, environment, "--teacher", path)
        show_lines(*str(taught).splitlines(), *closing)
    if not taught.is_reached:
        raise typer.Exit(1)
