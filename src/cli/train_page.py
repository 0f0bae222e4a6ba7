"""The page at the end of `rlconnect train`: how far it has come, what is kept, what to do next."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..core.text.shell import command
from ..core.text.visible import visible

if TYPE_CHECKING:
    from ..v2.runs.training_run import TrainingRun
    from .training_recipe import Recipe

_TOLD = {
    "iterations": "training_iteration",
    "steps": "num_env_steps_sampled_lifetime",
    "episodes": "env_runners/num_episodes_lifetime",
    "seconds": "time_total_s",
    "return": "env_runners/episode_return_mean",
    "newest_return": "env_runners/episode_return_mean_this_iter",
    "evaluated": "evaluation/env_runners/episode_return_mean",
    "evaluated_from": "evaluation/env_runners/episode_return_ci95_low",
    "evaluated_to": "evaluation/env_runners/episode_return_ci95_high",
}
_COUNTS = ("iterations", "steps", "episodes")


def as_data(
    run: TrainingRun, recipe: Recipe, why: str, again: Sequence[str] = ()
) -> dict[str, Any]:
    """What came of a run, as plain data."""
    from ..v2.logging.flat_result import scalars
    from ..v2.runs.stop_criteria import short
    from ..v2.runs.training_run import RETURN

    last = scalars(run.last_result)
    held = run.checkpoints.best()
    best = held[-1] if held else None
    score = recipe.run.get("score", RETURN)
    latest = run.checkpoints.latest
    return {
        "folder": str(run.folder),
        "algorithm": recipe.algorithm,
        "env": recipe.env,
        "seed": recipe.data.get("debugging", {}).get("seed"),
        "ended_by": short(why) or None,
        **{name: last.get(path) for name, path in _TOLD.items()},
        **{name: int(last.get(_TOLD[name], 0)) for name in _COUNTS},
        "best_checkpoint": None
        if best is None
        else {"path": best[0].path, "metric": score, "value": best[1].get(score)},
        "newest_checkpoint": None if latest is None else latest.path,
        "agents": dict(recipe.run.get("agents", {})),
        "again": list(again),
    }


def train_page(data: dict[str, Any]) -> tuple[RenderableType, list[Text]]:
    """The page, and the lines below it that can be copied."""
    lines = [
        Text.assemble(
            (visible(data["algorithm"]), "title"), ("  in  ", "label"), visible(data["env"])
        ),
        Text(
            f"{_counted(data, 'iterations')}, {_counted(data, 'steps')}, "
            f"{_counted(data, 'episodes')} in {_time(data['seconds'] or 0.0)}",
            "label",
        ),
    ]
    if data["ended_by"]:
        lines.append(Text(f"● {visible(data['ended_by'])} reached", "good"))
    else:
        lines.append(Text("◐ ended before anything was reached; it can go on", "warn"))
    if data["return"] is not None:
        newest = "" if data["newest_return"] is None else f", {data['newest_return']:.1f} newest"
        lines.append(Text(f"return {data['return']:.1f} over the last episodes{newest}"))
    if data["evaluated"] is not None:
        between = (
            ""
            if data["evaluated_from"] is None
            else f", {data['evaluated_from']:.1f} to {data['evaluated_to']:.1f} by 95 %"
        )
        lines.append(Text(f"evaluated {data['evaluated']:.1f}{between}"))
    best = data["best_checkpoint"]
    cast = [f"--map={agent}={policy}" for agent, policy in data["agents"].items()]
    below = []
    if best is not None:
        value = "" if best["value"] is None else f"  {best['value']:.5g}"
        below += [
            Text(f"best checkpoint  {visible(best['path'])}{value}"),
            Text(f"  {command('rollout', best['path'], '--env', data['env'], *cast)}", "command"),
        ]
    below += [
        Text("curves, and going on", "label"),
        Text(f"  {command('runs', data['folder'])}", "command"),
        Text(f"  {command('train', *_going_on(data))}", "command"),
    ]
    return Group(*lines), below


def going_on_words(
    folder: str | os.PathLike[str], env: str, again: Sequence[str] = ()
) -> list[str]:
    """The options by which a run goes on, the user's own environment with them."""
    return ["--resume", os.fspath(folder), *(["--env", env] if ":" in env else []), *again]


def _going_on(data: dict[str, Any]) -> list[str]:
    """How the run goes on: what of the user's it needs, and further than it was to go."""
    words = going_on_words(data["folder"], data["env"], data["again"])
    if isinstance(data.get(data["ended_by"]), int):
        words += ["--stop", f"{data['ended_by']}={2 * data[data['ended_by']]}"]
    return words


def _counted(data: dict[str, Any], what: str) -> str:
    return f"{data[what]:,} {what if data[what] != 1 else what.removesuffix('s')}"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
