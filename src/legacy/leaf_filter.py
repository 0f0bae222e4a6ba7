"""Mean and deviation of one array of an observation, learned and applied."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..core.filters import FrozenFilter
from ..core.running_stat import RunningStat
from ..core.types import Array

_PENDING_LIMIT: Final = 256


class LeafFilter:
    """Mean and deviation of one array of an observation.

    What was learned since the last reset is counted apart (`buffer`), so that several workers can
    be merged; rows wait in a list until somebody asks for it.

    Args:
        shape: Of the array.

    Example:
        >>> leaf = LeafFilter((1,))
        >>> leaf.learn(np.array([2.0]))
        >>> leaf.stat.n, leaf.buffer.n
        (1, 1)
    """

    __slots__ = ("_buffer", "_encoded", "_frozen", "_pending", "_seen", "stat")

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.stat = RunningStat(shape)
        self._buffer = RunningStat(shape)
        self._pending: list[Array] = []
        self._frozen: FrozenFilter | None = None
        self._seen: tuple[Any, Any] = (None, None)
        self._encoded: dict[str, tuple[Any, dict[str, Any]]] = {}

    @property
    def buffer(self) -> RunningStat:
        """What was learned since the last reset."""
        if self._pending:
            self._buffer.push_batch(np.array(self._pending))
            self._pending = []
        return self._buffer

    @buffer.setter
    def buffer(self, stat: RunningStat) -> None:
        self._buffer, self._pending = stat, []

    def encoded(self, name: str) -> dict[str, Any]:
        """The state of `stat` or `buffer` as RLlib writes it, encoded again only if it changed."""
        stat: RunningStat = getattr(self, name)
        total, state = self._encoded.get(name, (None, {}))
        if total is not stat.total:
            state = stat.to_state()
            self._encoded[name] = stat.total, state
        return dict(state)

    def learn(self, x: Array) -> None:
        """Count one array, or every row of one with an axis more."""
        if x.ndim == len(self.stat.shape) + 1:
            self.stat.push_batch(x)
            self.buffer.push_batch(x)
            return
        self.stat.push(x)
        self._pending.append(x.copy())
        if len(self._pending) >= _PENDING_LIMIT:
            self.buffer  # noqa: B018  # counts the waiting rows

    def apply(self, x: Array, demean: bool, destd: bool, clip: float | None) -> Array:
        """`x` filtered by what is known."""
        total, settings = self.stat.total, (demean, destd, clip)
        if self._frozen is None or total is not self._seen[0] or settings != self._seen[1]:
            self._frozen = FrozenFilter.of(total, demean=demean, destd=destd, clip=clip)
            self._seen = total, settings
        return np.asarray(self._frozen(x))
