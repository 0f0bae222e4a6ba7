"""rlconnect: load, adapt and migrate RLlib policies of any Ray 2.x, without Ray.

The front door. `open_checkpoint(path)` reads any checkpoint RLlib ever wrote into plain records and
runs nothing of it, `load(path)` makes live policies and modules of it, `adapt` fits a policy to an
environment that has changed, `migrate` moves it to the new stack, `verify` proves that two do the
same. The `rlconnect` command does all of it from a terminal. `legacy` and `v2` are RLlib's two
stacks under RLlib's names.

Importing this package loads neither torch nor Ray: a name is fetched from its module on first use.
Read on in `rlconnect.core.vault` for what a checkpoint holds, `rlconnect.core.errors` for what can
go wrong.
"""

from __future__ import annotations

from typing import Any, Final

from .core.data.recorded_data import open_recorded
from .core.data.teachers import open_teacher
from .core.importing.lazy_names import lazy_names

_HOME: Final = {
    "Actor": ".bridge.actor.actor",
    "CheckpointError": ".core.errors",
    "LoadedPolicies": ".bridge.front.load",
    "LoadedPolicy": ".bridge.front.loaded_policy",
    "RlconnectError": ".core.errors",
    "__version__": ".core.version",
    "adapt": ".bridge.adapting.adapt",
    "adapters": ".adapters:",
    "audit": ".core.vault.audit.files",
    "convert": ".core.vault.convert",
    "export": ".bridge.front.export",
    "graft": ".bridge.graft.graft",
    "kickstart": ".bridge.teach.teach",
    "legacy": ".legacy:",
    "limits": ".core.data.budget",
    "load": ".bridge.front.load",
    "migrate": ".bridge.migrate.front_door",
    "open_checkpoint": ".core.vault",
    "push": ".bridge.front.hub",
    "rollout": ".bridge.rollout",
    "suggest_adapter": ".bridge.adapting.adapt",
    "teach": ".bridge.teach.teach",
    "trust": ".core.trust",
    "v2": ".v2:",
    "verify": ".bridge.proof.verify",
}

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)


@open_recorded.answered_by
def _open_recorded(path: Any, **settings: Any) -> Any:
    from .offline import open_dataset

    return open_dataset(path, **settings)


@open_teacher.answered_by
def _open_teacher(source: Any, **settings: Any) -> Any:
    from .bridge.teach.labels import teacher_of

    return teacher_of(source, **settings)
