"""From columns by module back to columns by agent."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from ..columnar import ColumnarPiece
from ..piece_plan import Call
from ..table import NotColumnar, Table


class ModuleToAgentUnmapping(ColumnarPiece):
    """Put the items of all modules together again; their keys say whose they are.

    Example:
        >>> batch = {"p": {"actions": {("e", "a", "p"): [1]}}}
        >>> ModuleToAgentUnmapping()(rl_module=None, batch=batch, episodes=[])
        {'actions': {('e', 'a', 'p'): [1]}}
    """

    TAKES_ROWS = True

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        if type(batch) is Table:
            if not batch.is_by_module:
                raise NotColumnar("the batch is not by module")
            batch.is_by_module = False
            return batch
        by_agent: dict[str, Any] = {}
        for columns in batch.values():
            for column, items in columns.items():
                by_agent.setdefault(column, {}).update(items)
        return by_agent
