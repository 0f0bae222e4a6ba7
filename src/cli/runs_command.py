"""`rlconnect runs`: what a folder holds of runs and trials, and the best of them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .options import Json, Report
from .printing import print_json, show, show_lines

if TYPE_CHECKING:
    from rich.table import Table

    from ..offline.runs import Runs, Trial

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_CURVE: Final = 24
_SETTINGS: Final = {110: 4, 80: 2, 0: 1}
"""How many settings are shown, by how wide a terminal is at least."""


def runs(
    folder: Annotated[
        str,
        typer.Argument(metavar="FOLDER", help="runs, ~/ray_results, or one run of either."),
    ],
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric", metavar="NAME", help="What to measure by; the return if left out."
        ),
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", metavar="max|min", help="Whether more of it is better.")
    ] = "max",
    report: Report = None,
    as_json: Json = False,
) -> None:
    """List the runs of `train` and the trials of Tune: their curves and their best checkpoint."""
    from ..offline.runs import open_runs

    opened = open_runs(folder, metric=metric, mode=mode)
    if report is not None:
        from ..core.vault.own.atomic import replaced_file
        from .runs_page import runs_page

        with replaced_file(report) as staged:
            staged.write_text(runs_page(opened), encoding="utf-8")
    if as_json:
        print_json(_plain(opened))
        return
    from rich.text import Text

    from ..core.text.shell import command
    from ..core.text.visible import visible

    show(_table(opened))
    for trial in opened.trials:
        for damaged in trial.damaged:
            damage = f"! {damaged['file']}, line {damaged['line']}: {damaged['why']}"
            show_lines(Text(visible(damage), "warn"))
    if report is not None:
        show_lines(f"report  {report}")
    best = opened.best_checkpoint
    if best is not None:
        value = "" if best.value is None else f"  {opened.metric} {best.value:.5g}"
        show_lines(
            Text(f"best checkpoint  {visible(str(best.path))}{value}"),
            Text(f"  {command('inspect', best.path)}", "command"),
        )


def _table(runs: Runs) -> Table:
    from rich.table import Table
    from rich.text import Text

    from ..core.text.visible import visible
    from .theme import console

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="label")
    count = next(count for width, count in _SETTINGS.items() if console().width >= width)
    varied = runs.varied()[:count]
    table.add_column("trial", overflow="fold")
    table.add_column("ended", no_wrap=True)
    for name in ("iterations", *varied, runs.metric.rpartition("/")[2] or "metric", "best"):
        head = visible(name.lstrip("_"))
        table.add_column(Text(head, overflow="fold"), justify="right", min_width=min(len(head), 10))
    table.add_column("", overflow="crop")
    for trial in runs.trials:
        curve = trial.curve(runs.metric)
        style = {"TERMINATED": "good", "ERROR": "bad"}.get(trial.status, "warn")
        table.add_row(
            Text(visible(trial.name), "title" if trial is runs.best else ""),
            Text(visible(trial.status.lower()), style),
            f"{len(trial.results)}",
            *(visible(_short(runs.setting(trial, name))) for name in varied),
            _number(curve.last),
            _number(curve.best(runs.mode)),
            Text(_drawn(curve.values), "name"),
        )
    return table


def _drawn(values: tuple[float, ...]) -> str:
    """A curve as a row of blocks, each the mean of its part."""
    if not values:
        return ""
    count = min(len(values), _CURVE)
    edges = [round(edge * len(values) / count) for edge in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    span = (high - low) or 1.0
    return "".join(_BLOCKS[round((len(_BLOCKS) - 1) * (mean - low) / span)] for mean in means)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str("" if value is None else value)[:24]


def _plain(runs: Runs) -> dict[str, Any]:
    best = runs.best_checkpoint
    return {
        "path": str(runs.path),
        "metric": runs.metric,
        "mode": runs.mode,
        "best_trial": None if runs.best is None else runs.best.name,
        "best_checkpoint": None
        if best is None
        else {"path": str(best.path), "iteration": best.iteration, "value": best.value},
        "trials": [_of_trial(runs, trial) for trial in runs.trials],
    }


def _of_trial(runs: Runs, trial: Trial) -> dict[str, Any]:
    curve = trial.curve(runs.metric)
    return {
        "name": trial.name,
        "path": str(trial.path),
        "status": trial.status,
        "iterations": len(trial.results),
        "config": _finite(trial.config),
        "last_result": _finite(trial.last_result),
        "curve": {"iterations": curve.iterations, "values": curve.values},
        "checkpoints": [
            {"path": str(saved.path), "iteration": saved.iteration, "value": saved.value}
            for saved in trial.checkpoints(runs.metric)
        ],
        "damaged": trial.damaged,
    }


def _finite(value: Any) -> Any:
    """Plain data without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
