"""The page of `rlconnect runs --html`: curves of all runs, the best one first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..core.pages.charts import KINDS, curves
from ..core.pages.document import Markup, document, facts, pill, table
from ..core.text.shell import command
from ..core.text.visible import visible_html as escape

if TYPE_CHECKING:
    from ..offline.runs import Runs, Trial

_STEPS: Final = "env_runners/num_env_steps_sampled_lifetime_throughput"
_BESIDE: Final = (
    ("env_runners/episode_return_mean_this_iter", "Return of the newest iteration"),
    ("evaluation/env_runners/episode_return_mean", "Return in evaluations"),
    ("env_runners/episode_len_mean", "Length of episodes"),
    ("learners/default_policy/total_loss", "Loss"),
    ("learners/default_policy/entropy", "Entropy"),
    (f"{_STEPS}/throughput_since_last_reduce", "Steps per second"),
)
"""What is drawn below the metric, where any run tells it."""
_SETTINGS: Final = 4


def runs_page(runs: Runs) -> str:
    """The whole page."""
    best, kept = runs.best, runs.best_checkpoint
    count = len(runs.trials)
    body = [f"<h1>{escape(str(runs.path))}</h1>"]
    if best is not None:
        value = best.curve(runs.metric).best(runs.mode)
        name = runs.metric.rpartition("/")[2]
        body.append(pill(f"best: {best.name}, {name} {value:.5g}", is_good=True))
    kinds = _kinds(runs)
    body += [
        f"<p class=soft>{count} run{'s' * (count != 1)}</p>",
        f"<div class=card>{_table(runs, kinds)}</div>",
    ]
    metrics = [(runs.metric, runs.metric), *_BESIDE] if runs.metric else list(_BESIDE)
    for metric, title in metrics:
        body += _chart(runs, metric, title, kinds)
    if kept is not None:
        inspected = Markup(f"<code>{escape(command('inspect', kept.path))}</code>")
        body += ["<h2>The best checkpoint</h2>", facts([(kept.path, inspected)])]
    return document(f"Runs in {runs.path}", body)


def _kinds(runs: Runs) -> list[str]:
    """A colour for each run, the first for the best; of many the rest are alike."""
    others = iter(KINDS[1:])
    best = runs.best or (runs.trials[0] if runs.trials else None)
    return [KINDS[0] if trial is best else next(others, "other") for trial in runs.trials]


def _chart(runs: Runs, metric: str, title: str, kinds: list[str]) -> list[str]:
    lines = []
    for trial in runs.trials:
        curve = trial.curve(metric)
        lines.append((trial.name, [float(each) for each in curve.iterations], curve.values))
    if not any(values for _, _, values in lines):
        return []
    chosen = "" if runs.best is None else runs.best.name
    drawn = curves(lines, chosen, title, "iterations", kinds)
    return [f"<h2>{escape(title)}</h2>", f"<div class=card>{drawn}</div>"]


def _table(runs: Runs, kinds: list[str]) -> str:
    """A row for each run; the line before its name is that of its curves."""
    varied = runs.varied()[:_SETTINGS]
    shown = [name.lstrip("_") for name in varied]
    heads = ["run", "ended", "iterations", runs.metric.rpartition("/")[2], "best", *shown]
    rows = []
    for trial, kind in zip(runs.trials, kinds, strict=True):
        name, *rest = _row(runs, trial, varied)
        line = f'<svg width="20" height="8" class="{kind}"><path class="curve" d="M0 4H20"/></svg>'
        rows.append([Markup(f"{line} {escape(name)}"), *rest])
    return table(heads, rows)


def _row(runs: Runs, trial: Trial, varied: list[str]) -> list[str]:
    curve = trial.curve(runs.metric)
    values = (runs.setting(trial, each) for each in varied)
    settings = ["" if each is None else str(each) for each in values]
    ends = ["" if each is None else f"{each:.5g}" for each in (curve.last, curve.best(runs.mode))]
    return [trial.name, trial.status.lower(), f"{len(trial.results)}", *ends, *settings]
