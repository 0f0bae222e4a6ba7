"""Learners in several processes that take each gradient step together.

Each computes losses and gradients of its part of a minibatch. A mean over all rows is the sum of
the parts' means, each weighed by its share of the rows that count; so are its gradients. What is
added up is the same number in every process, so equal weights stay equal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import Tensor

from ...core.columns import Columns
from ...core.errors import RlconnectError
from ..modules.row_part import RowPart
from .minibatches import Batch

Shares = dict[str, float]


class PeerLostError(RlconnectError, RuntimeError):
    """Another learner did not take part in a step."""


class Peers:
    """The place of a learner among others, and the sums it makes with them.

    Args:
        index: Which one it is, from 0.
        count: How many there are.
        address: Where they meet: `file://...` or `tcp://host:port`.
        device: Where its modules are.
        has_own_device: Whether each has a GPU of its own: sums are NCCL's then, else Gloo's.

    Raises:
        PeerLostError: They do not meet.
    """

    def __init__(
        self, index: int, count: int, address: str, device: torch.device, has_own_device: bool
    ) -> None:
        self.index = index
        self.count = count
        self._device = device
        backend = "nccl" if device.type == "cuda" and has_own_device else "gloo"
        with _meeting("the learners do not find each other"):
            dist.init_process_group(backend, init_method=address, rank=index, world_size=count)

    def part(self, rows: int) -> RowPart:
        """Which of so many rows are this learner's."""
        return RowPart.of(rows, self.index, self.count)

    def begin_shares(self, counts: Mapping[str, float]) -> Callable[[], Shares]:
        """Begin to find out the share of each module's rows that this learner has.

        Args:
            counts: How many rows count here, by module; the same modules everywhere.

        Returns:
            What waits for the answer. Where no row counts at all, everyone has an equal share.
        """
        here = torch.tensor([*counts.values()], dtype=torch.float64, device=self._device)
        everywhere = here.clone()
        with _meeting():
            work: Any = dist.all_reduce(everywhere, async_op=True)

        def shares() -> Shares:
            with _meeting():
                work.wait()
            shares = torch.where(everywhere > 0, here / everywhere, 1 / self.count)
            return dict(zip(counts, shares.tolist(), strict=True))

        return shares

    def added(self, numbers: Tensor) -> Tensor:
        """The sum of the tensors that all learners give."""
        total = numbers.clone()
        with _meeting():
            dist.all_reduce(total)
        return total

    def greatest(self, numbers: Tensor) -> Tensor:
        """The largest of what all learners give, number by number."""
        largest = numbers.clone()
        with _meeting():
            dist.all_reduce(largest, dist.ReduceOp.MAX)
        return largest

    def added_gradients(
        self, params: Mapping[Hashable, Tensor], gradients: Mapping[Hashable, Tensor]
    ) -> dict[Hashable, Tensor]:
        """The sums of the gradients that all learners give.

        Args:
            params: All parameters, in the same order everywhere.
            gradients: Those that are there, by parameter.

        Returns:
            Those that are there anywhere.
        """
        in_order = [gradients.get(ref) for ref in params]
        is_there = torch.tensor([float(each is not None) for each in in_order], device=self._device)
        flat = torch.cat(
            [
                is_there,
                *(
                    (torch.zeros_like(param) if each is None else each).reshape(-1)
                    for param, each in zip(params.values(), in_order, strict=True)
                ),
            ]
        )
        with _meeting():
            dist.all_reduce(flat)
        counts, *parts = flat.split_with_sizes(
            [len(in_order), *(each.numel() for each in params.values())]
        )
        return {
            ref: part.view(param.shape).to(param.dtype)
            for (ref, param), part, count in zip(
                params.items(), parts, counts.tolist(), strict=True
            )
            if count
        }


@contextmanager
def _meeting(what: str = "another learner is gone") -> Iterator[None]:
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise PeerLostError(what, found=str(error)) from error


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
