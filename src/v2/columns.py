"""The names of columns and the default ids, as the V2 stack exports them."""

from __future__ import annotations

from ..core.columns import (
    ALL_MODULES,
    DEFAULT_AGENT_ID,
    DEFAULT_MODULE_ID,
    DEFAULT_POLICY_ID,
    Columns,
)

__all__ = [
    "ALL_MODULES",
    "DEFAULT_AGENT_ID",
    "DEFAULT_MODULE_ID",
    "DEFAULT_POLICY_ID",
    "Columns",
]
