"""What changed between two spaces, and the step that would absorb it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.adapters import At, Step
from ...core.nest import path_text
from ...core.types import Path

Space = spaces.Space[Any]


@dataclass(frozen=True)
class Change:
    """One thing that differs, in words, with what to do about it.

    Args:
        kind: "added", "removed", "reordered", "rescaled", "renamed", "nested", "dtype", "image",
            "stacked", "renumbered" or "incomparable".
        text: What differs, for a person.
        step: The step that absorbs it; None where only a person can say.
        question: What a person has to confirm; empty where the spaces leave no doubt.
        path: Where in a nested space, from the outside in.
    """

    kind: str
    text: str
    step: Step | None = None
    question: str = ""
    path: Path = ()

    @property
    def is_sure(self) -> bool:
        """Whether the spaces alone prove the step right."""
        return self.step is not None and not self.question

    def below(self, key: str | int) -> Change:
        """The same change seen from one level further out."""
        step = self.step
        if isinstance(step, At):
            step = At((key, *step.path), step.inner)
        elif step is not None:
            step = At((key,), step)
        return replace(self, step=step, path=(key, *self.path))

    def __str__(self) -> str:
        where = f"at {path_text(self.path, '')}: " if self.path else ""
        lines = [where + self.text]
        if self.step is not None:
            lines.append(f"  -> {self.step}")
        if self.question:
            lines.append(f"  ?  {self.question}")
        return "\n".join(lines)


@dataclass(frozen=True)
class SpaceDiff:
    """All changes between what a policy knows and what an environment has.

    Args:
        old: What the policy knows.
        new: What the environment has.
        changes: In the order in which their steps apply.
    """

    old: Space
    new: Space
    changes: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def is_sure(self) -> bool:
        """Whether every change is absorbed without a person's word."""
        return all(change.is_sure for change in self.changes)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The proposed steps, the doubtful ones too."""
        return tuple(change.step for change in self.changes if change.step is not None)

    @property
    def questions(self) -> tuple[str, ...]:
        """What a person has to confirm or say."""
        return tuple(
            change.question or change.text for change in self.changes if not change.is_sure
        )

    def __str__(self) -> str:
        if not self.changes:
            return "no difference"
        return "\n".join(map(str, self.changes))


def incomparable(old: Space, new: Space, question: str = "") -> Change:
    """The change for two spaces that no rule maps."""
    return Change(
        "incomparable",
        f"{old} became {new}",
        question=question or "say which steps lead from one to the other.",
    )


def rounded(numbers: Any) -> tuple[float, ...]:
    """Numbers without the noise of bounds that were float32."""
    return tuple(float(f"{number:.7g}") for number in np.atleast_1d(numbers).reshape(-1))


def listed(items: Iterable[Any], limit: int = 6) -> str:
    """Some items for a sentence."""
    shown = list(items)
    rest = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(str(item) for item in shown[:limit]) + rest
