"""One line that tells how a run goes, written over itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TextIO

from rich.console import Console
from rich.text import Text

from .flat_result import at

_PARTS: Final = (
    ("sample", ("timers", "env_runner_sampling_timer")),
    (
        "connect",
        ("learners", "__all_modules__", "learner_connector", "connector_pipeline_timer"),
    ),
    ("learn", ("timers", "learner_update_timer")),
)


class ProgressLine:
    """Shows return, speed and where the time goes after each result.

    Args:
        file: Where to; a terminal shows one line that changes, anything else a line each time.
    """

    def __init__(self, file: TextIO) -> None:
        self._console = Console(file=file, highlight=False)
        self._is_open = False

    def on_result(self, result: Mapping[str, Any]) -> None:
        """Show a result."""
        line = Text(progress_text(result))
        line.truncate(max(20, self._console.width - 1), pad=True)
        is_live = self._console.is_terminal
        self._console.print(line, end="\r" if is_live else "\n")
        self._is_open = is_live

    def close(self) -> None:
        """Leave the line as it is, and go on below."""
        if self._is_open:
            self._console.print()
            self._is_open = False


def progress_text(result: Mapping[str, Any]) -> str:
    """What the line says about a result.

    Example:
        >>> progress_text({"training_iteration": 3, "num_env_steps_sampled_lifetime": 900})
        'iteration 3  900 steps'
    """
    parts = [
        f"iteration {result.get('training_iteration', 0)}",
        f"{result.get('num_env_steps_sampled_lifetime', 0):,.0f} steps",
    ]
    mean_return = at(result, ("env_runners", "episode_return_mean"))
    if mean_return is not None and mean_return == mean_return:  # not NaN
        parts.append(f"return {mean_return:.1f}")
    seconds = result.get("time_this_iter_s")
    steps = at(result, ("env_runners", "num_env_steps_sampled"))
    if seconds and steps:
        parts.append(f"{steps / seconds:,.0f} steps/s")
    parts += _time_split(result)
    return "  ".join(parts)


def _time_split(result: Mapping[str, Any]) -> list[str]:
    took = {name: at(result, path) for name, path in _PARTS}
    if took["sample"] is None or took["learn"] is None:
        return []
    connect = took["connect"] or 0.0
    learn = max(0.0, took["learn"] - connect)
    total = max(took["sample"] + connect + learn, 1e-9)
    each = (("sample", took["sample"]), ("connect", connect), ("learn", learn))
    return [" ".join(f"{name} {100 * seconds / total:.0f}%" for name, seconds in each)]
