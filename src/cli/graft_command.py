"""`rlconnect graft`: an old policy as the start of a better one, for a changed environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import PieceError
from ..core.text.shell import command
from .environments import Environment, settings_in
from .options import PATH, ActionSteps, DryRun, Json, Loading, ObsSteps, One, Seed
from .printing import print_json, show_lines


def graft(
    path: Annotated[str, PATH],
    environment: Environment,
    obs: ObsSteps = None,
    action: ActionSteps = None,
    network: Annotated[
        list[str] | None,
        typer.Option(
            "--network",
            metavar="NAME=VALUE",
            help="A setting of a larger network, such as use_lstm=true or fcnet_hiddens=[256,256].",
        ),
    ] = None,
    new_action_probability: Annotated[
        float,
        typer.Option(
            "--new-actions", min=0.0, max=0.5, help="How likely each new choice is at first."
        ),
    ] = 0.0,
    samples: Annotated[
        int, typer.Option("--samples", min=1, help="Observations that the proof draws.")
    ] = 1000,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write the grafted policy here.")
    ] = None,
    *,
    dry_run: DryRun = False,
    seed: Seed = 0,
    policy: One = None,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Grow a policy for a changed environment: at first it does what the adapted one does.

    New features reach its network with zero weights, new actions stand beside the old ones, a
    larger network computes the same; all of it can learn. A dry run without --out.
    """
    from ..bridge.adapting.step_text import steps_from_text
    from ..bridge.graft.graft import GRAFT
    from ..bridge.graft.graft import graft as grafted
    from ..bridge.migrate.checkpoint import save_migrated
    from ..bridge.migrate.plan import plan_migration
    from ..v2.modules.apis import ValueFunctionAPI
    from .command_line import command_line
    from .theme import console

    if environment.env is None:
        raise PieceError("which environment?", hint="give --env ID, or --env FILE.py:NAME.")
    with console().status("growing, and proving that it does the same"):
        triple = grafted(
            path,
            environment.make(path),
            policy=policy,
            obs=steps_from_text(obs) if obs else None,
            action=steps_from_text(action) if action else None,
            network=settings_in(network or [], "--network"),
            new_action_probability=new_action_probability,
            samples=samples,
            seed=seed,
            **loading.words(),
        )
        if out is not None and not dry_run:
            save_migrated(plan_migration(triple), out, command=command_line())
    told = triple.migration[GRAFT]
    if as_json:
        print_json({**told, "written": None if out is None or dry_run else str(out)})
        return
    learns = isinstance(triple.module, ValueFunctionAPI)
    show_lines(*_lines(told, environment.words(), None if dry_run else out, has_values=learns))


def _lines(
    told: dict[str, Any], env: list[str], out: Path | None, *, has_values: bool
) -> list[str]:
    network = ", ".join(f"{name}={value}" for name, value in told["network"].items())
    lines = [
        f"new features   {', '.join(told['features']) or 'none'}",
        f"new actions    {', '.join(told['actions']) or 'none'}",
        *(f"kept in front  {step}" for step in told["in_front"]),
        f"network        {network or 'as it was'}",
        f"proof          {told['proof']['words']}",
    ]
    if out is None:
        return [*lines, "written        nothing; give --out DIR and no --dry-run"]
    train = command("train", "--algo", "PPO", *env, "--from", out)
    return [
        *lines,
        f"written        {out}",
        *([f"train on       {train}"] if has_values else []),
        f"act            {command('rollout', out, *env)}",
    ]
