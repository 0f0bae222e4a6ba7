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

    Without a seed it draws as it is, and is left changed. `device` is where draws are made: on the
    CPU, generators of GPUs are left alone.

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

    kind = "" if device is None else torch.device(device).type
    with _TURN, torch.random.fork_rng([device] if kind == "cuda" else ()):
        if kind == "cpu":  # `torch.manual_seed` notes the whole stack for each other kind.
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)
        yield
