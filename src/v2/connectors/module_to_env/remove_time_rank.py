"""Actions of stateful modules without the time axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from typing_extensions import override

from ....core import nest
from ....core.columns import Columns
from ....core.errors import PieceError
from ....core.step.part import moves_numbers
from ....core.types import Array, Nest
from ..batch_items import foreach_batch_item_change_in_place
from ..columnar import ColumnarPiece
from ..piece_plan import Call
from ..stateful_modules import stateful_module
from ..table import NotColumnar, Table

_ONE_STEP: Final = (1,)


class RemoveSingleTsTimeRankFromBatch(ColumnarPiece):
    """Take away the time axis of length 1 that the env-to-module pipeline added, if it did.

    States keep their form.
    """

    TAKES_ROWS = True
    part = moves_numbers

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        if not call.shared_data.get("_added_single_ts_time_rank"):
            return batch

        if type(batch) is Table:
            for module_id, rows in batch.blocks.items():
                if module_id is None or stateful_module(call.rl_module, module_id) is not None:
                    rows.columns = _without_time(rows.columns)
            return batch
        for column in batch:
            if column != Columns.STATE_OUT:
                foreach_batch_item_change_in_place(
                    batch,
                    column,
                    lambda item, eps_id, agent_id, module_id, column=column: (
                        item
                        if module_id is not None
                        and stateful_module(call.rl_module, module_id) is None
                        else nest.map_structure(lambda leaf: _one_step(leaf, column, eps_id), item)
                    ),
                )
        return batch


def _without_time(columns: Mapping[str, Nest]) -> dict[str, Nest]:
    """Rows of one step each as rows; states keep their form."""
    without_time = {}
    for name, column in columns.items():
        if name == Columns.STATE_OUT:
            without_time[name] = column
        elif type(column) is np.ndarray and column.shape[1:2] == _ONE_STEP:
            without_time[name] = column[:, 0]
        else:
            without_time[name] = nest.mapped(_first, column)
    return without_time


def _first(rows: Array) -> Array:
    if rows.ndim < 2 or rows.shape[1] != 1:  # rows and time
        raise NotColumnar("an output has no time axis of length 1")
    return rows[:, 0]


def _one_step(leaf: Any, column: str, eps_id: Any) -> Any:
    if np.ndim(leaf) == 0 or len(leaf) != 1:
        raise PieceError(
            f"an item of column {column!r}, episode {eps_id!r}, is not one step long",
            expected="a time axis of length 1, as env-to-module pipelines add for modules with a "
            "state",
            found=f"shape {np.shape(leaf)}",
            hint=f"keep the time axis of {column!r} in the module's forward pass.",
        )
    return leaf[0]
