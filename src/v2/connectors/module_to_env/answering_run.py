"""From a module's outputs to actions as one step."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from numpy import dtype as dtype_of
from numpy import float32, ndarray
from typing_extensions import override

from ....core.columns import Columns
from ....core.types import Nest
from ..columnar import ColumnarRun, joined_run
from ..common.tensor_to_numpy import NARROW, NARROW_TENSORS, TensorToNumpy
from ..item_rows import DistinctIds
from ..piece_plan import Call
from ..stateful_modules import is_multi
from ..table import NotColumnar, Rows, Table
from .get_actions import GetActions, add_actions
from .listify_data_for_vector_env import ListifyDataForVectorEnv, listed
from .normalize_and_clip_actions import NormalizeAndClipActions
from .remove_time_rank import RemoveSingleTsTimeRankFromBatch
from .unbatch_to_individual_items import UnBatchToIndividualItems

_USUAL: Final = (
    GetActions,
    TensorToNumpy,
    UnBatchToIndividualItems,
    RemoveSingleTsTimeRankFromBatch,
    NormalizeAndClipActions,
    ListifyDataForVectorEnv,
)

_OWN: Final = (Columns.ACTIONS_FOR_ENV,)
"""The columns whose arrays nobody else holds."""

_ONE_STEP: Final = (1,)

_USUAL_DTYPE: Final = dtype_of(float32)


class AnsweringRun(ColumnarRun):
    """Pieces on the way from the module as one step.

    The usual six of a single agent are done at once: right after a forward pass code and data are
    far from the processor, and calling a piece takes longer than what it does.

    Args:
        pieces: In order.
    """

    def __init__(self, pieces: Sequence[Any]) -> None:
        super().__init__(pieces)
        self._is_usual: Final = tuple(map(type, pieces)) == _USUAL
        self._distinct: Final = DistinctIds()

    @override
    def __call__(self, batch: dict[str, Any], call: Call) -> dict[str, Any]:
        """See `Run`."""
        columns = self._all_at_once(batch, call)
        return super().__call__(batch, call) if columns is None else listed(columns, _OWN)

    @override
    def rows(self, batch: dict[Any, Any], call: Call) -> Table | None:
        columns = self._all_at_once(batch, call)
        if columns is None:
            return super().rows(batch, call)
        return Table({None: Rows(call.owners or self._distinct.last, columns)})

    def _all_at_once(self, batch: dict[str, Any], call: Call) -> dict[str, Nest] | None:
        """What all pieces but the last make of the outputs of a single agent's module, as rows.

        Returns:
            None where they have to be called one after the other. They do the same then as before.
        """
        rl_module, shared = call.rl_module, call.shared_data
        kind = type(rl_module)
        if kind is not self._last_kind:
            self._is_multi, self._last_kind = is_multi(rl_module), kind
        if self._is_multi or not self._is_usual:
            return None
        ids = call.owners or shared.get("memorized_map_structure")
        if type(ids) is not list or not ids:
            return None
        if call.owners is None and not self._distinct.hold(ids):
            return None
        add_actions(batch, rl_module, None, call, True)
        count = len(ids)
        columns: dict[str, Any] = {}
        nests: list[Any] = [(columns, batch, shared.get("_added_single_ts_time_rank"))]
        torch = sys.modules.get("torch")
        tensor = None if torch is None else torch.Tensor
        try:
            for made, given, has_time in nests:  # Dicts found on the way come behind.
                for name, value in given.items():
                    kind = type(value)
                    if kind is tensor:
                        array, narrower = value.numpy(), NARROW_TENSORS
                    elif kind is ndarray:
                        array, narrower = value, NARROW
                    elif kind is dict and value and Columns.STATE_OUT not in value:
                        made[name] = {}
                        nests.append((made[name], value, has_time and name != Columns.STATE_OUT))
                        continue
                    else:
                        return None
                    dtype = array.dtype
                    if dtype is not _USUAL_DTYPE and dtype in narrower:
                        array = array.astype(narrower[dtype])
                    if not array.ndim or len(array) != count:
                        return None
                    if has_time and name != Columns.STATE_OUT:
                        if array.shape[1:2] != _ONE_STEP:
                            return None
                        array = array[:, 0]
                    made[name] = array
            self.pieces[4].add_bounded(columns)
        except (NotColumnar, TypeError, RuntimeError):  # A gradient, or a tensor elsewhere, too.
            return None
        return columns


def answering_run(pieces: Sequence[Any]) -> ColumnarRun | None:
    """A run of pieces, one of which turns the form of the batch; others run one by one."""
    return None if joined_run(pieces) is None else AnsweringRun(pieces)
