"""What came of teaching, round by round and in the end: agreement, returns, the student."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete

from ...core.columns import Columns
from ...core.data.teachers import TEACHER_INPUTS
from ...core.types import Array
from ..actor.actor import Actor
from ..actor.episodes import Played
from ..loading.mapping import PolicyMapping
from ..migrate.front_door import migrate
from ..triple import V2Triple

_NEAR: Final = 0.05
"""Numbers of actions agree when they are no further apart, as a share of [-1, 1]."""


@dataclass(frozen=True)
class Lesson:
    """One round: the student played, then learnt from the teacher's answers.

    Args:
        steps: How many steps were played so far.
        agreement: The share of the round's steps in which both had the same best action.
        divergence: How far the distributions were apart after learning.
    """

    steps: int
    agreement: float
    divergence: float


@dataclass(frozen=True)
class Taught:
    """What came of teaching.

    Args:
        student: The taught policy; policies by module id where several agents were taught.
        lessons: Round by round.
        until: The agreement that was asked for.
        student_returns: What it earns, without exploring.
        teacher_returns: What the teacher earns with the same seeds.
        random_returns: What random actions earn.
        remark: What stands between them, if anything does.
        mapping: Which of several policies plays an agent.
    """

    student: V2Triple | dict[str, V2Triple]
    lessons: tuple[Lesson, ...]
    until: float
    student_returns: Played
    teacher_returns: Played
    random_returns: Played
    remark: str = ""
    mapping: PolicyMapping = None

    @property
    def is_reached(self) -> bool:
        """Whether the student agrees as often as was asked for."""
        return is_enough(self.lessons, self.until)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the student as a folder that loads and trains on, like a migrated one.

        Several policies lie side by side, as `Actor.save` writes them.
        """
        save_student(self.student, path, self.mapping)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the student as plain data."""
        returns = (self.student_returns, self.teacher_returns, self.random_returns)
        named = zip(("student", "teacher", "random"), returns, strict=True)
        return {
            "until": self.until,
            "is_reached": self.is_reached,
            "remark": self.remark,
            "lessons": [asdict(lesson) for lesson in self.lessons],
            "returns": {name: played.to_dict() for name, played in named},
        }

    def __str__(self) -> str:
        last = self.lessons[-1]
        verb = "reached" if self.is_reached else "not reached"
        mine, theirs = self.student_returns, self.teacher_returns
        return (
            f"agreement {last.agreement:.1%} after {last.steps:,} steps; {self.until:.0%} {verb}\n"
            f"return of the student {mine.mean:.1f} ± {mine.half_interval:.1f}, "
            f"of the teacher {theirs.mean:.1f} ± {theirs.half_interval:.1f}, "
            f"of random actions {self.random_returns.mean:.1f}"
            + (f"\n{self.remark}" if self.remark else "")
        )


def is_enough(lessons: Sequence[Lesson], until: float) -> bool:
    """Whether the last two rounds reach an agreement: one alone may have had easy states."""
    return all(lesson.agreement >= until for lesson in lessons[-2:])


def save_student(
    student: V2Triple | dict[str, V2Triple],
    path: str | os.PathLike[str],
    mapping: PolicyMapping = None,
) -> None:
    """Write what `Taught.student` is; see `Taught.save`."""
    if isinstance(student, V2Triple):
        migrate(student, path)
    else:
        Actor.from_policy(student, policy_mapping_fn=mapping).save(path)


def agreement(episodes: Sequence[Any]) -> float:
    """The share of steps in which the best actions of student and teacher are the same.

    Args:
        episodes: Of one agent or of several.
    """
    columns = (Columns.ACTION_DIST_INPUTS, TEACHER_INPUTS)
    same = []
    for episode in episodes:
        for one in getattr(episode, "agent_episodes", {None: episode}).values():
            if len(one):
                mine, theirs = (
                    np.asarray(one.get_extra_model_outputs(column)) for column in columns
                )
                same.append(_same_action(mine, theirs, one.action_space))
    return float(np.concatenate(same).mean())


def _same_action(mine: Array, theirs: Array, space: Any) -> Array:
    """Row by row; inputs are choices one behind the other, or means and then deviations."""
    if isinstance(space, Box):
        half = mine.shape[-1] // 2
        apart = np.abs(np.clip(mine[:, :half], -1, 1) - np.clip(theirs[:, :half], -1, 1))
        return np.asarray((apart <= 2 * _NEAR).all(-1))
    sizes = [space.n] if isinstance(space, Discrete) else np.ravel(space.nvec)
    same = np.ones(len(mine), bool)
    for start, stop in pairwise(np.cumsum([0, *sizes])):
        same &= mine[:, start:stop].argmax(-1) == theirs[:, start:stop].argmax(-1)
    return same
