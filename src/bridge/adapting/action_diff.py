"""What changed between the actions a policy gives and those an environment takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.adapters import Cast, Discretise, ExtendAction, MapActions, ProjectAction, Scale
from ...core.adapters.step import box_between
from ...core.spaces.walk import same_space
from .changes import Change, incomparable, rounded


def action_changes(old: Any, new: Any) -> list[Change]:
    """The changes from a policy's actions to an environment's, in the order their steps apply."""
    if same_space(old, new):
        return []
    if isinstance(old, spaces.Discrete) and isinstance(new, spaces.Discrete):
        return [_numbers(old, new)]
    if isinstance(new, spaces.MultiDiscrete):
        old_counts = [old.n] if isinstance(old, spaces.Discrete) else getattr(old, "nvec", [])
        added = len(new.nvec) - len(old_counts)
        if len(old_counts) and added > 0 and list(new.nvec[: len(old_counts)]) == list(old_counts):
            question = "are the new numbers the last ones, and is 0 harmless there?"
            text = f"actions gained {added} numbers"
            return [Change("added", text, ExtendAction((0.0,) * added), question)]
    if isinstance(old, spaces.Discrete) and isinstance(new, spaces.Box):
        question = (
            f"which vector stands for each of the {old.n} actions? "
            "Add Undiscretise(vectors) with one for each."
        )
        return [Change("incomparable", "discrete actions became vectors", question=question)]
    if isinstance(old, spaces.Box) and isinstance(new, spaces.Discrete):
        return [_discretised(old, new)]
    if isinstance(old, spaces.Box) and isinstance(new, spaces.Box):
        if len(old.shape) == len(new.shape) == 1:
            return _vectors(old, new)
        if old.shape == new.shape:
            return [*_scaled(old, new), *_cast(old, new)]
    return [incomparable(old, new)]


def _numbers(old: spaces.Discrete, new: spaces.Discrete) -> Change:
    old_size, size = int(old.n), int(new.n)
    start = int(new.start)
    text = f"{old_size} actions became {size}"
    if size < old_size:
        question = f"actions from {start + size} on are gone: what is done instead of each?"
        return Change("renumbered", text, question=f"{question} Add MapActions with your choice.")
    step = MapActions(tuple(range(start, start + old_size)), size, start)
    return Change("renumbered", text, step, "do the old actions still have the first numbers?")


def _vectors(old: spaces.Box, new: spaces.Box) -> list[Change]:
    before, after = old.shape[0], new.shape[0]
    changes = []
    current: Any = old
    if after > before:
        low, high = new.low[before:], new.high[before:]
        fills = tuple(0.0 if lo <= 0 <= hi else float(lo) for lo, hi in zip(low, high, strict=True))
        step = ExtendAction(fills)
        question = f"are the new dimensions the last ones, and is {list(fills)} harmless there?"
        current = step.bind(current).space
        text = f"actions gained {after - before} dimensions"
        changes.append(Change("added", text, step, question))
    elif after < before:
        project = ProjectAction(tuple(range(after)))
        current = project.bind(current).space
        text = f"actions lost {before - after} dimensions"
        changes.append(Change("removed", text, project, "are the last ones those that are gone?"))
    ends = (
        np.concatenate([mine[:before], theirs[before:]]).astype(current.dtype)
        for mine, theirs in ((current.low, new.low), (current.high, new.high))
    )
    shared = box_between(*ends)
    return [*changes, *_scaled(shared, new), *_cast(old, new)]


def _scaled(old: spaces.Box, new: spaces.Box) -> list[Change]:
    ends = np.stack([old.low, old.high, new.low, new.high]).astype(np.float64)
    same = (ends[0] == ends[2]) & (ends[1] == ends[3])
    if same.all():
        return []
    usable = np.isfinite(ends).all(0) & (ends[0] < ends[1])
    if not usable[~same].all():
        question = "some bounds are infinite: add Scale(factor, offset) or Clip(low, high)."
        return [Change("rescaled", "actions have other bounds", question=question)]
    width = np.where(same, 1.0, ends[1] - ends[0])
    factor = np.where(same, 1.0, (ends[3] - ends[2]) / width)
    offset = np.where(same, 0.0, ends[2] - np.where(same, 0.0, ends[0]) * factor)
    question = "do both ends still stand for the same? If only the limits moved, add Clip instead."
    return [
        Change(
            "rescaled",
            "actions have other bounds",
            Scale(_plain(factor), _plain(offset)),
            question,
        )
    ]


def _cast(old: spaces.Box, new: spaces.Box) -> list[Change]:
    if old.dtype == new.dtype:
        return []
    return [Change("dtype", f"{old.dtype} became {new.dtype}", Cast(new.dtype.name))]


def _discretised(old: spaces.Box, new: spaces.Discrete) -> Change:
    text = f"vectors became {new.n} discrete actions"
    if old.shape == (1,) and np.isfinite([old.low[0], old.high[0]]).all():
        points = np.linspace(old.low[0], old.high[0], int(new.n))
        step = Discretise(tuple((float(point),) for point in points), int(new.start))
        return Change("renumbered", text, step, "do the actions rise evenly from low to high?")
    return Change(
        "incomparable",
        text,
        question="which vector does each action stand for? Add Discretise(vectors).",
    )


def _plain(numbers: Any) -> Any:
    """One number where all are alike."""
    several = rounded(numbers)
    return several[0] if len(set(several)) == 1 else several
