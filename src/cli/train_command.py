"""`rlconnect train`: an algorithm learns in an environment, and goes on wherever it was cut off."""

from __future__ import annotations

import json
import secrets
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import ConfigError
from ..core.text.visible import visible
from .environments import Environment, adapting_first
from .imports import user_module
from .options import Json, Loading, One, UsageError
from .printing import print_json, show, show_lines
from .training_recipe import RECIPE, START, TEACHER, Recipe, free_folder

if TYPE_CHECKING:
    from ..v2.runs.training_run import TrainingRun

_MOST_SEEDS = 2**31
_INTERRUPTED = 130


def train(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE.toml]", help="Settings, as --dry-run prints them."),
    ] = None,
    algo: Annotated[
        str | None, typer.Option("--algo", metavar="NAME", help="What learns: PPO, ...")
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="PATH", help="Begin with the policy of a checkpoint of any kind."
        ),
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            "--teacher",
            metavar="PATH",
            help="A policy that PPO stays near at first; --set teacher_coeff=... says how long.",
        ),
    ] = None,
    stop: Annotated[
        str | None,
        typer.Option(
            "--stop",
            metavar="WORD=NUMBER,...",
            help="At return=475,steps=1e6,iterations=100,time=10m, or a metric's path; the first "
            "that is reached. Without it Ctrl-C ends the run, saved.",
        ),
    ] = None,
    told: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any setting: lr=3e-4; may be repeated."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of all draws; one is drawn and told.")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option("--keep", min=1, help="Checkpoints to keep, the best by return; 3."),
    ] = None,
    save_every: Annotated[
        int | None, typer.Option("--save-every", min=1, metavar="N", help="Iterations; 10.")
    ] = None,
    evaluate_every: Annotated[
        int | None,
        typer.Option("--evaluate-every", min=1, metavar="N", help="Iterations; 10 episodes each."),
    ] = None,
    video: Annotated[
        str | None,
        typer.Option(
            "--videos", metavar="gif|mp4", help="Film an episode of each evaluation (extra video)."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="A new folder; runs/ALGO-ENV if left out."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="DIR", help="Go on with a run, as if never cut off."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all settings, and train nothing.")
    ] = False,
    *,
    environment: Environment,
    policy: One = None,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Train an algorithm: results as they come, curves and checkpoints in a folder that is told.

    What was cut off goes on with --resume, to the same curve.
    """
    for each in loading.imports or ():
        user_module(each, "--import")
    recipe = _recipe(file, algo, begin, resume)
    recipe.take_env(environment)
    recipe.put("debugging", seed=seed)
    recipe.put("evaluation", evaluation_interval=evaluate_every)
    recipe.tell([*(told or []), *([] if teacher is None else [f"teacher={json.dumps(teacher)}"])])
    recipe.put("run", keep=keep, save_every=save_every, stop=_stop(stop), video=video)
    if loading.mapping:
        recipe.put(
            "run", agents={str(each): name for each, name in (loading.agents() or {}).items()}
        )
    if begin is not None and not recipe.env:
        recipe.put("environment", env=_own_env(begin))
    if not recipe.env:
        raise ConfigError(
            "which environment?", hint="give an id of gymnasium's, or --env FILE.py:NAME."
        )
    folder = resume or out or free_folder(recipe)
    if resume is None and recipe.data.get("debugging", {}).get("seed") is None:
        recipe.put("debugging", seed=secrets.randbelow(_MOST_SEEDS))
    if dry_run:
        _show_settings(recipe, folder)
        return
    if resume is None:
        _begin(recipe, folder, begin, policy, loading)
    run = recipe.training(folder)
    again = [f"--import={each}" for each in loading.imports or ()]
    from .train_page import as_data

    with adapting_first(str(recipe.run.get(TEACHER)), recipe.place.words()):
        why, is_cut = _go(run, recipe, again, as_json=as_json)
    _tell(as_data(run, recipe, why, again), as_json=as_json)
    if is_cut:
        raise typer.Exit(_INTERRUPTED)


def _recipe(
    file: Path | None, algorithm: str | None, begin: str | None, resume: Path | None
) -> Recipe:
    if resume is not None:
        if file is not None or begin is not None or algorithm is not None:
            raise ConfigError(
                "--resume goes on with what the folder holds",
                hint="leave out FILE.toml, --algo and --from; --set and --stop may change it.",
            )
        return Recipe.of_folder(resume)
    if file is None and algorithm is None and begin is None:
        raise ConfigError(
            "nothing says what is to be trained",
            expected="a FILE.toml, --algo NAME, or --from PATH",
            hint="rlconnect train --algo PPO --env CartPole-v1",
        )
    data: dict[str, Any] = {}
    if file is not None:
        from ..v2.config.toml_settings import data_in
        from .failures import repeated_option

        if repeated_option(str(file)):
            raise UsageError(f"Got unexpected extra argument ({file})")
        data = data_in(file)
    if algorithm is not None:
        data["algorithm"] = algorithm
    data.setdefault("algorithm", "PPO")
    return Recipe(data)


def _stop(words: str | None) -> dict[str, float] | None:
    from ..v2.runs.stop_criteria import enough_of, short

    return None if words is None else {short(at): each for at, each in enough_of(words).items()}


def _own_env(path: str) -> str | None:
    from .environments import own_environment

    return own_environment(path)


def _begin(
    recipe: Recipe, folder: Path, begin: str | None, policy: str | None, loading: Loading
) -> None:
    """Make the folder, with the policies in it that the run begins from and learns from."""
    if folder.is_dir() and {each.name for each in folder.iterdir()} - {START, TEACHER}:
        is_run = (folder / RECIPE).is_file()
        raise ConfigError(
            f"--out {str(folder)!r} holds {'a run' if is_run else 'files'} already",
            hint=f"go on with it: rlconnect train --resume {folder}"
            if is_run
            else "name a new folder.",
        )
    teacher = recipe.teacher
    if teacher is not None:
        from ..bridge.actor.actor import Actor

        Actor.from_checkpoint(teacher, **loading.words()).save(folder / TEACHER)
        recipe.keep_teacher()
    if begin is None:
        return
    from ..bridge.migrate.checkpoint import save_start

    save_start(begin, folder / START, policy=policy, **loading.words())
    recipe.put("run", **{"from": begin})


def _show_settings(recipe: Recipe, folder: Path) -> None:
    from ..v2.config.toml_settings import toml_of, whole_toml

    typer.echo(whole_toml(recipe.config(folder)), nl=False)
    if recipe.run:
        typer.echo(toml_of({"run": recipe.run}), nl=False)


def _go(run: TrainingRun, recipe: Recipe, again: list[str], *, as_json: bool) -> tuple[str, bool]:
    """Train and show it; gives what was reached, and whether somebody has cut it off."""
    from ..v2.runs.stop_criteria import short
    from .theme import console, errors_console
    from .train_page import going_on_words
    from .training_table import TrainingTable

    out = errors_console() if as_json else console()
    env = recipe.env
    words = ", ".join(f"{visible(short(at))} {each:,.12g}" for at, each in run.stop.items())
    out.print(f"{recipe.algorithm} in {env}: {run.folder}", soft_wrap=True)
    out.print(f"until {words or 'Ctrl-C'}, seed {recipe.data['debugging']['seed']}", soft_wrap=True)
    try:
        with _ending(run) as was_cut, TrainingTable(out, run.stop) as table:
            why = run.go(table.on_result)
    except BaseException:
        if run.newest is not None:
            going_on = shlex.join(["rlconnect", "train", *going_on_words(run.folder, env, again)])
            said = f"saved up to iteration {run.newest}; it goes on by"
            errors_console().print(f"{said}\n  {going_on}", style="label")
        raise
    return why, bool(was_cut)


@contextmanager
def _ending(run: TrainingRun) -> Iterator[list[int]]:
    """Let Ctrl-C, and a polite kill, end the run after its iteration; a second one ends it now."""
    signals: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return

    def end(number: int, frame: Any) -> None:
        if signals:
            raise KeyboardInterrupt
        signals.append(number)
        run.end_soon()
        print("ending after this iteration; again to end now", file=sys.stderr)

    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, end) for kind in kinds]
    try:
        yield signals
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


def _tell(data: dict[str, Any], *, as_json: bool) -> None:
    from .train_page import train_page

    if as_json:
        print_json(data)
        return
    page, lines = train_page(data)
    show(page)
    show_lines(*lines)
