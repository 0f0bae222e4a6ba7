"""The page of `rlconnect rollout`: each episode as a bar, the mean below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..core.text.visible import visible
from .theme import console

if TYPE_CHECKING:
    from ..bridge.actor.episodes import Played

_WIDEST: Final = 40
_MOST_ROWS: Final = 30
_NUMBERS: Final = 30  # columns that the numbers take


def rollout_page(path: str, env: str, played: Played) -> RenderableType:
    """Returns and lengths of the episodes, and their mean with its confidence interval."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("episode", justify="right")
    table.add_column("return", justify="right")
    table.add_column("steps", justify="right")
    table.add_column("")
    low, high = min(0.0, *played.returns), max(0.0, *played.returns)
    span = (high - low) or 1.0
    widest = min(_WIDEST, max(console().width - _NUMBERS, 4))
    rows = list(zip(played.returns, played.lengths, strict=True))
    for number, (earned, steps) in enumerate(rows[:_MOST_ROWS], 1):
        bar = "█" * round(widest * abs(earned) / span)
        style = "good" if earned >= 0 else "warn"
        table.add_row(f"{number}", f"{earned:.4g}", f"{steps}", Text(bar, style))
    half = played.half_interval
    interval = f" ± {half:.3g} (95 %)" if np.isfinite(half) else ""
    rest = len(rows) - _MOST_ROWS
    return Group(
        Text.assemble((visible(path), "title"), ("  in  ", "label"), (visible(env), "title")),
        Text(),
        table,
        *([Text(f"and {rest} more", "label")] if rest > 0 else []),
        Text(),
        Text(f"mean return {played.mean:.4g}{interval}", "title"),
    )
