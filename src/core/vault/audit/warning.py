"""One line for whoever loads a checkpoint that others had better not open."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ...errors import UnsafeContentWarning
from ..records.records import CallRecord


def unsafe_line(calls: Sequence[CallRecord]) -> str:
    """What an ordinary unpickler would run, in one line."""
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    return f"an ordinary unpickler would run {calls[0]}{more}; rlconnect reads it as data"


def warn_of_unsafe(calls: Sequence[CallRecord]) -> None:
    """Warn where an ordinary unpickler would run programs; silent for honest files."""
    if calls:
        warning = UnsafeContentWarning(
            unsafe_line(calls), hint="`inspect --audit` lists all of it."
        )
        warnings.warn(warning, stacklevel=3)
