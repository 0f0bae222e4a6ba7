"""A step as a CUDA graph: recorded once for a fixed batch, then replayed from static buffers."""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Any

import torch
from torch import Tensor

from ...core.runtime.sharing import Turn
from ...core.step.tensor_step import placed
from .flat_step import FlatStep

_WARM_UPS = 3


class GraphedStep:
    """A flat step recorded on a GPU; a call copies its inputs into place and replays.

    What comes out is overwritten by the next call: states may be given back as they are. That is so
    in the thread that made it; others take turns at a recording of their own, and get copies.
    """

    def __init__(self, step: FlatStep, batch: int, device: str) -> None:
        self._made_of = step, batch, device
        self._owner = get_ident()
        self._turn = Turn()
        self._others: GraphedStep | None = None
        self._given = [placed(port.zeros(batch), device) for port in step.inputs]
        cuda: Any = torch.cuda
        side = cuda.Stream(device)
        side.wait_stream(cuda.current_stream(device))
        with cuda.stream(side), torch.no_grad():
            for _ in range(_WARM_UPS):
                step(*self._given)
        cuda.current_stream(device).wait_stream(side)
        self._graph = cuda.CUDAGraph()
        with cuda.graph(self._graph, capture_error_mode="thread_local"), torch.no_grad():
            self._found = step(*self._given)

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Actions and next states for inputs of the recorded batch."""
        if get_ident() != self._owner:
            with self._turn:
                if self._others is None:
                    self._others = GraphedStep(*self._made_of)
                return tuple(each.clone() for each in self._others._replayed(tensors))
        return self._replayed(tensors)

    def _replayed(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        for place, tensor in zip(self._given, tensors, strict=True):
            place.copy_(tensor, non_blocking=True)
        self._graph.replay()
        outputs: tuple[Tensor, ...] = self._found
        return outputs
