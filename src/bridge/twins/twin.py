"""What becomes of one piece of an old policy in the new stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["native", "gone", "wrapped", "code"]
"""A native piece takes over; nothing has to; the old piece stays, wrapped; so it does, and only
its author can write the native one."""


@dataclass(frozen=True)
class Twin:
    """What becomes of one piece.

    Args:
        kind: See `Kind`.
        reason: Why, for a person.
        text: The native piece with its settings, or what stands there instead.
        make: Builds native pieces for the pipeline it stands in; none where nothing has to.
        learner: Builds native pieces for the front of the learner pipeline.
        snippet: Code to fill in, where a person has to.
    """

    kind: Kind
    reason: str
    text: str = ""
    make: Callable[[], list[Any]] = list
    learner: Callable[[], list[Any]] = list
    snippet: str = ""

    @property
    def is_native(self) -> bool:
        """Whether the old piece can go."""
        return self.kind in ("native", "gone")


def native(text: str, make: Callable[[], list[Any]], reason: str) -> Twin:
    """A piece of V2's takes over."""
    return Twin("native", reason, text, make)


def gone(reason: str, text: str = "-") -> Twin:
    """Nothing has to take over."""
    return Twin("gone", reason, text)


def wrapped(reason: str) -> Twin:
    """The old piece stays, wrapped."""
    return Twin("wrapped", reason, "the old piece, wrapped")


@dataclass(frozen=True)
class Refusal:
    """Why something stays as it is."""

    reason: str

    def __str__(self) -> str:
        return self.reason


class NoTwin(Exception):  # carries a refusal between our own functions only
    """A network has no native twin; only ever seen inside this package."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason)
