"""Spaces to and from everything a checkpoint may hold them as.

- `own_layout`: our own plain data, exact in JSON and in msgpack.
- `ray_layouts`: the dicts Ray writes and reads, of every version.
- `ray_pickles`: the attributes of gym and gymnasium spaces found inside pickles.

All of them make spaces by `schema`, which trusts nothing.
"""

from __future__ import annotations

from .own_layout import space_from_data, space_to_data
from .ray_layouts import (
    gym_space_from_dict,
    gym_space_to_dict,
    space_from_dict,
    space_from_ray,
    space_to_dict,
)
from .ray_pickles import space_from_pickled

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
