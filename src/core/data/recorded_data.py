"""Recorded data, for layers that lie below its readers: the front door says who opens a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..errors import ConfigError


class RecordedData(Protocol):
    """Recorded data of one kind; see `rlconnect.offline.Dataset`."""

    @property
    def format(self) -> str:
        """Of which kind it is."""

    @property
    def has_rows(self) -> bool:
        """Whether its files have a row for each step."""

    def steps(self, size: int) -> Iterator[dict[str, Any]]:
        """Steps as columns, up to so many at a time."""

    def episodes(self) -> Iterator[Any]:
        """Every episode once."""


_openers: list[Callable[..., RecordedData]] = []


def opened_by(opener: Callable[..., RecordedData]) -> Callable[..., RecordedData]:
    """Say who opens a path; also a decorator."""
    _openers[:] = [opener]
    return opener


def open_recorded(path: Any, **settings: Any) -> RecordedData:
    """The data at a path, as `rlconnect.offline.open_dataset` opens it.

    Raises:
        ConfigError: Nobody has said who opens it.
    """
    if not _openers:
        raise ConfigError("nothing opens recorded data here", hint="import rlconnect first.")
    return _openers[0](path, **settings)
