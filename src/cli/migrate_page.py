"""The pages of `rlconnect migrate` and `migration`: each piece, its proof, and how it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Group, RenderableType
from rich.text import Text

from ..core.text.shell import shell_path
from ..core.text.visible import visible

if TYPE_CHECKING:
    from ..bridge.migrate.plan import MigrationPlan
    from ..bridge.migrate.ray_parts import RayNeeds
    from ..bridge.migrate.standing import Standing
    from ..bridge.twins.twin import MigrationStep

_WORDS: Final = {
    "native": ("becomes", "good"),
    "gone": ("goes", "good"),
    "wrapped": ("stays, wrapped", "warn"),
    "code": ("needs your code", "bad"),
}


def migrate_page(path: str, plan: MigrationPlan) -> RenderableType:
    """Every step with its reason; below, how many are native and what to do next."""
    done = sum(step.is_applied for step in plan.steps)
    native = sum(step.is_native for step in plan.steps)
    head = Text.assemble(
        (visible(plan.policy.name), "title"),
        (f"  {visible(plan.policy.algorithm)}, {visible(path)}", "label"),
    )
    lines: list[RenderableType] = [head, Text()]
    for step in plan.steps:
        lines += _step(step)
    if not plan.steps:
        return Group(*lines, Text("of the new stack already: there is no step to take", "good"))
    total = f"{native} of {len(plan.steps)} pieces become native or go; {done} proven so far"
    lines += [Text(), Text(total, "title")]
    return Group(*lines)


def ways_lines(path: str, plan: MigrationPlan, written: str | None, to: str = "v2") -> list[Text]:
    """Where it was written and what to do with it, or how to write it: each on one line."""
    if written is None:
        again = f"rlconnect migrate {visible(shell_path(path), 4000)} --out DIR"
        return [Text.assemble(("next     ", "label"), (again, "command"))]
    from ..bridge.migrate.ways_on import ways_on

    return [
        Text.assemble(("written  ", "label"), (visible(written, 4000), "good")),
        *(
            Text.assemble((f"{word:<9}", "label"), (visible(line, 4000), "command"))
            for word, line in ways_on(plan.policy, written, to)
        ),
    ]


def needs_line(needs: RayNeeds) -> Text:
    """What has to be beside Ray for what was written."""
    return Text.assemble(("ray      ", "label"), visible(str(needs), 4000))


def _step(step: MigrationStep) -> list[RenderableType]:
    words, style = _WORDS[step.kind]
    mark = "●" if step.is_applied else "○"
    becomes = f" {visible(step.twin.text)}" if step.kind == "native" else ""
    lines: list[RenderableType] = [
        Text.assemble(
            (f"  {mark} ", style), (visible(step.name), "name"), (f"  {words}", style), becomes
        ),
        Text(f"    {visible(step.reason)}", "label"),
    ]
    if step.proof:
        lines.append(Text(f"    {visible(step.proof['words'])}", "good"))
    lines += [Text(f"    | {visible(line)}", "warn") for line in step.twin.snippet.splitlines()]
    return lines


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
        details = [visible(entry.get("command") or "a call from Python", 4000)]
        versions = entry.get("versions")
        if isinstance(versions, dict):
            details.append(", ".join(f"{name} {number}" for name, number in versions.items()))
        lines += [Text(f"      {visible(line, 4000)}", "label") for line in details]
    return lines


def standing_lines(standing: Standing) -> list[Text]:
    """What is left, whether the proof holds, and whether the origin has changed since."""
    lines = []
    for names, words in ((standing.left, "left to apply"), (standing.code, "needs your code")):
        if names:
            lines.append(Text(f"{words}: {visible(', '.join(names), 4000)}", "warn"))
    if standing.has_origin_changed:
        where = visible(standing.origin, 4000)
        lines.append(Text(f"its origin has other files now: {where}", "warn"))
    if standing.is_good:
        lines.append(Text("● nothing is left, and the proof holds", "good"))
    elif standing.verdict.is_equal:
        lines.append(Text("○ the proof holds, but steps are left", "bad"))
    else:
        lines.append(Text("○ the proof no longer holds", "bad"))
    return lines


def undone_lines(undone: Sequence[str], written: str, dry_run: bool) -> list[Text]:
    """What was taken back, and where it was written."""
    lines = [Text.assemble(("undone   ", "label"), (visible(name), "name")) for name in undone]
    where = "would write  " if dry_run else "written  "
    return [*lines, Text.assemble((where, "label"), (visible(written, 4000), "good"))]
