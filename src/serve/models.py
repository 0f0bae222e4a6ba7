"""Policies by name, each with its versions: the current one, and those with sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import ConfigError
from .errors import ServeError
from .sessions import Session, SessionTable
from .versions import Version


class Model:
    """One name that clients ask for.

    Args:
        name: It.
        first: The version to begin with.
        sessions: All sessions of the server.
        watch: Called with each version before it acts for anybody.
        moves: Whether sessions move to a version that is promoted, where they can.

    Attributes:
        current: What new sessions get.
    """

    def __init__(
        self,
        name: str,
        first: Version,
        sessions: SessionTable,
        watch: Callable[[Version], None] | None = None,
        *,
        moves: bool = False,
    ) -> None:
        self.name, self.moves = name, moves
        self.versions = {first.number: first}
        self.current = first
        self._next, self._before = first.number + 1, 0
        self._untried: set[int] = set()
        self._sessions, self._watch = sessions, watch
        if watch is not None:
            watch(first)

    # Changes while it runs.

    def next_number(self) -> int:
        """A number that no version had before."""
        self._next += 1
        return self._next - 1

    def add(self, version: Version) -> None:
        """Add another version, without using it yet.

        Raises:
            ConfigError: It is for another environment than the current one.
        """
        ours, theirs = self.current.player, version.player
        for kind, space, other in (
            ("observation space", ours.observation_space, theirs.observation_space),
            ("action space", ours.action_space, theirs.action_space),
        ):
            if not _is_same_kind(space, other):
                raise ConfigError(
                    f"version {version.number} of {self.name!r} has another {kind}",
                    expected=str(space)[:200],
                    found=str(other)[:200],
                    hint="adapt it to the environment of those who ask, or serve it by a new name.",
                )
        if version.number in self.versions:
            raise ConfigError(f"policy {self.name!r} has a version {version.number} already")
        self._next = max(self._next, version.number + 1)
        version.try_out()
        if self._watch is not None:
            self._watch(version)
        self.versions[version.number] = version
        self._untried.add(version.number)

    def promote(self, version: Version, *, move: bool | None = None) -> dict[str, int]:
        """Give it to all new sessions.

        Args:
            version: What acts from now on.
            move: Whether sessions that run go on with it, where it remembers the same things; by
                default as the model is told. Others keep theirs until they end.

        Returns:
            How many "moved" and how many "stayed".
        """
        if version is not self.current:
            self.current, self._before = version, self.current.number
        self._untried.discard(version.number)
        mine = [session for session in self._sessions if session.key[0] == self.name]
        for session in mine:
            session.successor = None
        moved = self._move(mine, version) if (self.moves if move is None else move) else {}
        self.collect()
        return moved

    def _move(self, sessions: list[Session], version: Version) -> dict[str, int]:
        """Move sessions to a version: now, or after the request that they are busy with."""
        idle: dict[Version, list[Session]] = {}
        counts = {"moved": 0, "stayed": 0}
        for session in sessions:
            if session.version is version:
                continue
            can_move = session.version.hands_over_to(version)
            counts["moved" if can_move else "stayed"] += 1
            if can_move and session.is_busy:
                session.successor = version
            elif can_move:
                idle.setdefault(session.version, []).append(session)
        for older, ready in idle.items():
            older.hand_over(ready, version)
        return counts

    def drop(self, number: int) -> None:
        """Drop the version of this number, if it is there and unused."""
        version = self.versions.get(number)
        if version is not None and version is not self.current and not version.sessions:
            del self.versions[number]
            self._untried.discard(number)
            version.close()

    def collect(self) -> None:
        """Drop unused versions.

        Kept are the one before the current one, and those that were loaded and not tried yet.
        """
        needed = {self.current.number, self._before, *self._untried}
        for number, version in [*self.versions.items()]:
            if number not in needed and not version.sessions:
                del self.versions[number]
                version.close()

    def numbered(self, number: int) -> Version:
        """The version of this number.

        Raises:
            ServeError: There is none.
        """
        version = self.versions.get(number)
        if version is None:
            raise ServeError(
                404, "no_version", f"policy {self.name!r} has no version {number}",
                hint=f"there are {', '.join(map(str, self.versions))}.",
            )  # fmt: skip
        return version

    def describe(self) -> dict[str, Any]:
        """All of it as plain data."""
        player = self.current.player
        facts: dict[str, Any] = {
            "name": self.name,
            "version": self.current.number,
            "path": self.current.path,
            "observation_space": str(player.observation_space),
            "action_space": str(player.action_space),
            "has_memory": self.current.remembers,
            "needs_reward": self.current.needs_reward,
            "example": self.current.example,
            "versions": [
                {
                    "version": version.number,
                    "path": version.path,
                    "loaded": version.loaded,
                    "sessions": version.sessions,
                    "rows": version.steps,
                    "forward_passes": version.batches,
                }
                for version in self.versions.values()
            ],
        }
        return facts


def _is_same_kind(ours: Any, theirs: Any) -> bool:
    """Whether two spaces hold values of the same form; bounds may differ."""
    if type(ours) is not type(theirs):
        return False
    parts = getattr(ours, "spaces", None)
    if parts is None:
        return bool(
            ours.shape == theirs.shape
            and ours.dtype == theirs.dtype
            and np.array_equal(getattr(ours, "n", 0), getattr(theirs, "n", 0))
            and np.array_equal(getattr(ours, "nvec", 0), getattr(theirs, "nvec", 0))
        )
    others = theirs.spaces
    if hasattr(parts, "items"):
        return parts.keys() == others.keys() and all(
            _is_same_kind(part, others[key]) for key, part in parts.items()
        )
    return len(parts) == len(others) and all(map(_is_same_kind, parts, others))
