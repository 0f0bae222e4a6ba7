"""A slip of RLlib's that recorded behaviour pins: one item is left out of the look-back.

As long as a multi-agent episode has no step of its own (it was just cut), a slice of its actions,
rewards or outputs leaves out the item whose step of the agent equals the number of items there are:
RLlib takes that item for the one that hangs, as it compares a step with a position. Asked for that
very step alone, RLlib fails; here it is found. With the first step the gap is gone.

Nothing else builds on this. Once the recording is corrected (conformance case `cut_with_lookback`
of multi-agent episodes, `get_rewards(slice(-2, None), neg_index_as_lookback=True)`), this file and
its one call can go.
"""

from __future__ import annotations

from ...core import nest
from .lookback_buffer import InfiniteLookbackBuffer


def without_gap(
    column: InfiniteLookbackBuffer, first_step: int, first: int, end: int
) -> InfiniteLookbackBuffer:
    """The column without the item RLlib leaves out, if that is among the ones asked for.

    Args:
        column: Items of an agent, all of them look-back.
        first_step: The agent's own step of the first item.
        first: The position of the first item asked for.
        end: The position behind the last one.
    """
    total = column.len_incl_lookback()
    gap = total - first_step
    if not first <= gap < min(end, total):
        return column
    places = [place for place in range(total) if place != gap]
    data = column.raw
    rows = [data[place] for place in places] if type(data) is list else nest.taken(data, places)
    return InfiniteLookbackBuffer.of_parts(
        rows, column.lookback, column.space, column.finalized, False
    )
