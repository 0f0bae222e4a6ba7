"""What could not be read of recorded data, each with its place."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ..core.errors import LimitExceededError, MissingExtraError, RlconnectError

_MOST: Final = 20_000


class DamagedDataWarning(UserWarning):
    """Some of the data could not be read; the rest was."""


class Damage:
    """Collects what one reading stumbles over, and tells of it once at the end.

    Example:
        >>> damage = Damage()
        >>> damage.note("a.json", 3, RlconnectError("this is no JSON"))
        >>> damage.found
        [{'file': 'a.json', 'line': 3, 'why': 'this is no JSON'}]
    """

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def note(self, file: str, line: int | None, error: RlconnectError) -> None:
        """Remember one place and why it cannot be read; most of the data has to be readable."""
        if len(self.found) >= _MOST:
            raise LimitExceededError(
                f"more than {_MOST:,} places of the data cannot be read",
                found=error.summary,
                hint="leave out the files that are damaged.",
            )
        self.found.append({"file": file, "line": line, "why": error.summary})

    @contextmanager
    def passing_over(self, file: str) -> Iterator[None]:
        """Note what cannot be read in a block, and go on behind it; what is not installed stops."""
        try:
            yield
        except MissingExtraError:
            raise
        except RlconnectError as error:
            self.note(file, None, error)

    def warn(self) -> None:
        """Say how much was passed over."""
        if self.found:
            first = self.found[0]
            place = first["file"] + (f", line {first['line']}" if first["line"] else "")
            more = f", and {len(self.found) - 1} more" if len(self.found) > 1 else ""
            warnings.warn(
                f"passed over what cannot be read: {place} ({first['why']}){more}; "
                "info()['damaged'] lists all of it.",
                DamagedDataWarning,
                stacklevel=3,
            )
