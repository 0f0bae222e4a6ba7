"""The names of a worker's sessions, for the one that takes its place should it die."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from ..sessions import Key


class Journal:
    """A file that tells which sessions began and were not ended by their clients.

    A process may die at any time; what it wrote stays. Nothing is flushed: sessions end with the
    machine anyway.

    Attributes:
        lost: The sessions of whoever wrote here before.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        open_sessions: dict[Key, None] = {}
        if os.path.exists(path):
            with open(path, "rb") as file:
                for line in file:
                    try:
                        sign, policy, id_ = json.loads(line)
                    except ValueError:  # it died within a line
                        continue
                    if sign:
                        open_sessions[policy, id_] = None
                    else:
                        open_sessions.pop((policy, id_), None)
        self.lost: Sequence[Key] = [*open_sessions]
        self._lines = 0
        self._file: Any = None
        self.rewrite(self.lost)

    def write(self, sign: int, key: Key) -> None:
        """Note that a session began (1), or that its client ended it (0)."""
        self._lines += 1
        self._file.write(_line(sign, key))

    def is_long(self, count: int) -> bool:
        """Whether it tells much more than so many names."""
        return self._lines > 4 * count + 1000

    def rewrite(self, keys: Iterable[Key]) -> None:
        """Tell of these sessions alone."""
        lines = [_line(1, key) for key in keys]
        beside = f"{self._path}.new"
        with open(beside, "wb") as file:
            file.write(b"".join(lines))
        os.replace(beside, self._path)
        if self._file is not None:
            self._file.close()
        self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115
        self._lines = len(lines)

    def close(self) -> None:
        """Write no more."""
        self._file.close()


def _line(sign: int, key: Key) -> bytes:
    return json.dumps([sign, *key]).encode() + b"\n"
