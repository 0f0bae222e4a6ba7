"""Rows of a minibatch that several learners share: what each of them adds to losses and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch import Tensor

from ...core.columns import Columns
from .minibatches import Batch
from .peers import Peers

_EXTREMES: Final = {"_max": 1.0, "_min": -1.0}
"""How names end that tell the largest and the smallest of all rows, not a mean."""


class SharedRows:
    """Weighs what one learner has computed of its rows, and adds it up with the others.

    Args:
        peers: The other learners.
    """

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._shares: dict[str, float] = {}

    def begin(self, batch: Batch, mask: Callable[[str, Any], Any]) -> Callable[[], None]:
        """Find out how much of each loss is this learner's; asks the others where rows are masked.

        Args:
            batch: Its part of a minibatch.
            mask: Gives which rows of a module's columns count; None for all.

        Returns:
            What waits for the answer of the others.
        """
        parts: dict[str, Any] = {key: getattr(each, "part", None) for key, each in batch.items()}
        if not any(Columns.LOSS_MASK in columns for columns in batch.values()):
            self._shares = {key: part.share for key, part in parts.items()}
            return lambda: None
        counts: dict[str, float] = {}
        for module_id, columns in batch.items():
            kept = mask(module_id, columns)
            count = len(parts[module_id]) if kept is None else float(kept.sum())
            counts[module_id] = 0.0 if parts[module_id].is_stand_in else count
        shares = self._peers.begin_shares(counts)

        def wait() -> None:
            self._shares = shares()

        return wait

    def weighed(self, module_id: str, loss: Tensor) -> Tensor:
        """A loss by this learner's share of the rows; of all learners they add up to the mean."""
        return loss * self._shares.get(module_id, 1.0)

    def mean(self, module_id: str, means: Tensor) -> Tensor:
        """Means over the rows of all learners, of what are means over the rows here."""
        share = self._shares[module_id]
        return self._peers.added(means.detach() * share if share else torch.zeros_like(means))

    def sums(self, batch: Any) -> Callable[[Tensor], Tensor]:
        """What adds up the sums over a module's rows of all learners."""
        is_stand_in = bool(getattr(batch, "part", None) and batch.part.is_stand_in)
        return lambda here: self._peers.added(torch.zeros_like(here) if is_stand_in else here)

    def numbers(self, values: Mapping[tuple[str, str], Tensor]) -> dict[tuple[str, str], Tensor]:
        """Numbers by module and name, as they are over the rows of all learners."""
        if not values:
            return {}
        here = torch.stack([value.detach().float().reshape(()) for value in values.values()])
        shares = torch.tensor([self._shares[key] for key, _ in values], device=here.device)
        totals = self._peers.added(torch.where(shares > 0, here * shares, 0.0))
        signs = torch.tensor([_EXTREMES.get(name[-4:], 0.0) for _, name in values])
        if signs.any():
            signs = signs.to(here.device)
            extremes = self._peers.greatest(torch.where(shares > 0, here * signs, -torch.inf))
            totals = torch.where(signs != 0, extremes * signs, totals)
        return dict(zip(values, totals, strict=True))
