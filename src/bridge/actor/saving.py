"""Save an actor as one checkpoint in rlconnect's format."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.vault.file_names import COMPONENT_JSON, ENV_TO_MODULE, MODULE, MODULE_TO_ENV
from ...core.vault.saved_tree import replaced_tree
from ...legacy.policy.export import export_policies
from ...legacy.policy.policy import Policy
from ..loading.natives import is_several, save_several, source_of
from ..loading.triples import POLICY, STEPS

if TYPE_CHECKING:
    from .actor import Actor


def save_actor(actor: Actor, path: str | os.PathLike[str]) -> None:
    """Save the policies of an actor and the mapping from agents to them; see `Actor.save`.

    Old-stack policies are saved in rlconnect's format, modules with their pipelines in the layout
    of the new stack, several of them in subfolders. An existing save is replaced as a whole, unless
    the folder contains other files. A mapping function is not saved, but its results for known
    agents are.
    """
    sources = {name: source_of(player) for name, player in actor.players.items()}
    policies = {name: source for name, source in sources.items() if isinstance(source, Policy)}
    if len(policies) == len(sources):
        export_policies(policies, path, extra={"actor": actor_data(actor)})
        return
    target = Path(os.path.abspath(path))
    if len(sources) == 1:
        _save_one(*next(iter(sources.items())), target)
        return
    with replaced_tree(target, is_several) as folder:
        save_several(sources, _save_one, actor_data(actor), folder)


def _save_one(name: str, source: Any, path: Path) -> None:
    if isinstance(source, Policy):
        export_policies({name: source}, path)
        return
    parts = zip((ENV_TO_MODULE, MODULE, MODULE_TO_ENV), source.with_pipelines(), strict=True)
    with replaced_tree(path, is_several) as folder:
        for place, part in parts:
            part.save_to_path(folder / place)
        text = json.dumps({STEPS: source.timestep, POLICY: source.name})
        (folder / COMPONENT_JSON).write_text(text, encoding="utf-8")


def actor_data(actor: Actor) -> dict[str, Any]:
    """Return the properties of an actor besides its policies, as plain data."""
    mapping = actor.casting.mapping
    by_agent = dict(mapping) if isinstance(mapping, Mapping) else dict(actor.casting.known)
    return {
        "agents": [[agent, name] for agent, name in by_agent.items()],
        "autoreset": actor.autoreset,
    }
