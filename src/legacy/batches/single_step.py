"""What a policy is to be asked with at one place of a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...core import array_namespace as xp
from ...core.errors import PieceError
from .batch_columns import map_column

_LAST: Final = "last"


def single_step_columns(
    columns: Mapping[str, Any], view_requirements: Mapping[str, Any], index: str | int
) -> dict[str, Any]:
    """The columns of one step, one row each, with "seq_lens" of 1 where there are states.

    "last" is the place after the last step: there "new_obs" is the observation, and the last step's
    values are the previous ones. The values of any other step are taken as they stand.
    """
    built: dict[str, Any] = {}
    for name, view in view_requirements.items():
        if not view.used_for_compute_actions:
            continue
        source = view.data_col or name
        if index == _LAST and source == "obs" and "new_obs" in columns:
            source = "new_obs"
        if source not in columns:
            raise PieceError(
                f"view {name!r} needs the column {source!r}, which this batch lacks",
                found=f"columns {list(columns)}",
            )
        reach = [0] if len(view.shift_arr) == 1 else _offsets(view.shift_arr, source)
        place = -1 if index == _LAST else int(index)
        rows = _Window(place, np.array(reach))
        built[name] = map_column(rows.of, columns[source])
    if any(name.startswith("state_in_") for name in built):
        built["seq_lens"] = np.array([1], np.int32)
    return built


def _offsets(shifts: Any, source: str) -> list[int]:
    newest = 0 if source in ("obs", "new_obs", "infos") else -1
    return [int(shift) - newest for shift in shifts]


class _Window:
    """Rows at fixed distances from one place; zeros before the first row."""

    def __init__(self, place: int, offsets: Any) -> None:
        self.place, self.offsets = place, offsets

    def of(self, column: Any) -> Any:
        column = column if xp.is_tensor(column) else np.asarray(column)
        rows = len(column)
        places = (self.place + rows if self.place < 0 else self.place) + self.offsets
        if len(places) == 1:
            start = int(places[0])
            return column[start : start + 1]
        values = np.array(xp.to_numpy(column)[np.clip(places, 0, rows - 1)])
        values[(places < 0) | (places >= rows)] = 0
        return values[None]
