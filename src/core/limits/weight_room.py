"""Room for the networks that a file asks for: as much as the weights that lie there need.

Settings are a few bytes and can ask for any network. While one is built in a `WeightRoom`, each
tensor is counted before torch makes it: what goes far beyond the weights is never allocated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from torch.utils._python_dispatch import TorchDispatchMode
from typing_extensions import Self

from ..errors import WeightsError
from .asking import BYTES_BESIDE_WEIGHTS, TENSORS_BESIDE_WEIGHTS, TIMES_THE_WEIGHTS

_PRODUCTS: Final = ("size", "repeats", "n", "m", "steps", "end", "row", "col")
"""What torch's functions call the numbers that say how large a tensor they make."""

_BYTES: Final = 4
"""Of one weight."""


class BeyondWeightsError(WeightsError):
    """A file asks for networks far beyond the weights it holds."""


class WeightRoom(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has no types here
    """Limits the memory of a network built in a `with` block to about that of its weights.

    There are `count` weights, of `size` bytes together. What asks for more is not made, and is told
    with `what` is built and the hint what to do.

    Example:
        >>> import torch
        >>> with WeightRoom(1000, 2, "a layer"):
        ...     torch.zeros(3).shape
        torch.Size([3])
    """

    def __init__(self, size: int, count: int, what: str, hint: str = "") -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self.size = size
        self.what = what
        self.hint = hint
        self.left = TIMES_THE_WEIGHTS * size + BYTES_BESIDE_WEIGHTS
        self.tensors_left = TIMES_THE_WEIGHTS * count + TENSORS_BESIDE_WEIGHTS
        self._depth = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch's question whether to keep its compiler off; yes would import it, for seconds."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Count the memory that a function of torch is about to take."""
        named = kwargs or {}
        places = _places(func)
        if places:
            sizes = [args[at] if at < len(args) else named.get(name) for name, at in places]
            self._take(_shape(places[0][0], sizes))
        return func(*args, **named)

    def _take(self, shape: list[int]) -> None:
        self.left -= _BYTES * math.prod(shape)
        self.tensors_left -= 1
        if self.left < 0 or self.tensors_left < 0:
            raise BeyondWeightsError(
                f"{self.what} is asked to be far larger than its weights",
                expected=f"about the {self.size:,} bytes of weights that are there",
                found=f"a part of shape {tuple(shape)}" if self.left < 0 else "thousands of parts",
                hint=self.hint,
            )

    def __enter__(self) -> Self:
        self._depth += 1
        if self._depth == 1:
            super().__enter__()  # type: ignore[no-untyped-call]  # as above
        return self

    def __exit__(self, *error: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            super().__exit__(*error)  # type: ignore[no-untyped-call]  # as above


@cache
def _places(func: Any) -> tuple[tuple[str, int], ...]:
    """The positions of a function's arguments that say how large its tensor is."""
    schema = func._schema
    if any(result.alias_info is not None for result in schema.returns):
        return ()  # It makes none of its own.
    names = [argument.name for argument in schema.arguments]
    return tuple((name, names.index(name)) for name in _PRODUCTS if name in names)


def _shape(name: str, arguments: list[Any]) -> list[int]:
    sizes: list[int] = []
    for each in arguments:
        dims = each if isinstance(each, (list, tuple)) else [each]
        sizes += [abs(int(size)) for size in dims if size is not None]
    return sizes * 2 if name == "n" and len(sizes) == 1 else sizes
