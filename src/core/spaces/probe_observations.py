"""Observations to compare policies on: recorded, or sampled from a space and its corners."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .. import nest
from ..types import Nest
from .values import corners

_FAR: Final = 1e6
_NEAR: Final = 1e3

Course = list[Nest]
"""The observations of one episode, in order."""


def sampled_courses(
    space: Any, *, count: int, length: int, seed: int, with_corners: bool = True
) -> list[Course]:
    """Random episodes of a space, and one for each of its corners.

    Numbers beyond a million are drawn in to a thousand: spaces whose bounds are those of float32
    would only show that networks overflow. The space's own generator is left as it was.
    """
    seeded = copy.deepcopy(space)
    seeded.seed(seed)
    courses = [[_reachable(seeded.sample()) for _ in range(length)] for _ in range(count)]
    if not with_corners:
        return courses
    return courses + [[_reachable(value)] * length for _, value in corners(space)]


def _reachable(value: Nest) -> Nest:
    def drawn_in(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray) or leaf.dtype.kind != "f":
            return leaf
        return np.where(np.abs(leaf) > _FAR, np.sign(leaf) * _NEAR, leaf).astype(leaf.dtype)

    return nest.map_structure(drawn_in, value)


def recorded_courses(observations: Sequence[Any]) -> list[Course]:
    """Recorded episodes: a list of lists, or else one episode."""
    if len(observations) and isinstance(observations[0], list):
        return [list(course) for course in observations]
    return [list(observations)]
