"""`rlconnect graft`: an old policy as the start of a better one, for a changed environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .environments import Environment, closing_lines, settings_in
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

    environment.named()
    out = None if dry_run else out
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
        if out is not None:
            save_migrated(plan_migration(triple), out, command=command_line())
    record = triple.migration[GRAFT]
    if as_json:
        print_json({**record, "written": None if out is None else str(out)})
        return
    learns = isinstance(triple.module, ValueFunctionAPI)
    show_lines(*_lines(record), *closing_lines(out, environment, learns=learns))


def _lines(grafted: dict[str, Any]) -> list[str]:
    network = ", ".join(f"{name}={value}" for name, value in grafted["network"].items())
    return [
        f"new features   {', '.join(grafted['features']) or 'none'}",
        f"new actions    {', '.join(grafted['actions']) or 'none'}",
        *(f"kept in front  {step}" for step in grafted["in_front"]),
        f"network        {network or 'as it was'}",
        f"proof          {grafted['proof']['words']}",
    ]
