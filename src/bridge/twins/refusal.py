"""Why a piece has no native twin."""

from __future__ import annotations

from dataclasses import dataclass


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
