"""RLlib's old API stack: connectors, policies and local inference, without Ray.

    from rlconnect.legacy import Policy, local_policy_inference

Names are RLlib's and are fetched on first use, so that importing this package costs nothing.
Read `policy` and `inference` first, then `pipeline`; ARCHITECTURE.md walks one observation through.
"""

from __future__ import annotations

from ..core.importing.lazy_names import lazy_names
from ..names import SHARED, front_tables
from ..names.legacy import LEGACY

_HOME, _KEPT = front_tables(LEGACY, SHARED)

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME, _KEPT)
