"""A time axis for the batches of stateful modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from ....core import nest
from ....core.arrays.batching import BatchedNdArray
from ....core.arrays.padding import create_mask_and_seq_lens, split_and_zero_pad
from ....core.columns import DEFAULT_MODULE_ID, Columns
from ....core.step.part import moves_numbers
from ..batch_items import (
    add_n_batch_items,
    foreach_batch_item_change_in_place,
    single_agent_episode_iterator,
)
from ..columnar import FromEpisodes
from ..item_rows import with_time
from ..piece_plan import Call
from ..stateful_modules import max_seq_len, stateful_module
from ..table import NotColumnar, Table


class AddTimeDimToBatchAndZeroPad(FromEpisodes):
    """Add a time axis to the items of stateful modules; others are unchanged.

    For inference, the axis has length 1. For learners, the steps of each episode are split into
    rows of the module's `max_seq_len`, and the last row is padded with zeros; the columns
    `seq_lens` and `loss_mask` mark the valid steps.

    Args:
        as_learner_connector: Whether the batch is a train batch.
    """

    TAKES_ROWS = True
    part = moves_numbers

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        if not call.has_state() or Columns.STATE_IN in batch:
            return batch
        is_table = type(batch) is Table
        if is_table and (self.as_learner_connector or batch.is_by_module):
            raise NotColumnar("it is set for learners")
        if self.as_learner_connector:
            self._cut_into_rows(call.rl_module, batch, call.shared_data)
            self._add_masks(call.rl_module, batch, call.episodes, call.shared_data)
            return batch
        call.shared_data["_added_single_ts_time_rank"] = True
        if is_table:
            for module_id, rows in batch.blocks.items():
                if stateful_module(call.rl_module, module_id) is not None:
                    timed = {
                        name: nest.mapped(with_time, own) for name, own in rows.columns.items()
                    }
                    rows.columns = timed
            return batch
        for column in batch:
            if column != Columns.INFOS:
                foreach_batch_item_change_in_place(
                    batch,
                    column,
                    lambda item, eps_id, agent_id, module_id: (
                        nest.map_structure(_one_step, item)
                        if stateful_module(call.rl_module, module_id) is not None
                        else item
                    ),
                )
        return batch

    def _cut_into_rows(self, rl_module: Any, batch: dict[str, Any], shared: dict[str, Any]) -> None:
        for column, items in batch.items():
            if column == Columns.INFOS:
                continue
            if not isinstance(items, dict):
                length = max_seq_len(stateful_module(rl_module), self)
                batch[column] = split_and_zero_pad(items, length)
                continue
            for key in items:
                module_id = key[2] if len(key) == 3 else None
                module = stateful_module(rl_module, module_id)
                if module is not None:
                    items[key] = split_and_zero_pad(items[key], max_seq_len(module, self))
                    padded = DEFAULT_MODULE_ID if module_id is None else module_id
                    shared[f"_zero_padded_for_mid={padded}"] = True

    def _add_masks(
        self, rl_module: Any, batch: dict[str, Any], episodes: Sequence[Any], shared: dict[str, Any]
    ) -> None:
        is_masked = shared.get("_added_loss_mask_for_valid_episode_ts")
        for episode in single_agent_episode_iterator(episodes, agents_that_stepped_only=False):
            module = stateful_module(rl_module, episode.module_id)
            if module is None:
                continue
            masks, lens = create_mask_and_seq_lens(len(episode), max_seq_len(module, self))
            add_n_batch_items(batch, Columns.SEQ_LENS, lens, len(lens), episode)
            if not is_masked:
                add_n_batch_items(batch, Columns.LOSS_MASK, masks, len(masks), episode)


def _one_step(leaf: Any) -> Any:
    if isinstance(leaf, BatchedNdArray):
        return BatchedNdArray(np.expand_dims(leaf, axis=1))
    return np.expand_dims(leaf, axis=0)
