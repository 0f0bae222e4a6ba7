"""Spaces to and from everything a checkpoint may hold them as.

- `space_writer`, `space_reader`: our own plain data, exact in JSON and in msgpack.
- `space_layouts`: the dicts Ray writes and reads, of every version.
- `space_pickles`: the attributes of gym and gymnasium spaces found inside pickles.

All readers build through `space_build`, which trusts nothing.
"""

from __future__ import annotations

from .ray_layouts import (
    gym_space_from_dict,
    gym_space_to_dict,
    space_from_dict,
    space_from_ray,
    space_to_dict,
)
from .ray_pickles import space_from_pickled
from .reader import space_from_data
from .writer import space_to_data

__all__ = [
    "gym_space_from_dict",
    "gym_space_to_dict",
    "space_from_data",
    "space_from_dict",
    "space_from_pickled",
    "space_from_ray",
    "space_to_data",
    "space_to_dict",
]
