"""The page of `rlconnect runs --html`: curves of all runs, the best one first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..core.pages.charts import curves
from ..core.pages.document import document, pill
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


def runs_page(found: Runs) -> str:
    """The whole page."""
    best, kept = found.best, found.best_checkpoint
    count = len(found.trials)
    body = [f"<h1>{escape(str(found.path))}</h1>"]
    if best is not None:
        value = best.curve(found.metric).best(found.mode)
        name = found.metric.rpartition("/")[2]
        body.append(pill(f"best: {best.name}, {name} {value:.5g}", is_good=True))
    body.append(f"<p class=soft>{count} run{'s' * (count != 1)}, over iterations</p>")
    metrics = [(found.metric, found.metric), *_BESIDE] if found.metric else list(_BESIDE)
    for metric, title in metrics:
        body += _chart(found, metric, title)
    body += ["<h2>Runs</h2>", f"<div class=card>{_table(found)}</div>"]
    if kept is not None:
        body += [
            "<h2>The best checkpoint</h2>",
            f"<div class=card><p>{escape(str(kept.path))}</p>"
            f"<p><code>{escape(command('inspect', kept.path))}</code></p></div>",
        ]
    return document(f"Runs in {found.path}", body)


def _chart(found: Runs, metric: str, title: str) -> list[str]:
    lines = []
    for trial in found.trials:
        curve = trial.curve(metric)
        lines.append((trial.name, [float(each) for each in curve.iterations], curve.values))
    if not any(values for _, _, values in lines):
        return []
    chosen = "" if found.best is None else found.best.name
    return [
        f"<h2>{escape(title)}</h2>",
        f"<div class=card>{curves(lines, chosen, title)}</div>",
    ]


def _table(found: Runs) -> str:
    varied = found.varied()[:_SETTINGS]
    heads = ["run", "ended", "iterations", *varied, found.metric.rpartition("/")[2], "best"]
    rows = [[escape(each) for each in _row(found, trial, varied)] for trial in found.trials]
    return (
        "<table><tr>"
        + "".join(f"<th>{escape(head)}</th>" for head in heads)
        + "</tr>"
        + "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        + "</table>"
    )


def _row(found: Runs, trial: Trial, varied: list[str]) -> list[str]:
    curve = trial.curve(found.metric)
    held = (found.setting(trial, each) for each in varied)
    settings = ["" if each is None else str(each) for each in held]
    ends = ["" if each is None else f"{each:.5g}" for each in (curve.last, curve.best(found.mode))]
    return [trial.name, trial.status.lower(), f"{len(trial.results)}", *settings, *ends]
