"""Actions of stateful modules without the time axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ....core import nest
from ....core.columns import Columns
from ....core.errors import PieceError
from ..batch_items import foreach_batch_item_change_in_place
from ..common.stateful_modules import stateful_module
from ..connector import ConnectorV2


class RemoveSingleTsTimeRankFromBatch(ConnectorV2):
    """Take away the time axis of length 1 that the env-to-module pipeline added, if it did.

    States keep their form.
    """

    @override
    def __call__(
        self,
        *,
        rl_module: Any,
        batch: dict[str, Any],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        if not (shared_data or {}).get("_added_single_ts_time_rank"):
            return batch

        for column in batch:
            if column != Columns.STATE_OUT:
                foreach_batch_item_change_in_place(
                    batch,
                    column,
                    lambda item, eps_id, agent_id, module_id, column=column: (
                        item
                        if module_id is not None and stateful_module(rl_module, module_id) is None
                        else nest.map_structure(lambda leaf: _one_step(leaf, column, eps_id), item)
                    ),
                )
        return batch


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
