"""What it takes to reproduce a comparison: files, versions, machine, command."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np

from ...core.vault.files.reading import fingerprint_of
from ...core.version import __version__
from .paired_settings import weights_behind
from .staged import Staged

NOT_TOLD: Final = "not told"
_PACKAGES: Final = ("numpy", "torch", "gymnasium")


@dataclass(frozen=True)
class Side:
    """One of the two that were compared.

    Args:
        name: What it is called.
        path: Where it was loaded from; empty of a live policy.
        checksum: SHA-256 of its files or, of a live policy, of its weights.
    """

    name: str
    path: str = ""
    checksum: str = ""

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Side:
        """A side by its path."""
        return cls(os.fspath(path), os.fspath(path), fingerprint_of(path))

    @classmethod
    def of(cls, source: Any, staged: Staged) -> Side:
        """A side by what was given and what became of it."""
        if isinstance(source, (str, os.PathLike)):
            return replace(cls.at(source), name=staged.name)
        weights = weights_behind(staged)
        return cls(staged.name, "", "" if weights is None else _checksum(weights))


@dataclass(frozen=True)
class Evidence:
    """When, where, by which command and with what a comparison was made.

    Args:
        date: In UTC, to the second.
        host: The machine's name, or "not told".
        seed: Of draws and episodes; None where nothing was drawn.
        command: The command line; empty where it was a call from Python.
        versions: Of Python and of the packages that compute.
        sides: What was compared.
    """

    date: str
    host: str
    seed: int | None
    command: str
    versions: Mapping[str, str]
    sides: tuple[Side, ...] = ()

    @classmethod
    def of_now(
        cls,
        *sides: Side,
        seed: int | None = None,
        command: str = "",
        tell_host: bool = True,
    ) -> Evidence:
        """The evidence of a comparison that is made now, on this machine."""
        date = datetime.now(timezone.utc).isoformat(timespec="seconds")
        host = platform.node() if tell_host else NOT_TOLD
        return cls(date, host, seed, command, dict(_versions()), sides)

    def lines(self) -> list[tuple[str, str]]:
        """What it says and its value, in order."""
        return [
            ("date", self.date),
            ("host", self.host),
            ("seed", "none" if self.seed is None else str(self.seed)),
            ("command", self.command or "a call from Python"),
            ("versions", ", ".join(f"{name} {number}" for name, number in self.versions.items())),
            *((side.path or side.name, _sum_words(side)) for side in self.sides),
        ]


def _sum_words(side: Side) -> str:
    if not side.checksum:
        return "no checksum"
    return f"SHA-256 of its {'files' if side.path else 'weights'} {side.checksum}"


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    versions = [("rlconnect", __version__), ("python", platform.python_version())]
    for name in _PACKAGES:
        try:
            versions.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(versions)


def _checksum(weights: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(weights):
        array = np.ascontiguousarray(weights[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
