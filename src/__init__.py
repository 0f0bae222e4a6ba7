"""rlconnect: load, adapt and migrate RLlib policies of any Ray 2.x, without Ray.

The front door. `open_checkpoint(path)` reads any checkpoint RLlib ever wrote into plain records and
runs nothing of it, `load(path)` makes live policies and modules of it, `adapt` fits a policy to an
environment that has changed, `migrate` moves it to the new stack, `verify` proves that two do the
same. The `rlconnect` command does all of it from a terminal.

Importing this package loads neither torch nor Ray: a name is fetched from its module on first use.
Read on in `rlconnect.core.vault` for what a checkpoint holds, `rlconnect.core.errors` for what can
go wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .core.errors import CheckpointError, RlconnectError
from .core.lazy_names import lazy_names
from .core.version import __version__

if TYPE_CHECKING:
    from .bridge.actor.actor import Actor
    from .bridge.adapt import adapt, suggest_adapter
    from .bridge.front.export import export
    from .bridge.front.load import load
    from .bridge.front.loaded_policies import LoadedPolicies
    from .bridge.front.loaded_policy import LoadedPolicy
    from .bridge.migrate.front_door import migrate
    from .bridge.proof.verify import verify
    from .bridge.rollout import rollout
    from .core import adapters
    from .core.trust import trust
    from .core.vault import open_checkpoint
    from .core.vault.audit.files import audit
    from .core.vault.convert import convert

__all__ = [
    "Actor",
    "CheckpointError",
    "LoadedPolicies",
    "LoadedPolicy",
    "RlconnectError",
    "__version__",
    "adapt",
    "adapters",
    "audit",
    "convert",
    "export",
    "load",
    "migrate",
    "open_checkpoint",
    "rollout",
    "suggest_adapter",
    "trust",
    "verify",
]

_LAZY = {
    "Actor": ".bridge.actor.actor",
    "LoadedPolicies": ".bridge.front.loaded_policies",
    "LoadedPolicy": ".bridge.front.loaded_policy",
    "adapt": ".bridge.adapt",
    "adapters": ".core.adapters:",
    "audit": ".core.vault.audit.files",
    "convert": ".core.vault.convert",
    "export": ".bridge.front.export",
    "load": ".bridge.front.load",
    "migrate": ".bridge.migrate.front_door",
    "open_checkpoint": ".core.vault",
    "rollout": ".bridge.rollout",
    "suggest_adapter": ".bridge.adapt",
    "trust": ".core.trust",
    "verify": ".bridge.proof.verify",
}

if not TYPE_CHECKING:  # a type checker should see the names above and no others
    __getattr__, __dir__ = lazy_names(__name__, _LAZY)
