"""The report of a migration: the old pipeline and the new one side by side, then the proof."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...core.pages.document import Markup, document, facts, pill
from ...core.text.visible import visible_html as escape
from ...core.vault.own.atomic import replaced_file
from ..proof.page import sections_of

if TYPE_CHECKING:
    from ..proof.verdict import Verdict
    from ..twins.twin import MigrationStep
    from .plan import MigrationPlan

_SIDES: Final = (
    ("agent", "To the module"),
    ("network", "The module"),
    ("action", "To the environment"),
)


def save_migration_report(
    plan: MigrationPlan, verdict: Verdict, path: str | os.PathLike[str]
) -> None:
    """Write the report as one HTML page that needs nothing else."""
    with replaced_file(Path(path)) as staged:
        staged.write_text(migration_page(plan, verdict), encoding="utf-8")


def migration_page(plan: MigrationPlan, verdict: Verdict) -> str:
    """Return the complete page of a migration; arguments as in `save_migration_report`."""
    first = verdict.first_difference
    answer = "It does the same" if first is None else f"It parts from its source at: {first.name}"
    name = f"{plan.policy.algorithm} {plan.policy.name}"
    return document(
        f"The migration of {name}",
        [
            f"<h1>{escape(name)} <span class=soft>in the new stack</span></h1>",
            f"<p class=soft>{escape(plan.source) or 'a live policy'}</p>",
            pill(answer, is_good=first is None),
            *(_steps(plan) if plan.steps else ["<p>It was of the new stack already.</p>"]),
            *sections_of(verdict),
        ],
    )


def _steps(plan: MigrationPlan) -> list[str]:
    """Old and new side by side, and why each step was taken or not."""
    done = sum(step.is_applied for step in plan.steps)
    return [
        f"<p>{done} of {len(plan.steps)} pieces are native or gone, each step proven equal to "
        f"the source{'; the others run as they were, wrapped' * (done < len(plan.steps))}.</p>",
        "<h2>Old and new</h2>",
        *(_side(plan, side, title) for side, title in _SIDES),
        "<h2>Why, and how equal</h2>",
        _reasons(plan),
    ]


def _side(plan: MigrationPlan, side: str, title: str) -> str:
    """Return one half of the pipeline: each old piece next to its replacement."""
    steps = sorted((step for step in plan.steps if step.side == side), key=lambda step: step.place)
    rows = "".join(
        f"<div class=piece><b>{escape(step.name)}</b></div><div class=to>&rarr;</div>{_new(step)}"
        for step in steps
    )
    return f"<div class=card><h3>{escape(title)}</h3><div class=beside>{rows}</div></div>"


def _new(step: MigrationStep) -> str:
    if not step.is_applied:
        words = "needs code of yours; runs wrapped" if step.kind == "code" else "as it was, wrapped"
        kind = "code" if step.kind == "code" else "wrapped"
        return f'<div class="piece {kind}"><b>{escape(step.name)}</b><span>{words}</span></div>'
    if step.kind == "gone":
        text = step.twin.text
        moved = text if text not in ("", "-") else "nothing has to take its place"
        return f'<div class="piece gone"><b>gone</b><span>{escape(moved)}</span></div>'
    name, _, settings = step.twin.text.partition("(")
    detail = escape(settings.replace(")", "")) or "no settings"
    return f'<div class="piece native"><b>{escape(name)}</b><span>{detail}</span></div>'


def _reasons(plan: MigrationPlan) -> str:
    return facts(
        (
            step.name,
            Markup(
                f"{escape(step.reason)}<br>"
                f"<span class=soft>{escape(step.proof.get('words', 'not tried'))}</span>"
            ),
        )
        for step in plan.steps
    )
