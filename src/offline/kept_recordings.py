"""Recordings that were read before, used again as long as their files are the same.

Estimates go through a dataset again and again: by another method, of another policy. What they
look at is small beside the files and the work of decoding them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

import numpy as np

from ..core import nest
from ..core.data.budget import MIB
from .damaged import Damage
from .readers.places import Place
from .recordings import Recordings

_MOST_BYTES: Final = 64 * MIB
_SETTLED: Final = 2 * 10**9
"""Nanoseconds after which a file that is written again surely has another time."""


class KeptRecordings:
    """The last recordings that were read to their end, if they are not too large."""

    def __init__(self, found: list[Place]) -> None:
        self._found = found
        self._held: tuple[Any, list[Recordings], Damage] | None = None

    def again(self, policy: str) -> tuple[list[Recordings], Damage] | None:
        """Those of a policy's agents as they were read, with their damage; None to read them."""
        stored, now = self._held, (policy, self._files())
        if stored is None or stored[0] != now:
            return None
        return [_copied(part) for part in stored[1]], stored[2]

    def kept(self, policy: str, read: Iterator[Recordings], damage: Damage) -> Iterator[Recordings]:
        """What is read, kept when all of it was."""
        self._held, key, size = None, (policy, self._files()), 0
        latest = max((stamp[2] for stamp in key[1]), default=0)
        keeps = 0 < latest < time.time_ns() - _SETTLED
        parts: list[Recordings] = []
        for part in read:
            columns = (part.observations, part.actions, part.rewards, part.outputs)
            size += sum(leaf.nbytes for leaf in nest.flatten(columns))
            keeps = keeps and size <= _MOST_BYTES
            if keeps:
                parts.append(_copied(part))
            else:
                parts.clear()
            yield part
        if keeps and key == (policy, self._files()):
            alike = [list(each) for _, each in groupby(parts, lambda part: part.form)]
            self._held = key, list(map(Recordings.joined, alike)), damage

    def _files(self) -> list[tuple[str, int, int, int]]:
        """What tells files apart; of files that are gone nothing."""
        try:
            stats = [(str(place.path), place.path.stat()) for place in self._found]
        except OSError:
            return []
        return [(path, stat.st_size, stat.st_mtime_ns, stat.st_ino) for path, stat in stats]


def _copied(part: Recordings) -> Recordings:
    """The same with arrays of its own where connectors of a user's get at them."""
    obs, done = nest.map_structure(np.copy, (part.observations, part.actions))
    return replace(part, observations=obs, actions=done)
