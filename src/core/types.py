"""The two type aliases every other module speaks: one array, and anything nested around arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""A numpy array of any dtype and shape."""

Nest: TypeAlias = Any
"""Dicts, tuples, named tuples and lists around leaves; one leaf is a nest too, None is a leaf."""

Path: TypeAlias = tuple[str | int, ...]
"""Keys and positions from the root of a nest down to one leaf; the root itself is `()`."""
