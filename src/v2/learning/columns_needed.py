"""The columns that a loss reads, looked for before it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...core.errors import PieceError


def needed(batch: Mapping[str, Any], columns: Iterable[str], who: str, module_id: str) -> None:
    """Check that columns are there.

    Raises:
        PieceError: One is missing; the message names all that are.
    """
    missing = [column for column in columns if column not in batch]
    if missing:
        raise PieceError(
            f"{who} needs columns that the batch of module {module_id!r} does not have",
            expected=", ".join(map(repr, missing)),
            found=", ".join(map(repr, batch)),
            hint="learner.learner_connector makes them of episodes: a piece is missing there, or "
            "the episodes were sampled without a module.",
        )
