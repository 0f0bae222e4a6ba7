"""Each reduction by its name."""

from __future__ import annotations

from typing import Final

from .running import Ema, Item, LifetimeSum
from .series import ItemSeries, Max, Mean, Min, Percentiles, Sum
from .stat import Stat

KINDS: Final[dict[str, type[Stat]]] = {
    cls.kind: cls for cls in (Mean, Ema, Min, Max, Sum, LifetimeSum, Percentiles, Item, ItemSeries)
}
"""Name of a reduction to what does it."""


def kind_of(
    reduce: str | None,
    window: float | None,
    ema_coeff: float | None,
    clear_on_reduce: bool | None,
) -> str:
    """The name of the reduction that these settings of `log_value` ask for."""
    if reduce is None:
        if clear_on_reduce and window is None:
            return "item_series"  # How releases before 2.50 asked for a list.
        return "ema" if window is None else "mean"
    if reduce == "mean" and ema_coeff is not None:
        return "ema"
    if reduce == "sum" and clear_on_reduce is False and window is None:
        return "lifetime_sum"
    return reduce
