"""Pieces of the new stack that tell of earlier actions and rewards, as columns of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ...core import nest
from ...core.step.part import Part
from ...core.step.recall import Column

FLATTENING: Final = ("FlattenObservations", "PreprocessObservations")


def rows_left_open(parts: Sequence[Part]) -> list[str]:
    """Parts with earlier steps whose rows nobody flattens: modules see those one by one."""
    behind = [part.name for part in parts[1:]] + [""]
    pairs = zip(parts, behind, strict=False)
    return [part.name for part, after in pairs if part.looks and after not in FLATTENING]


def merged(columns: Iterable[Column]) -> tuple[list[Column], list[str]]:
    """Columns by name, each as deep as the deepest; names that start in different ways."""
    by_name: dict[str, Column] = {}
    differing: list[str] = []
    for column in columns:
        earlier = by_name.setdefault(column.name, column)
        by_name[column.name] = replace(earlier, depth=max(earlier.depth, column.depth))
        starts = nest.flatten(earlier.initial), nest.flatten(column.initial)
        if not all(np.array_equal(*pair) for pair in zip(*starts, strict=True)):
            differing.append(column.name)
    return list(by_name.values()), differing
