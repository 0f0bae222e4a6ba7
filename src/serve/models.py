"""Policies by name, each with the versions that act: the current one, one on trial, a shadow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from ..core import nest
from ..core.errors import ConfigError
from .errors import ServeError
from .sessions import Session, SessionTable
from .versions import Turn, Version

_SAME: float = 1e-5


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
        canary: What a share of new sessions gets.
        canary_share: That share, from 0 to 1.
        shadow: What acts beside the current one and is only compared.
        differences: What comparing it counted: "rows", and those that "differ".
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
        self.canary: Version | None = None
        self.canary_share = 0.0
        self.shadow: Version | None = None
        self.differences: Counter[str] = Counter()
        self.largest_difference = 0.0
        self._next, self._before = first.number + 1, 0
        self._untried: set[int] = set()
        self._sessions, self._watch = sessions, watch
        if watch is not None:
            watch(first)
        self._shadowed: dict[Any, Session] = {}

    # Whose session gets what.

    def version_for(self, session_id: str | None) -> Version:
        """The version of a new session; the same for the same id."""
        if session_id is None or self.canary is None:
            return self.current
        digest = blake2b(f"{self.name}\0{session_id}".encode(), digest_size=8).digest()
        is_tried = int.from_bytes(digest, "big") / 2.0**64 < self.canary_share
        return self.canary if is_tried else self.current

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

    def try_as_canary(self, version: Version, share: float) -> None:
        """Give it to a share of new sessions."""
        if not 0.0 <= share <= 1.0:
            raise ConfigError("the share of a canary", expected="0 to 1", found=str(share))
        self.canary, self.canary_share = version, share
        self._untried.discard(version.number)

    def follow_as_shadow(self, version: Version | None) -> None:
        """Let it act beside the current one, and count where they differ; None ends that."""
        if self._compare in self.current.observers:
            self.current.observers.remove(self._compare)
        self._forget_shadowed()
        self.shadow = version
        self.differences.clear()
        self.largest_difference = 0.0
        if version is not None:
            self.current.observers.append(self._compare)
            self._untried.discard(version.number)

    def promote(self, version: Version, *, move: bool | None = None) -> dict[str, int]:
        """Give it to all new sessions.

        Args:
            version: What acts from now on.
            move: Whether sessions that run go on with it, where it remembers the same things; by
                default as the model is told. Others keep theirs until they end.

        Returns:
            How many "moved" and how many "stayed".
        """
        self.follow_as_shadow(None)
        self.canary, self.canary_share = None, 0.0
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
        needed |= {version.number for version in (self.canary, self.shadow) if version is not None}
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
        if self.canary is not None:
            facts["canary"] = {"version": self.canary.number, "share": self.canary_share}
        if self.shadow is not None:
            facts["shadow"] = {
                "version": self.shadow.number,
                "rows": self.differences["rows"],
                "differ": self.differences["differ"],
                "failed": self.differences["failed"],
                "largest_difference": self.largest_difference,
            }
        return facts

    # The shadow.

    def _compare(self, turn: Turn) -> None:
        """Let the shadow do what was just done, and count the rows where it does otherwise."""
        shadow = self.shadow
        if shadow is None or turn.steps[0].explore:
            return
        steps, rows, end = [], list[int](), 0
        for step, size in zip(turn.steps, turn.counts, strict=True):
            end += size
            session = step.session and self._mirrored(step.session)
            if step.session is None or session is not None:
                steps.append(replace(step, session=session))
                rows += range(end - size, end)
        if not steps:
            return
        done = shadow.act_now(steps)
        self.differences["failed"] += sum(isinstance(answer, Exception) for answer in done.answers)
        if done.actions is None:
            return
        gaps = [
            np.abs(np.asarray(answer, np.float64)[rows] - np.asarray(other, np.float64))
            for answer, other in zip(
                nest.flatten(turn.actions), nest.flatten(done.actions), strict=True
            )
        ]
        worst = np.max([gap.reshape(len(rows), -1).max(1) for gap in gaps], 0)
        self.differences["rows"] += len(rows)
        self.differences["differ"] += int((worst > _SAME).sum())
        self.largest_difference = max(self.largest_difference, float(worst.max()))

    def _mirrored(self, session: Session) -> Session | None:
        """The shadow's own session for one of the current version's.

        None for one that remembers what the shadow has not seen.
        """
        assert self.shadow is not None
        mirrored = self._shadowed.get(session.key)
        if mirrored is None:
            if self.shadow.remembers and session.steps > 1:
                return None
            if len(self._shadowed) >= 2 * len(self._sessions) + 64:
                self._forget_shadowed(only_over=True)
            mirrored = self._shadowed[session.key] = Session(session.key, self.shadow, session.used)
        return mirrored

    def _forget_shadowed(self, *, only_over: bool = False) -> None:
        live = {session.key for session in self._sessions} if only_over else set()
        over = [key for key in self._shadowed if key not in live]
        for key in over:
            del self._shadowed[key]
        if self.shadow is not None and self.shadow.remembers and over:
            self.shadow.actor.reset(over)


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
