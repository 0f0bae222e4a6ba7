"""Adapted observations with new features of the environment beside them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from ..errors import PieceError
from ..formulas.preprocessors import flatten_observations_plan
from .step import Bound, Step, box_between, step


@step("keep_beside")
class KeepBeside(Step):
    """Append features of the observation to the output of other steps, for a network that grew.

    Where the steps give a Box, the features follow on its last axis; behind anything else they are
    the second part of a Tuple.

    Args:
        inner: The steps, in order.
        features: Places of the features: on the last axis of a Box, or in a nested observation as
            FlattenObservations lays it out.

    Example:
        >>> from rlconnect.core.adapters import SelectFeatures
        >>> bound = KeepBeside([SelectFeatures([1, 0])], [2]).bind(spaces.Box(-1, 1, (3,)))
        >>> bound.formula(np.array([[1.0, 2.0, 3.0]], np.float32), *bound.constants)
        array([[2., 1., 3.]], dtype=float32)
    """

    inner: Sequence[Step]
    features: Sequence[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "inner", tuple(self.inner))

    @property
    def is_portable(self) -> bool:  # type: ignore[override]
        """True if all steps inside are."""
        return all(each.is_portable for each in self.inner)

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Bind the steps inside, and look the features up in the observation itself."""
        bounds: list[Bound] = []
        changed: Any = space
        for each in self.inner:
            bounds.append(each.bind(changed))
            changed = bounds[-1].space
        is_flat = isinstance(space, spaces.Box) and bool(space.shape)
        plan = None if is_flat else flatten_observations_plan(space)
        full_space: Any = space if plan is None else plan.output_space
        size = full_space.shape[-1]
        if max(self.features, default=-1) >= size or min(self.features, default=0) < 0:
            raise PieceError(
                f"KeepBeside keeps feature {max(self.features)}",
                expected=f"0 <= feature < {size}",
                found=str(space),
            )
        places = np.array(self.features, np.intp)
        beside_space = box_between(full_space.low[..., places], full_space.high[..., places])
        counts = [len(bound.constants) for bound in bounds]
        parts = [slice(*ends) for ends in pairwise([0, *accumulate(counts)])]
        remembering = [place for place, bound in enumerate(bounds) if bound.memory is not None]
        if len(remembering) > 1:
            raise self.mismatch("one step that remembers", space)
        is_box = isinstance(changed, spaces.Box)
        shape = beside_space.shape[:-1]
        if is_box and changed.shape[:-1] != shape:
            raise self.mismatch(f"steps that keep the shape {shape} of images", changed)

        def formula(value: Any, *rest: Any) -> Any:
            # A step that remembers takes its memory, and which rows are an episode's first.
            at = 2 if remembering else 0
            memory, constants, where = rest[:at], rest[at:-1], rest[-1]
            changed, after = value, None
            for bound, part in zip(bounds, parts, strict=True):
                if bound.memory is None:
                    changed = bound.formula(changed, *constants[part])
                else:
                    changed, after = bound.formula(changed, *memory, *constants[part])
            flat = value if plan is None else plan.transform_batch(value)
            beside = flat[..., where]
            joined = (changed, beside)
            if is_box:
                joined = xp.concatenate([changed, xp.cast_like(beside, changed)], -1)
            return (joined, after) if remembering else joined

        inner_constants = tuple(each for bound in bounds for each in bound.constants)
        out = _wider(changed, beside_space) if is_box else spaces.Tuple([changed, beside_space])
        memory = bounds[remembering[0]].memory if remembering else None
        return Bound(out, formula, (*inner_constants, places), memory)


def _wider(changed: spaces.Box, beside: spaces.Box) -> spaces.Box:
    """A Box with the features of another behind its own, in its own dtype."""
    ends = zip((changed.low, changed.high), (beside.low, beside.high), strict=True)
    return box_between(
        *(np.concatenate([mine, new.astype(changed.dtype)], -1) for mine, new in ends)
    )
