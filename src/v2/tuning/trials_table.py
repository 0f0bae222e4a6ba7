"""What became of trials, a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from ...core.text.visible import visible
from .stopping import RESULT_KEYS, metric_of
from .trial import Trial

_RETURN: Final = RESULT_KEYS["episode_reward_mean"]
_COLUMNS: Final = (
    ("iterations", "training_iteration", "{:,.0f}"),
    ("steps", RESULT_KEYS["timesteps_total"], "{:,.0f}"),
    ("seconds", "time_total_s", "{:,.1f}"),
)


def trials_table(trials: Sequence[Trial], metric: str | None = None) -> Table:
    """Give the table.

    Args:
        trials: The trials.
        metric: What they are compared by, by path; None takes the mean return.

    Example:
        >>> trial = Trial("PPO", 0, "run", {"lr": 0.1}, "lr=0.1")
        >>> [column.header for column in trials_table([trial], "score").columns]
        ['trial', 'settings', 'status', 'score']
    """
    columns = [*_COLUMNS, ((metric or _RETURN).rpartition("/")[2], metric or _RETURN, "{:,.6g}")]
    known = [
        each
        for each in columns
        if each[1] == metric
        or any(metric_of(one.last_result, each[1]) is not None for one in trials)
    ]
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("trial", "settings", "status"):
        table.add_column(name)
    for name, *_ in known:
        table.add_column(visible(name, 40), justify="right")
    for number, trial in enumerate(trials):
        values = [(metric_of(trial.last_result, path), form) for _, path, form in known]
        table.add_row(
            str(number),
            Text(visible(str(trial.evaluated_params), 200)),
            trial.status,
            *(_cell(value, form) for value, form in values),
        )
    return table


def _cell(value: Any, form: str) -> str:
    return form.format(value) if isinstance(value, Real) else ""
