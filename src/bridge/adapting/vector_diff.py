"""What changed between two vectors of features: by their names, or else by their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.adapters import Cast, DropFeatures, InsertFeatures, Scale, SelectFeatures
from ...core.errors import SpaceError
from .changes import Change, listed, rounded

Bounds = tuple[float, float]


def vector_changes(
    old: spaces.Box,
    new: spaces.Box,
    old_names: Sequence[str] | None = None,
    new_names: Sequence[str] | None = None,
) -> list[Change]:
    """The changes from the new vector to the old one in order; names, if given, decide alone.

    Where both have names of features, these decide alone.
    """
    for box, names in ((old, old_names), (new, new_names)):
        if names is not None and (len(names) != box.shape[0] or len(set(names)) < len(names)):
            raise SpaceError(
                "names do not fit the features",
                expected=f"{box.shape[0]} different names",
                found=f"{list(names)}",
            )
    if old_names is not None and new_names is not None:
        changes = _by_name(list(old_names), list(new_names), old)
        order = [new_names.index(name) if name in new_names else -1 for name in old_names]
    else:
        changes, order = _by_bounds(old, new)
    return [*changes, *_scale_change(old, new, order), *_dtype_change(old, new)]


def _by_name(old: list[str], new: list[str], box: spaces.Box) -> list[Change]:
    changes = []
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    common = [name for name in new if name in old]
    old_order = [name for name in old if name in new]
    if added:
        places = [new.index(name) for name in added]
        changes.append(
            Change("added", f"features {listed(added)} are new", DropFeatures(tuple(places)))
        )
    if common != old_order:
        order = [common.index(name) for name in old_order]
        changes.append(
            Change("reordered", "features stand in another order", SelectFeatures(tuple(order)))
        )
    if removed:
        changes.append(_insertion([old.index(name) for name in removed], box, listed(removed)))
    return changes


def _insertion(places: list[int], box: spaces.Box, names: str) -> Change:
    fills = [_middle(box.low[place], box.high[place]) for place in places]
    return Change(
        "removed",
        f"features {names} are gone",
        InsertFeatures(tuple(places), tuple(fills)),
        f"is {listed(fills)} what the policy should see instead? A filter's mean is a good choice.",
    )


def _by_bounds(old: spaces.Box, new: spaces.Box) -> tuple[list[Change], list[int]]:
    """Changes told by bounds alone, and where each old feature is in the new vector."""
    before, after = _bounds(old), _bounds(new)
    size, count = len(before), len(after)
    same = list(range(size))
    if size == count:
        tells_apart = len(set(before)) == size
        if before != after and tells_apart and set(before) == set(after):
            order = [after.index(name) for name in before]
            text = "features stand in another order, as their bounds tell"
            return [Change("reordered", text, SelectFeatures(tuple(order)))], order
        return [], same
    longer, shorter = (after, before) if count > size else (before, after)
    first, last = _subsequence(longer, shorter), _subsequence(longer, shorter, from_end=True)
    is_unique = first is not None and first == last
    places = first if first is not None else list(range(len(shorter)))
    others = [place for place in range(len(longer)) if place not in places]
    doubt = (
        ""
        if is_unique
        else "their bounds do not tell which ones; give old_names and new_names, or the indices."
    )
    if count > size:
        are = "s are" if count - size > 1 else " is"
        text = f"{count - size} feature{are} new, at {listed(others)}"
        return [Change("added", text, DropFeatures(tuple(others)), doubt)], places
    change = _insertion(others, old, f"at {listed(others)}")
    order = [places.index(place) if place in places else -1 for place in range(size)]
    if doubt:
        change = Change(change.kind, change.text, change.step, f"{doubt} {change.question}")
    return [change], order


def _subsequence(
    longer: list[Bounds], shorter: list[Bounds], *, from_end: bool = False
) -> list[int] | None:
    """Where `shorter` stands within `longer`, as early or as late as possible."""
    if from_end:
        reversed_places = _subsequence(longer[::-1], shorter[::-1])
        return (
            None
            if reversed_places is None
            else [len(longer) - 1 - place for place in reversed_places][::-1]
        )
    places: list[int] = []
    start = 0
    for each in shorter:
        try:
            start = longer.index(each, start) + 1
        except ValueError:
            return None
        places.append(start - 1)
    return places


def _scale_change(old: spaces.Box, new: spaces.Box, order: list[int]) -> list[Change]:
    """Features whose bounds are others now: probably other units."""
    shared = [(place, source) for place, source in enumerate(order) if source >= 0]
    ours = [place for place, _ in shared]
    theirs = [source for _, source in shared]
    before = np.stack([old.low[ours], old.high[ours]])
    after = np.stack([new.low[theirs], new.high[theirs]])
    finite = np.isfinite(before).all(0) & np.isfinite(after).all(0) & (before[0] < before[1])
    finite &= after[0] < after[1]
    differs = np.logical_not(np.isclose(before, after).all(0)).reshape(-1)
    if not differs.any():
        return []
    names = listed(place for place, is_other in zip(ours, differs, strict=True) if is_other)
    if not finite[differs].all():
        return [
            Change(
                "rescaled",
                f"features {names} have other bounds, some of them infinite",
                question="did their units change? Then add Scale(factor, offset).",
            )
        ]
    factor, offset = np.ones(len(old.low)), np.zeros(len(old.low))
    changed = np.array(ours)[differs]
    before, after = before[:, differs].astype(float), after[:, differs].astype(float)
    factor[changed] = (before[1] - before[0]) / (after[1] - after[0])
    offset[changed] = before[0] - after[0] * factor[changed]
    return [
        Change(
            "rescaled",
            f"features {names} have other bounds",
            Scale(rounded(factor), rounded(offset)),
            "did their units change with the bounds, so that both ends stand for the same? "
            "If only the limits moved, leave this step out.",
        )
    ]


def _dtype_change(old: spaces.Box, new: spaces.Box) -> list[Change]:
    if old.dtype == new.dtype:
        return []
    return [Change("dtype", f"{old.dtype} became {new.dtype}", Cast(old.dtype.name))]


def _bounds(box: spaces.Box) -> list[Bounds]:
    return list(zip(box.low.tolist(), box.high.tolist(), strict=True))


def _middle(low: Any, high: Any) -> float:
    """A harmless value between two bounds: 0 if it lies there, else the middle."""
    if low <= 0 <= high:
        return 0.0
    ends = [float(end) for end in (low, high) if np.isfinite(end)]
    return sum(ends) / len(ends)
