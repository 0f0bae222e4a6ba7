"""The last few observations as one: the step that remembers."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from ..errors import PieceError
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
            raise PieceError(
                "StackFrames", expected="count >= 1, fill 'first' or 'zero'", found=str(self)
            )

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
