"""From columns by module back to columns by agent."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from ..connector import ConnectorV2


class ModuleToAgentUnmapping(ConnectorV2):
    """Put the items of all modules together again; their keys say whose they are.

    Example:
        >>> batch = {"p": {"actions": {("e", "a", "p"): [1]}}}
        >>> ModuleToAgentUnmapping()(rl_module=None, batch=batch, episodes=[])
        {'actions': {('e', 'a', 'p'): [1]}}
    """

    @override
    def __call__(self, *, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        by_agent: dict[str, Any] = {}
        for columns in batch.values():
            for column, items in columns.items():
                by_agent.setdefault(column, {}).update(items)
        return by_agent
