"""The page of `rlconnect verify`: stage by stage, with the answer on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..core.spaces.text import shown
from ..core.text.visible import visible

_MOST: Final = 5

if TYPE_CHECKING:
    from ..bridge.proof.evidence import Evidence
    from ..bridge.proof.verdict import Verdict


def verify_page(verdict: Verdict) -> RenderableType:
    """Both names, the answer, and how far each stage is apart."""
    first = verdict.first_difference
    answer = Text("● equal", "good")
    if first is not None:
        answer = Text(f"○ they part at: {visible(first.name)}", "bad")
    names = Text.assemble(
        (visible(verdict.ours), "title"), ("  and  ", "label"), (visible(verdict.theirs), "title")
    )
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("stage", no_wrap=True)
    for head in ("numbers", "largest", "median", "99 %", "rows agree"):
        table.add_column(head, justify="right")
    for stage in verdict.stages:
        style = "" if stage.is_equal else "bad"
        numbers = (stage.largest, stage.quantiles[0], stage.quantiles[2])
        table.add_row(
            Text(visible(stage.name), style),
            f"{stage.count}",
            *(f"{number:.2g}" for number in numbers),
            f"{stage.agreement:.1%}",
        )
        if stage.note:
            table.add_row("", Text(visible(stage.note), "label"))
    lines: list[RenderableType] = [
        names,
        Text(f"{verdict.steps} observations {visible(verdict.source)}", "label"),
        answer,
        Text(),
        table,
        *_furthest(verdict),
        Text(),
        *(Text(line) for line in verdict.consequences()),
    ]
    if verdict.returns is not None:
        mean, half = verdict.returns.difference
        ours, theirs = (np.mean(side) for side in (verdict.returns.ours, verdict.returns.theirs))
        interval = f" ± {half:.2g}" if np.isfinite(half) else ""
        text = f"returns {ours:.4g} and {theirs:.4g}, difference {mean:.3g}{interval}"
        lines.append(Text(text))
    lines += [Text(), Text(verdict.meaning(), "label")]
    return Group(*lines)


def evidence_lines(evidence: Evidence) -> list[Text]:
    """When, where and with what it was found: each on one line, however long."""
    return [
        Text.assemble((f"{visible(name, 4000)}  ", "label"), visible(text, 4000))
        for name, text in evidence.lines()
    ]


def _furthest(verdict: Verdict) -> list[RenderableType]:
    """Where both lie furthest apart, and the outputs that differ most."""
    stage = verdict.worst_stage
    if stage is None or stage.worst is None:
        return []
    worst = stage.worst
    lines: list[RenderableType] = [
        Text(),
        Text(
            f"furthest apart at {visible(stage.name)} {visible(worst.output)}: "
            f"{worst.ours:.6g} beside {worst.theirs:.6g}"
        ),
    ]
    if worst.observation is not None:
        lines.append(Text(f"on the observation {visible(shown(worst.observation))}", "label"))
    outputs = [f"{visible(name)} {apart:.2g}" for name, apart in stage.by_output[:_MOST] if apart]
    if len(outputs) > 1:
        lines.append(Text(f"largest by output: {', '.join(outputs)}", "label"))
    return lines
