"""The ConnectorV2 stack: every public name of it, flat.

A name is loaded from its module on first use, so importing this package is cheap and loads no
torch. `rlconnect.names` says where each name lives; that is the public surface, and
`__init__.pyi` is made of it: `make stubs`.
"""

from __future__ import annotations

from ..core.importing.lazy_names import lazy_names
from ..names import SHARED, front_tables
from ..names.v2 import V2

_HOME, _KEPT = front_tables(V2, SHARED)

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME, _KEPT)
