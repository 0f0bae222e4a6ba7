"""Explain how an environment's spaces differ from those a policy was trained with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.adapters import (
    Cast,
    ConcatKeys,
    Discretise,
    DropKeys,
    ExtendAction,
    Grayscale,
    MapActions,
    MoveChannels,
    NestUnder,
    OneHot,
    PickKey,
    ProjectAction,
    RenameKeys,
    Renumber,
    Rescale,
    ResizeImage,
    Scale,
    SelectFeatures,
    SplitFeatures,
    StackFrames,
    Step,
    UnOneHot,
)
from ...core.adapters.step import box_between
from ...core.spaces.fit import open_ended
from ...core.spaces.walk import flat_dim, same_space
from .changes import Change, Space, SpaceDiff, incomparable, listed, rounded
from .vector_diff import vector_changes


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


_COLOURS = 3


def is_image(space: Any) -> bool:
    """Whether a space looks like pictures: three axes, one of them short at an end."""
    if not isinstance(space, spaces.Box) or len(space.shape) != 3:
        return False
    height, width, depth = space.shape
    return min(height, depth) <= 16 and width > 1


def image_changes(old: spaces.Box, new: spaces.Box) -> list[Change] | None:
    """The changes from new pictures to the old ones in order; None if no steps lead there."""
    changes: list[Change] = []
    current: Any = new

    def add(kind: str, text: str, step: Step, question: str = "") -> None:
        nonlocal current
        changes.append(Change(kind, text, step, question))
        current = step.bind(current).space

    wants_first = _is_channels_first(old)
    if _is_channels_first(new):
        add("image", "channels stand first", MoveChannels("last"))
    target = (*old.shape[1:], old.shape[0]) if wants_first else old.shape
    channels, old_channels = current.shape[2], target[2]
    if channels == _COLOURS and old_channels in (1, 4):
        add("image", "pictures have colours", Grayscale())
        channels = 1
    if current.shape[:2] != target[:2]:
        text = f"pictures have {_size(current.shape)} pixels, the policy knows {_size(target)}"
        add("image", text, ResizeImage(int(target[0]), int(target[1])))
    if channels != old_channels:
        if channels < old_channels and old_channels % channels == 0:
            add(
                "stacked",
                f"one frame where the policy knows {old_channels // channels} stacked ones",
                StackFrames(old_channels // channels),
                "did the old environment stack frames, oldest first? Say fill='zero' if zeros "
                "stood before its first one.",
            )
        elif channels > old_channels and channels % old_channels == 0:
            newest = tuple(range(channels - old_channels, channels))
            add(
                "stacked",
                f"{channels // old_channels} frames where the policy knows one",
                SelectFeatures(newest),
                "is the newest frame the last one?",
            )
        else:
            return None
    _add_scale(old, current, add)
    if current.dtype != old.dtype:
        add("dtype", f"{current.dtype} became {old.dtype}", Cast(old.dtype.name))
    if wants_first:
        add("image", "the policy knows channels first", MoveChannels("first"))
    return changes if current.shape == old.shape and current.dtype == old.dtype else None


def _add_scale(old: spaces.Box, current: Any, add: Any) -> None:
    low, high = float(old.low.min()), float(old.high.max())
    ends = float(current.low.min()), float(current.high.max())
    if ends != (low, high) and np.isfinite([low, high, *ends]).all():
        add(
            "rescaled",
            f"pixels reach from {ends[0]:g} to {ends[1]:g}, the policy knows {low:g} to {high:g}",
            Rescale(low, high),
        )


def _is_channels_first(space: spaces.Box) -> bool:
    first, _, last = space.shape
    return first <= 16 < last and first < last


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} x {shape[1]}"


def diff_spaces(
    old: Space,
    new: Space,
    *,
    kind: str = "observation",
    old_names: Sequence[str] | None = None,
    new_names: Sequence[str] | None = None,
) -> SpaceDiff:
    """Tell what changed from one space to another, and the steps that absorb it.

    Args:
        old: What the policy knows.
        new: What the environment has now.
        kind: "observation": steps lead from the new space to the old. "action": from the old
            to the new.
        old_names: Names of the features of `old`, if it is a vector of observations.
        new_names: Names of the features of `new`.

    Example:
        >>> old, new = spaces.Box(-1, 1, (2,)), spaces.Box(-1, 1, (3,))
        >>> print(diff_spaces(old, new, old_names=["x", "v"], new_names=["x", "wind", "v"]))
        features wind are new
          -> DropFeatures(indices=(1,))
    """
    before, after = open_ended(old), open_ended(new)
    if kind == "action":
        changes = action_changes(before, after)
    else:
        changes = _changes(before, after, old_names, new_names)
    return SpaceDiff(old, new, tuple(changes))


def _changes(
    old: Any,
    new: Any,
    old_names: Sequence[str] | None = None,
    new_names: Sequence[str] | None = None,
) -> list[Change]:
    if same_space(old, new) and (old_names is None or new_names is None or old_names == new_names):
        return []
    if isinstance(new, spaces.Dict):
        return _dict_changes(old, new)
    if isinstance(new, spaces.Tuple) and isinstance(old, spaces.Tuple) and len(old) == len(new):
        return [
            change.below(place)
            for place, (before, after) in enumerate(zip(old, new, strict=True))
            for change in _changes(before, after)
        ]
    if isinstance(old, spaces.Dict):
        return _to_dict(old, new)
    if isinstance(new, spaces.Discrete):
        return _discrete_changes(old, new)
    if isinstance(old, spaces.Discrete) and isinstance(new, spaces.Box):
        if new.shape == (old.n,):
            text = f"one-hot rows where the policy knows numbers below {old.n}"
            return [Change("renumbered", text, UnOneHot(int(old.start)))]
    elif isinstance(old, spaces.Box) and isinstance(new, spaces.Box):
        return _box_changes(old, new, old_names, new_names)
    return [incomparable(old, new)]


def _box_changes(
    old: spaces.Box,
    new: spaces.Box,
    old_names: Sequence[str] | None,
    new_names: Sequence[str] | None,
) -> list[Change]:
    if is_image(old) and is_image(new):
        of_images = image_changes(old, new)
        if of_images is not None:
            return of_images
    if len(old.shape) == len(new.shape) == 1:
        return vector_changes(old, new, old_names, new_names)
    if old.shape != new.shape:
        return [incomparable(old, new)]
    changes = []
    if not (np.array_equal(old.low, new.low) and np.array_equal(old.high, new.high)):
        question = "did the units change? Then add Rescale or Scale."
        changes.append(Change("rescaled", "the bounds are others", question=question))
    if old.dtype != new.dtype:
        text = f"{old.dtype} became {new.dtype}"
        changes.append(Change("dtype", text, Cast(old.dtype.name)))
    return changes


def _discrete_changes(old: Any, new: spaces.Discrete) -> list[Change]:
    size = int(new.n)
    if isinstance(old, spaces.Box) and old.shape == (size,):
        return [Change("renumbered", "numbers where the policy knows one-hot rows", OneHot())]
    if not isinstance(old, spaces.Discrete):
        return [incomparable(old, new)]
    old_size = int(old.n)
    numbers = tuple(min(place, old_size - 1) for place in range(size))
    question = "is the numbering of the common values still the same?"
    if size > old_size:
        question = (
            f"values from {old_size} on are new: as which of the policy's should each count? "
            f"Here all of them count as {old_size - 1}."
        )
    text = f"{old_size} values became {size}"
    return [Change("renumbered", text, Renumber(numbers, old_size), question)]


def _dict_changes(old: Any, new: spaces.Dict) -> list[Change]:
    """From a Dict to another Dict, or to one of its parts, or to a vector of them."""
    if isinstance(old, spaces.Dict):
        return _between_dicts(old, new)
    alike = [key for key, part in new.spaces.items() if same_space(part, old)]
    if len(alike) == 1:
        doubt = "" if len(new.spaces) == 1 else f"is {alike[0]!r} what the policy saw?"
        text = f"the observation lies under {alike[0]!r} now"
        return [Change("nested", text, PickKey((alike[0],)), doubt)]
    boxes = [key for key, part in new.spaces.items() if isinstance(part, spaces.Box)]
    if isinstance(old, spaces.Box) and len(old.shape) == 1 and boxes:
        sizes = {key: flat_dim(new[key]) for key in boxes}
        if sum(sizes.values()) == old.shape[0]:
            step = ConcatKeys(tuple(boxes))
            joined = step.bind(new).space
            rest = [] if same_space(joined, old) else _changes(old, joined)
            text = f"the vector came apart into {listed(boxes)}"
            question = f"was {listed(boxes)} the order of the old features?"
            bounds_tell = same_space(joined, old) and len(
                {*zip(old.low, old.high, strict=True)}
            ) == len(old.low)
            return [Change("nested", text, step, "" if bounds_tell else question), *rest]
    return [incomparable(old, new, "which keys make up the old observation? Try ConcatKeys.")]


def _between_dicts(old: spaces.Dict, new: spaces.Dict) -> list[Change]:
    changes = []
    removed = [key for key in old.spaces if key not in new.spaces]
    extra = [key for key in new.spaces if key not in old.spaces]
    names: dict[str, str] = {}
    doubt = ""
    for key in removed:
        alike = [
            other for other in extra if same_space(new[other], old[key]) and other not in names
        ]
        if not alike:
            question = "fill it by ApplyFunction, or adapt a policy that does without."
            changes.append(Change("removed", f"{key!r} is gone", question=question))
            continue
        names[alike[0]] = key
        if len(alike) > 1:
            doubt = f"{listed(alike)} all fit {key!r}; which one is it?"
    dropped = [key for key in extra if key not in names]
    if dropped:
        step = DropKeys(tuple(dropped))
        changes.append(Change("added", f"{listed(dropped)} are new", step))
    if names:
        renamed = ", ".join(f"{old_name!r} is {key!r} now" for key, old_name in names.items())
        changes.append(Change("renamed", renamed, RenameKeys(names), doubt))
    for key in old.spaces:
        if key in new.spaces:
            changes += [change.below(key) for change in _changes(old[key], new[key])]
    return changes


def _to_dict(old: spaces.Dict, new: Any) -> list[Change]:
    """From a plain observation to the Dict a policy knows."""
    keys = list(old.spaces)
    if len(keys) == 1:
        rest = [change.below(keys[0]) for change in _changes(old[keys[0]], new)]
        text = f"the policy knows the observation under {keys[0]!r}"
        return [Change("nested", text, NestUnder(keys[0])), *rest]
    if isinstance(new, spaces.Box) and len(new.shape) == 1:
        vectors = all(
            isinstance(part, spaces.Box) and len(part.shape) == 1 for part in old.values()
        )
        sizes = {key: flat_dim(part) for key, part in old.spaces.items()}
        if vectors and sum(sizes.values()) == new.shape[0]:
            step = SplitFeatures(sizes)
            cut: Any = step.bind(new).space
            rest = [change.below(key) for key in keys for change in _changes(old[key], cut[key])]
            question = f"do the features stand in the order {listed(keys)}?"
            return [Change("nested", "the parts are one vector now", step, question), *rest]
    return [incomparable(old, new, "which features make up each key? Try SplitFeatures.")]
