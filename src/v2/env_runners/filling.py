"""Episodes of single agents get many steps at once, as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...core import nest
from ...core.columns import Columns
from ...core.types import Nest
from ..episodes.column_items import listed, stacked
from ..episodes.lookback_buffer import InfiniteLookbackBuffer
from ..episodes.single_agent import SingleAgentEpisode
from ..episodes.stepping import begin_outputs

_TAKEN: Final = (Columns.OBS, Columns.ACTIONS)


def extend(
    single: SingleAgentEpisode, after: Sequence[Nest], columns: Mapping[str, Nest], is_final: bool
) -> bool:
    """Add steps to an episode that has its first observation.

    Args:
        single: The episode.
        after: The observations after each step, in parts: rows, or lists of items.
        columns: Actions and outputs of each step.
        is_final: Whether nobody adds steps any more: then columns become arrays, if the
            observations are built alike.

    Returns:
        Whether they are, as far as that was looked at.
    """
    outputs, is_alike = single.extra_model_outputs, True
    names = [name for name in columns if name not in _TAKEN]
    if outputs.keys() != {*names}:
        begin_outputs(single, dict.fromkeys(names), single.rewards.len_incl_lookback())
    if is_final:
        try:
            _complete(single.observations, *after)
        except ValueError:
            is_final = is_alike = False
    if not is_final:
        _extend(single.observations, *after)
    add = _complete if is_final else _extend
    add(single.actions, columns[Columns.ACTIONS])
    for name in names:
        add(outputs[name], columns[name])
    return is_alike


def _extend(column: InfiniteLookbackBuffer, *parts: Nest) -> None:
    """Put parts behind the items of a column, as items."""
    for part in parts:
        column.extend(listed(part))


def _complete(column: InfiniteLookbackBuffer, *parts: Nest) -> None:
    """Put parts behind the items of a column, which becomes arrays."""
    before = (column.raw,) if column.len_incl_lookback() else ()
    arrays = [stacked(part) if type(part) is list else part for part in (*before, *parts)]
    column.data = nest.joined(arrays)


def relisted(single: SingleAgentEpisode) -> bool:
    """Let the columns of an episode be lists, as running ones have them; true if any was not."""
    buffers = (single.observations, single.actions, single.rewards, single.infos)
    whole = [each for each in (*buffers, *single.extra_model_outputs.values()) if each.finalized]
    for buffer in whole:
        buffer.data = listed(buffer.raw)
    return bool(whole)
