"""How training goes: a table and a bar at the foot of the terminal, a line a result elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from typing_extensions import Self

from ..v2.logging.progress_line import progress_text
from ..v2.runs.stop_criteria import metric_of

_ROWS: Final = 8
_WIDE: Final = 80
_COLUMNS: Final = (
    ("iteration", "training_iteration", "{:,.0f}"),
    ("steps", "num_env_steps_sampled_lifetime", "{:,.0f}"),
    ("episodes", "env_runners/num_episodes_lifetime", "{:,.0f}"),
    ("return", "env_runners/episode_return_mean", "{:.1f}"),
    ("newest", "env_runners/episode_return_mean_this_iter", "{:.1f}"),
    ("length", "env_runners/episode_len_mean", "{:.0f}"),
)
_LEFT_OUT: Final = ("episodes", "length")
"""Columns for which a narrow terminal has no room."""
_RETURN: Final = "return_mean"


class TrainingTable:
    """Shows results as they come; what others print meanwhile stands whole above.

    Args:
        console: Where to.
        stop: Metrics by path, with what they have to reach.
    """

    def __init__(self, console: Console, stop: Mapping[str, float]) -> None:
        self._console, self._stop = console, stop
        self._rows: deque[tuple[str, ...]] = deque(maxlen=_ROWS)
        self._first: dict[str, float] = {}
        self._share = 0.0
        self._stack = ExitStack()
        self._live: Any = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = self._stack.enter_context(
                Live(console=self._console, auto_refresh=False, get_renderable=self._drawn)
            )
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def on_result(self, result: Mapping[str, Any]) -> None:
        """Show a result."""
        self._share = max((self._reached(result, path) for path in self._stop), default=0.0)
        if self._live is None:
            evaluation = _evaluated(result)
            evaluated = f"  evaluated {evaluation}" if evaluation else ""
            self._console.print(Text(progress_text(result) + evaluated), soft_wrap=True)
            return
        cells = [_cell(result, path, form) for _, path, form in _COLUMNS]
        self._rows.append((*cells, _evaluated(result), _speed(result)))
        self._live.refresh()

    def _reached(self, result: Mapping[str, Any], path: str) -> float:
        """How much of the way to a metric's end is gone."""
        value, enough = metric_of(result, path), self._stop[path]
        if value is None or value != value:
            return 0.0
        begin = self._first.setdefault(path, float(value)) if _RETURN in path else 0.0
        way = enough - begin
        return min(1.0, max(0.0, (value - begin) / way)) if way > 0 else 1.0

    def _drawn(self) -> RenderableType:
        names = [*(name for name, *_ in _COLUMNS), "evaluated", "steps/s"]
        shown = [
            column
            for column, name in enumerate(names)
            if (self._console.width >= _WIDE or name not in _LEFT_OUT)
            and (name != "evaluated" or any(row[column] for row in self._rows))
        ]
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="label")
        for column in shown:
            table.add_column(names[column], justify="right")
        for row in self._rows:
            table.add_row(*(row[column] for column in shown))
        bar = ProgressBar(total=1.0, completed=self._share, width=min(60, self._console.width - 8))
        line = Table.grid(padding=(0, 1, 0, 0))
        line.add_row(bar, f"{100 * self._share:.0f} %") if self._stop else None
        return Group(table, line)


def _cell(result: Mapping[str, Any], path: str, form: str) -> str:
    value = metric_of(result, path)
    return "" if value is None or value != value else form.format(value)


def _evaluated(result: Mapping[str, Any]) -> str:
    """The newest evaluation, with half the width of its interval."""
    mean = metric_of(result, "evaluation/env_runners/episode_return_mean")
    low = metric_of(result, "evaluation/env_runners/episode_return_ci95_low")
    if mean is None:
        return ""
    return f"{mean:.1f}" if low is None else f"{mean:.1f} ±{mean - low:.1f}"


def _speed(result: Mapping[str, Any]) -> str:
    steps = metric_of(result, "env_runners/num_env_steps_sampled")
    seconds = result.get("time_this_iter_s")
    return f"{steps / seconds:,.0f}" if steps and seconds else ""
