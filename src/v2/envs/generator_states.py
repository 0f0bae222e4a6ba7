"""The states of numpy's random generators as data that any file format can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.data.random_states import checked_bit_generator


def generator_state(generator: np.random.Generator) -> dict[str, Any]:
    """The state of one generator as plain data."""
    return _as_text(generator.bit_generator.state)


def set_generator_state(generator: np.random.Generator, state: Any) -> None:
    """Take back what `generator_state` gave.

    Raises:
        CorruptCheckpointError: It gave something else.
    """
    kind = type(generator.bit_generator).__name__
    generator.bit_generator.state = checked_bit_generator(state, kind)


def generator_of(state: Any) -> np.random.Generator:
    """A generator of its own that goes on from what `generator_state` gave.

    Raises:
        CorruptCheckpointError: It gave something else, or of a kind that numpy does not have.
    """
    checked = checked_bit_generator(state)
    generator = np.random.Generator(getattr(np.random, checked["bit_generator"])())
    generator.bit_generator.state = checked
    return generator


def _as_text(state: Mapping[str, Any]) -> dict[str, Any]:
    """With its integers, of up to 128 bits, as text: not every file format has such numbers."""
    return {
        key: _as_text(part)
        if isinstance(part, Mapping)
        else (str(part) if isinstance(part, int) else part)
        for key, part in state.items()
    }
