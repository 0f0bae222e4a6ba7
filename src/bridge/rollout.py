"""Let a policy play an environment and keep what it earned."""

from __future__ import annotations

import os
from typing import Any

from .actor.actor import Actor
from .actor.episodes import Played, Progress
from .loading.natives import Source


def rollout(
    policy: Source,
    env: Any,
    *,
    episodes: int = 10,
    seed: int = 0,
    explore: bool = False,
    progress: Progress = None,
    record: str | os.PathLike[str] | None = None,
    video: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Played:
    """Play whole episodes.

    Args:
        policy: A path, what `rlconnect.load` gave, a policy of either stack, or an `Actor`.
        env: An environment, its id or a function that makes one: of gymnasium, a vector of them,
            or of several agents (RLlib's `MultiAgentEnv`, PettingZoo's two kinds).
        episodes: How many.
        seed: Of the first; each next one has the next seed. A vector environment is seeded once.
        explore: Whether to explore.
        progress: Called with how many are done and how many there are.
        record: A folder to keep the episodes in, as RLlib's runners write theirs (Parquet, the
            extra `offline`); `rlconnect.offline.open_dataset` reads it.
        video: A file to film them in, one after the other: `.gif` or `.mp4` (the extra `video`).
            A live environment was made with `render_mode="rgb_array"`; an id is made so here.
        **options: As for `rlconnect.load`, of a path.

    Raises:
        MissingExtraError: Episodes are to be kept or filmed, and what writes them is not installed.
        PieceError: The environment cannot be filmed.
    """
    actor = policy if isinstance(policy, Actor) else Actor.from_policy(policy, **options)
    words: dict[str, Any] = {"progress": progress, "record": record, "video": video}
    return actor.rollout(env, episodes, seed=seed, explore=explore, **words)
