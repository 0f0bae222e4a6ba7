"""An actor as one checkpoint of our own format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.errors import PieceError
from ...legacy.export import export_policies
from ...legacy.policy import Policy

if TYPE_CHECKING:
    from .actor import Actor


def save_actor(actor: Actor, path: str | os.PathLike[str]) -> None:
    """Save an actor's policies, and who plays whom; see `Actor.save`.

    A mapping function does not travel: agents it was asked for keep their policy.
    """
    policies = {}
    for name, player in actor.players.items():
        policy = getattr(player, "policy", None)
        if not isinstance(policy, Policy):
            raise PieceError(
                f"{name!r} is no policy of the old stack; such actors are made anew each time",
                hint="save its module and pipelines with save_to_path().",
            )
        policies[name] = policy
    export_policies(policies, path, extra={"actor": actor_data(actor)})


def actor_data(actor: Actor) -> dict[str, Any]:
    """What an actor is beside its policies, as plain data."""
    mapping = actor.casting.mapping
    known = dict(mapping) if isinstance(mapping, Mapping) else dict(actor.casting.known)
    return {
        "agents": [[agent, name] for agent, name in known.items()],
        "autoreset": actor.autoreset,
    }


def mapping_of(extra: Mapping[str, Any]) -> dict[Any, str] | None:
    """Who plays whom, from what a checkpoint holds beside its policies."""
    saved = extra.get("actor")
    if not isinstance(saved, Mapping) or not saved.get("agents"):
        return None
    return {agent: str(name) for agent, name in saved["agents"]}
