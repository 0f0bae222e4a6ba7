"""Drawing with torch's global generator without a trace: seeded for the draw, then put back.

The generator is one for the whole process, so that only one thread at a time draws like this.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from .sharing import Turn

_TURN: Final = Turn()


@contextmanager
def drawing(seed: int | None, device: Any = None) -> Iterator[None]:
    """Seed torch's generator inside, and put it back behind.

    Without a seed it draws as it is, and is left changed. `device` is where that is, if it is a
    GPU.

    Example:
        >>> import torch
        >>> before = torch.get_rng_state()
        >>> with drawing(7):
        ...     one = torch.rand(3)
        >>> with drawing(7):
        ...     other = torch.rand(3)
        >>> torch.equal(one, other), torch.equal(before, torch.get_rng_state())
        (True, True)
    """
    if seed is None:
        yield
        return
    import torch

    is_gpu = device is not None and torch.device(device).type == "cuda"
    with _TURN, torch.random.fork_rng([device] if is_gpu else ()):
        torch.manual_seed(seed)
        yield
