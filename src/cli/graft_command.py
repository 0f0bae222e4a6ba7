"""`rlconnect graft`: an old policy as the start of a better one, for a changed environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import PieceError
from .environments import Environment
from .options import PATH, Json, Loading, One, Seed
from .printing import print_json, show_lines


def graft(
    path: Annotated[str, PATH],
    environment: Environment,
    obs: Annotated[
        list[str] | None,
        typer.Option("--obs", metavar="STEP", help="A step on observations; may be repeated."),
    ] = None,
    action: Annotated[
        list[str] | None,
        typer.Option("--action", metavar="STEP", help="A step on actions; may be repeated."),
    ] = None,
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
            network=_settings(network or []),
            new_action_probability=new_action_probability,
            samples=samples,
            seed=seed,
            **loading.words(),
        )
        if out is not None:
            save_migrated(plan_migration(triple), out, command=command_line())
    told = triple.migration[GRAFT]
    if as_json:
        print_json({**told, "written": None if out is None else str(out)})
        return
    show_lines(*_lines(told, out))


def _settings(texts: list[str]) -> dict[str, Any]:
    """Settings as people type them: the value is JSON, or a word."""
    found: dict[str, Any] = {}
    for text in texts:
        name, is_told, value = text.partition("=")
        if not is_told:
            raise PieceError(f"--network {text!r}", expected="NAME=VALUE, such as use_lstm=true")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value.strip()
    return found


def _lines(told: dict[str, Any], out: Path | None) -> list[str]:
    network = ", ".join(f"{name}={value}" for name, value in told["network"].items())
    lines = [
        f"new features   {', '.join(told['features']) or 'none'}",
        f"new actions    {', '.join(told['actions']) or 'none'}",
        *(f"kept in front  {step}" for step in told["in_front"]),
        f"network        {network or 'as it was'}",
        f"proof          {told['proof']['words']}",
    ]
    if out is None:
        return [*lines, "written        nothing; give --out DIR"]
    return [
        *lines,
        f"written        {out}",
        f"train on       PPOConfig().from_migrated({str(out)!r})",
        f"act            rlconnect rollout {out} --env ID",
    ]
