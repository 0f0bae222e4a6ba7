"""Data as JSON can hold it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

_MOST_BITS: Final = 4096
"""Python refuses to write longer integers out."""


def as_json(value: Any, most_numbers: float = math.inf) -> Any:
    """A value in JSON's own types; anything JSON has no type for becomes text.

    Arrays of more than `most_numbers` become a few words.

    Example:
        >>> as_json({1: (np.float32(0.5), float("inf"))})
        {'1': [0.5, 'inf']}
    """
    if isinstance(value, Mapping):
        return {str(key): as_json(part, most_numbers) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(part, most_numbers) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        if value.size > most_numbers:
            return f"an array {value.shape} of {value.dtype}"
        plain = value.tolist()  # still numpy's where Python has no such number
        return str(plain) if isinstance(plain, np.generic) else as_json(plain)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"an integer of {value.bit_length():,} bits"
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
