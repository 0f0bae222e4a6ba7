"""The states of numpy's random generators as data that any file format can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...core.errors import CheckpointError
from ...core.tagged import stumbling_is_damage

_KINDS: Final = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def generator_state(generator: np.random.Generator) -> dict[str, Any]:
    """The state of one generator as plain data."""
    return _as_text(generator.bit_generator.state)


def set_generator_state(generator: np.random.Generator, state: Mapping[str, Any]) -> None:
    """Take back what `generator_state` gave.

    Raises:
        CorruptCheckpointError: It gave something else.
    """
    with stumbling_is_damage("the state of a random generator"):
        generator.bit_generator.state = _as_integers(state)


def generator_of(state: Mapping[str, Any]) -> np.random.Generator:
    """A generator of its own that goes on from what `generator_state` gave.

    Raises:
        CheckpointError: It is of a kind that numpy does not have.
    """
    kind = state["bit_generator"]
    if kind not in _KINDS:
        raise CheckpointError(
            f"no random generator of the kind {kind!r}", expected=f"one of {', '.join(_KINDS)}"
        )
    made = np.random.Generator(getattr(np.random, kind)())
    set_generator_state(made, state)
    return made


def _as_text(state: Mapping[str, Any]) -> dict[str, Any]:
    """With its integers, of up to 128 bits, as text: not every file format has such numbers."""
    return {
        key: _as_text(part)
        if isinstance(part, Mapping)
        else (str(part) if isinstance(part, int) else part)
        for key, part in state.items()
    }


def _as_integers(state: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _as_integers(part)
        if isinstance(part, Mapping)
        else (int(part) if isinstance(part, str) and part.isdecimal() else part)
        for key, part in state.items()
    }
