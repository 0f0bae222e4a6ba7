"""`rlconnect rollout`: let policies act in an environment and tell what they earn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .environments import Environment
from .options import PATH, Chosen, Explore, Json, Loading
from .printing import print_json, show
from .sources import Source


def rollout(
    path: Annotated[str, PATH],
    environment: Environment,
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="How many.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Of the first episode.")] = 0,
    explore: Explore = False,
    video: Annotated[
        Path | None,
        typer.Option("--video", metavar="FILE", help="Film the episodes: a .gif or an .mp4."),
    ] = None,
    *,
    chosen: Chosen,
    loading: Loading,
    as_json: Json = False,
) -> None:
    """Let a policy, or one for each agent, act in an environment and tell what it earns."""
    from ..bridge.actor.actor import Actor
    from ..bridge.rollout import rollout as play
    from .theme import progress_line

    actor = Actor.from_policy(Source(path, chosen, loading, environment).natives())
    env = environment.make(path, filmed=video is not None)
    with progress_line("playing", shown=not as_json) as advance:
        played = play(
            actor,
            env,
            episodes=episodes,
            seed=seed,
            explore=explore,
            progress=advance,
            video=video,
        )
    if as_json:
        print_json(played.to_dict() | ({} if video is None else {"video": str(video)}))
    else:
        from .rollout_page import rollout_page

        show(rollout_page(path, environment.env or "its own environment", played))
        if video is not None:
            typer.echo(f"wrote {video}")
