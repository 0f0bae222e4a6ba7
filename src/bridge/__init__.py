"""Both stacks in one: wrap, adapt, migrate and prove old policies; every public name, flat.

A name is loaded from its module on first use, so importing this package is cheap.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

from ..core.importing.lazy_names import lazy_names

_HOME: Final = {
    # Adapting a policy to a changed environment
    "Suggestion": ".adapting.adapt",
    "adapt": ".adapting.adapt",
    "suggest_adapter": ".adapting.adapt",
    "Change": ".adapting.changes",
    "SpaceDiff": ".adapting.changes",
    "diff_spaces": ".adapting.space_diff",
    "AdapterChain": "..core.adapters",
    # An old policy as the start of a better one
    "graft": ".graft.graft",
    "Lesson": ".teach.taught",
    "Taught": ".teach.taught",
    "kickstart": ".teach.teach",
    "teach": ".teach.teach",
    # Wrapping what is of one stack for the other
    "LegacyActionConnectorV2": ".wrap.action_connector",
    "LegacyAgentConnectorV2": ".wrap.agent_connector",
    "LegacyMultiPolicyModule": ".wrap.triple",
    "LegacyPolicyModule": ".wrap.policy_module",
    "V2AsLegacyConnector": ".wrap.v2_as_legacy",
    "policy_to_v2": ".wrap.triple",
    "use_policy": ".wrap.triple",
    "ray_aliases": "..compat.ray_aliases:",
    # Acting
    "Actor": ".actor.actor",
    "SlowPieceWarning": ".actor.actor",
    "Program": ".compiled.program",
    "SplitWarning": ".compiled.program",
    "compile_actor": ".compiled.program",
    "export_actor": ".compiled.artifact",
    "Artifact": ".exported.opened",
    "load_artifact": ".exported.opened",
    "Played": ".actor.episodes",
    # Migrating into the new stack
    "MigratedPolicy": ".migrate.checkpoint",
    "MigrationPlan": ".migrate.plan",
    "MigrationStep": ".twins.twin",
    "Refusal": ".twins.twin",
    "Score": ".migrate.scoreboard",
    "load_migrated": ".migrate.checkpoint",
    "load_triple": ".loading.triples",
    "migrate": ".migrate.front_door",
    "native_module": ".twins.native_module",
    "plan_migration": ".migrate.plan",
    "register_twin": ".twins.twin",
    "save_migrated": ".migrate.checkpoint",
    "scoreboard": ".migrate.scoreboard",
    "to_ray": ".migrate.ray_checkpoint",
    # Proving that two policies do the same
    "Verdict": ".proof.verdict",
    "verify": ".proof.verify",
}

__all__ = sorted(_HOME)


class _Package(ModuleType):
    """This package: a function and the file it lies in may have one name, the function counts."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing `.adapt` would otherwise put that module in the place of `adapt()`.
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

__getattr__, __dir__ = lazy_names(__name__, _HOME)
