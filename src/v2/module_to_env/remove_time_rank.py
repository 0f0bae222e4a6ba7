"""Actions of stateful modules without the time axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ...core import nest
from ...core.columns import Columns
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
    ) -> Any:
        if not (shared_data or {}).get("_added_single_ts_time_rank"):
            return batch

        def without_time(item: Any, eps_id: Any, agent_id: Any, module_id: Any) -> Any:
            if module_id is not None and stateful_module(rl_module, module_id) is None:
                return item
            return nest.map_structure(lambda leaf: np.squeeze(leaf, axis=0), item)

        for column in batch:
            if column != Columns.STATE_OUT:
                foreach_batch_item_change_in_place(batch, column, without_time)
        return batch
