"""The ConnectorV2 stack: every public name of it, flat.

A name is loaded from its module on first use, so importing this package is cheap and loads no
torch. The table says where each name lives; it is the public surface.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_HOME: Final = {
    # Columns and ids
    "ALL_MODULES": ".columns",
    "Columns": ".columns",
    "DEFAULT_AGENT_ID": ".columns",
    "DEFAULT_MODULE_ID": ".columns",
    "DEFAULT_POLICY_ID": ".columns",
    # What modules promise
    "InferenceOnlyAPI": ".apis",
    "QNetAPI": ".apis",
    "SelfSupervisedLossAPI": ".apis",
    "TARGET_NETWORK_ACTION_DIST_INPUTS": ".apis",
    "TargetNetworkAPI": ".apis",
    "ValueFunctionAPI": ".apis",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
