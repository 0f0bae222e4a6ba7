"""`rlconnect migrate`: an old policy becomes one of the new stack, step by provable step."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .command_line import command_line
from .environments import Environment
from .options import FINDING, DryRun, Episodes, Json, Loading, NoHost, One, Recorded, Report, Seed
from .printing import print_json, show, show_lines
from .verify_command import evidence_of

_PATH = typer.Argument(
    metavar="PATH", help="A checkpoint of the old stack, or a plan that --plan saved."
)


class Target(str, Enum):
    """What a migration writes."""

    v2 = "v2"
    ray = "ray"


def migrate(
    path: Annotated[str, _PATH],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write the migrated policy here.")
    ] = None,
    to: Annotated[
        Target, typer.Option("--to", help="For rlconnect, or for Ray's own new stack.")
    ] = Target.v2,
    until: Annotated[
        str | None, typer.Option("--until", metavar="STEP", help="Stop after this step.")
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Try and prove the steps; --out implies it.")
    ] = False,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="Save the plan, to go on another day."),
    ] = None,
    *,
    environment: Environment,
    episodes: Episodes = 8,
    samples: Annotated[
        int | None,
        typer.Option("--samples", min=1, help="Random episodes of each proof; 8 if not given."),
    ] = None,
    data: Recorded = None,
    seed: Seed = 0,
    report: Report = None,
    no_host: NoHost = False,
    policy: One = None,
    loading: Loading,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Show how a policy becomes one of the new stack; a dry run without --apply or --out.

    Each step is proven equal to the source on the same observations, or taken back. Exit code 1
    tells that a piece needs code of yours.
    """
    from ..bridge.migrate.checkpoint import save_migrated
    from ..bridge.migrate.plan import MigrationPlan, plan_migration
    from ..bridge.migrate.ray_checkpoint import to_ray
    from ..bridge.migrate.report import save_migration_report

    is_plan = path.endswith(".json") and "rlconnect-migration" in _head(path)
    words = loading.words()
    load = MigrationPlan.load if is_plan else partial(plan_migration, policy_id=policy)
    plan = load(path, **words)
    verdict = None
    env = None if environment.env is None else environment.make(path)
    if apply or out is not None or until is not None or report is not None:
        from .theme import console

        with console().status("proving each step"):
            plan.prove_on(
                env=env,
                episodes=episodes,
                observations=data,
                samples=samples,
                seed=seed,
            )
            plan.apply(until)
            if env is not None or report is not None:
                played = {} if env is None else {"env": env, "episodes": episodes}
                verdict = plan.verify(**played)
    out = None if dry_run else out
    needs = None
    if out is not None and to is Target.ray:
        needs = to_ray(plan, out)
    elif out is not None:
        save_migrated(plan, out, command=command_line())
    if plan_file is not None and not dry_run:
        plan.save(plan_file)
    if verdict is not None:
        paths = [path] if out is None else [path, str(out)]
        verdict = verdict.with_evidence(evidence_of(paths, seed, no_host))
        if report is not None:
            save_migration_report(plan, verdict, report)
    written = None if out is None else str(out)
    if as_json:
        proof = None if verdict is None else verdict.to_dict()
        beside = {} if needs is None else {"ray": needs.to_dict()}
        print_json({**plan.to_dict(), "written": written, "verdict": proof, **beside})
    else:
        from .migrate_page import migrate_page, needs_line, ways_lines
        from .verify_page import verify_page

        show(migrate_page(path, plan))
        show_lines(*ways_lines(path, plan, written, to.value))
        if needs is not None:
            show_lines(needs_line(needs))
        if verdict is not None and env is not None:
            show("", verify_page(verdict))
        if report is not None:
            show_lines(f"report   {report}")
    if verdict is not None and not verdict.is_equal:
        raise typer.Exit(FINDING)
    if any(step.kind == "code" for step in plan.steps):
        raise typer.Exit(FINDING)


def _head(path: str) -> str:
    from ..core.errors import CheckpointError
    from ..core.vault.files.reading import read_head

    try:
        return read_head(Path(path), 200).decode("utf-8")
    except (CheckpointError, UnicodeDecodeError):
        return ""
