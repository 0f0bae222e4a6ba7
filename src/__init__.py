"""rlconnect: load, adapt and migrate RLlib policies of any Ray 2.x, without Ray.

The front door. `open_checkpoint(path)` reads any checkpoint RLlib ever wrote into plain records and
runs nothing of it; the `rlconnect` command does the same from a terminal.

Importing this package loads neither torch nor Ray: a name is fetched from its module on first use.
Read on in `rlconnect.core.vault` for what a checkpoint holds, `rlconnect.core.errors` for what can
go wrong.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .core.errors import CheckpointError, RlconnectError
from .core.version import __version__

if TYPE_CHECKING:
    from .core.vault import open_checkpoint

__all__ = [
    "CheckpointError",
    "RlconnectError",
    "__version__",
    "open_checkpoint",
]

_LAZY = {
    "open_checkpoint": ".core.vault",
}

if not TYPE_CHECKING:  # a type checker should see the names above and no others

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_LAZY[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
