"""Observations to compare policies on: recorded ones, or drawn from a space with its corners."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from .space_corners import corners
from .types import Nest

Course = list[Nest]
"""The observations of one episode, in order."""


def sampled_courses(
    space: Any, *, count: int, length: int, seed: int, with_corners: bool = True
) -> list[Course]:
    """Random episodes of a space, and one for each of its corners.

    Args:
        space: What a policy sees.
        count: How many random ones.
        length: How many steps each has, so that memories fill.
        seed: Of the draws; the space's own generator is left as it was.
        with_corners: Whether the corners follow.
    """
    own = copy.deepcopy(space)
    own.seed(seed)
    courses = [[own.sample() for _ in range(length)] for _ in range(count)]
    if not with_corners:
        return courses
    return courses + [[value] * length for _, value in corners(space)]


def recorded_courses(observations: Sequence[Any]) -> list[Course]:
    """Episodes as somebody recorded them: a list of episodes, or one episode.

    Args:
        observations: A list of lists is a list of episodes; anything else is one episode.
    """
    if len(observations) and isinstance(observations[0], list):
        return [list(course) for course in observations]
    return [list(observations)]
