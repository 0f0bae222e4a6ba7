"""Recorded data, for layers that lie below its readers: the front door says who opens a path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

from ..importing.asked_above import AskedAbove


class RecordedData(Protocol):
    """Recorded data of one kind; see `rlconnect.offline.Dataset`."""

    @property
    def format(self) -> str:
        """Of which kind it is."""

    @property
    def has_rows(self) -> bool:
        """True if its files have a row for each step."""

    def steps(self, size: int) -> Iterator[dict[str, Any]]:
        """Steps as columns, up to `size` at a time."""

    def episodes(self) -> Iterator[Any]:
        """Every episode once."""


open_recorded: Final[AskedAbove[RecordedData]] = AskedAbove("opens recorded data")
"""The data at a path, as `rlconnect.offline.open_dataset` opens it."""
