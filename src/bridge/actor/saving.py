"""An actor as one checkpoint of our own format."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...core.keys import table_of
from ...core.vault.saved_tree import replaced_tree
from ...legacy.export import export_policies
from ...legacy.policy import Policy
from .several import is_several, save_several

METADATA: Final = "metadata.json"
STEPS: Final = "num_env_steps_sampled_lifetime"
"""What RLlib's env runners call their count."""

if TYPE_CHECKING:
    from .actor import Actor


def save_actor(actor: Actor, path: str | os.PathLike[str]) -> None:
    """Save an actor's policies, and who plays whom; see `Actor.save`.

    Policies of the old stack are saved in our own format, a module with its pipelines in the
    layout of the new stack, several of those side by side. What is there already is replaced as a
    whole, unless other files lie beside it. A mapping function does not travel: agents it was asked
    for keep their policy.
    """
    sources = {name: _source(each) for name, each in actor.players.items()}
    policies = {name: each for name, each in sources.items() if isinstance(each, Policy)}
    if len(policies) == len(sources):
        export_policies(policies, path, extra={"actor": actor_data(actor)})
        return
    target = Path(os.path.abspath(path))
    if len(sources) == 1:
        _save_one(*next(iter(sources.items())), target)
        return
    with replaced_tree(target, is_several) as folder:
        save_several(sources, _save_one, actor_data(actor), folder)


def _source(player: Any) -> Any:
    """What a player is made of, as it is now."""
    found: Any = getattr(player, "triple", getattr(player, "policy", None))
    return found if isinstance(found, Policy) else found._replace(timestep=player.timestep)


def _save_one(name: str, source: Any, path: Path) -> None:
    if isinstance(source, Policy):
        export_policies({name: source}, path)
        return
    from ...v2.env_to_module.defaults import env_to_module_pipeline
    from ...v2.module_to_env.defaults import module_to_env_pipeline
    from ..migrate.checkpoint import ENV_TO_MODULE, MODULE, MODULE_TO_ENV

    module = source.module
    spaces = module.observation_space, module.action_space
    parts = {
        ENV_TO_MODULE: source.env_to_module or env_to_module_pipeline(*spaces),
        MODULE: module,
        MODULE_TO_ENV: source.module_to_env or module_to_env_pipeline(*spaces),
    }
    with replaced_tree(path, is_several) as folder:
        for each, part in parts.items():
            part.save_to_path(folder / each)
        text = json.dumps({STEPS: source.timestep})
        (folder / METADATA).write_text(text, encoding="utf-8")


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
    return {agent: str(name) for agent, name in table_of(saved["agents"]).items()}
