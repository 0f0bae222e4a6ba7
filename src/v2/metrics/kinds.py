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
