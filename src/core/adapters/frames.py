"""Observations beside those before them: the steps that remember."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from ..errors import PieceError
from .features import positions
from .step import Bound, Step, box_between, step


@step("stack_frames")
class StackFrames(Step):
    """Stack the last `count` observations along the last axis, oldest first.

    For a policy that saw stacked frames in an environment that now gives single ones.

    Args:
        count: How many.
        fill: What stands before an episode's first observation: "first" repeats it, "zero" is
            zeros.
    """

    count: int
    fill: str = "first"

    def __post_init__(self) -> None:
        if self.count < 1 or self.fill not in ("first", "zero"):
            expected = "count >= 1, fill 'first' or 'zero'"
            raise PieceError("StackFrames", expected=expected, found=str(self))

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Remember the observations before the last one."""
        box = self._features(space)
        count, width = self.count, box.shape[-1]
        repeats_first = self.fill == "first"

        def formula(value: Any, memory: Any, is_first: Any) -> Any:
            kinds = xp.namespace(value)
            mask = is_first.reshape((-1,) + (1,) * (value.ndim - 1))
            if repeats_first:
                start = xp.concatenate([value] * (count - 1), -1) if count > 1 else memory
            else:
                start = memory * 0
            stacked = xp.concatenate([kinds.where(mask, start, memory), value], -1)
            return stacked, stacked[..., width:]

        ends = [np.concatenate([end] * count, -1) for end in (box.low, box.high)]
        memory = np.zeros((*box.shape[:-1], width * (count - 1)), box.dtype)
        return Bound(box_between(*ends), formula, (), memory)


@step("add_rates")
class AddRates(Step):
    """Add at the end how fast features change: their difference from the observation before.

    For a policy that saw velocities in an environment that now gives positions alone. At an
    episode's first observation rates are 0.

    Args:
        indices: Positions of the features; negative ones count from the end.
        seconds: The time between two observations, in the unit of the rates.

    Example:
        >>> AddRates([0], seconds=0.02).bind(spaces.Box(-1, 1, (2,))).space.high.tolist()
        [1.0, 1.0, 100.0]
    """

    indices: Sequence[int]
    seconds: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.seconds > 0:
            raise PieceError("AddRates", expected="seconds > 0", found=str(self.seconds))

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Remember the features of the last observation."""
        box = self._features(space)
        if not np.issubdtype(box.dtype, np.floating):
            raise self.mismatch("a Box of floats", space, "place Cast('float32') before it.")
        places = positions(self, self.indices, box.shape[-1])
        seconds = self.seconds

        def formula(value: Any, memory: Any, is_first: Any, places: Any) -> Any:
            last = value[..., places]
            mask = is_first.reshape((-1,) + (1,) * (value.ndim - 1))
            rates = (last - xp.namespace(value).where(mask, last, memory)) / seconds
            return xp.concatenate([value, rates], -1), last

        with np.errstate(over="ignore"):
            span = (box.high - box.low)[..., places] / seconds
        ends = (np.concatenate([box.low, -span], -1), np.concatenate([box.high, span], -1))
        return Bound(box_between(*ends), formula, (places,), np.zeros_like(span))
