"""The pages of `rlconnect migration`: what was done, how it stands, what was taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ..core.text.visible import visible

if TYPE_CHECKING:
    from ..bridge.migrate.plan import MigrationPlan
    from ..bridge.migrate.standing import Standing


def history_lines(plan: MigrationPlan) -> list[Text]:
    """Where the policy came from, then each state it was saved in, oldest first."""
    came = plan.origin.get("path") or "a live policy"
    lines = [Text.assemble(("from  ", "label"), visible(came, 4000))]
    checksum = plan.origin.get("checksum")
    if checksum:
        lines.append(Text(f"      SHA-256 of its files {visible(checksum)}", "label"))
    for entry in plan.history:
        applied = entry.get("applied") or []
        count = f"{len(applied)} of {len(plan.steps)} applied"
        lines.append(
            Text.assemble((visible(entry.get("date", "")), "title"), f"  {count}  "),
        )
        told = [visible(entry.get("command") or "a call from Python", 4000)]
        versions = entry.get("versions")
        if isinstance(versions, dict):
            told.append(", ".join(f"{name} {number}" for name, number in versions.items()))
        lines += [Text(f"      {visible(each, 4000)}", "label") for each in told]
    return lines


def standing_lines(found: Standing) -> list[Text]:
    """What is left, whether the proof holds, and whether the origin has changed since."""
    lines = []
    for names, words in ((found.left, "left to apply"), (found.code, "needs your code")):
        if names:
            lines.append(Text(f"{words}: {visible(', '.join(names), 4000)}", "warn"))
    if found.has_origin_changed:
        where = visible(found.origin, 4000)
        lines.append(Text(f"its origin has other files now: {where}", "warn"))
    if found.is_good:
        lines.append(Text("● nothing is left, and the proof holds", "good"))
    elif found.verdict.is_equal:
        lines.append(Text("○ the proof holds, but steps are left", "bad"))
    else:
        lines.append(Text("○ the proof no longer holds", "bad"))
    return lines


def undone_lines(undone: Sequence[str], written: str, dry_run: bool) -> list[Text]:
    """What was taken back, and where it was written."""
    lines = [Text.assemble(("undone   ", "label"), (visible(name), "name")) for name in undone]
    where = "would write  " if dry_run else "written  "
    return [*lines, Text.assemble((where, "label"), (visible(written, 4000), "good"))]
