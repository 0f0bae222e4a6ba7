"""A policy as a teacher, for layers that know no policies: the front door says who makes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..importing.asked_above import AskedAbove

if TYPE_CHECKING:
    from ..types import Array

TEACHER_INPUTS: Final = "teacher_action_dist_inputs"
"""The column with the inputs of the teacher's distribution of actions."""

TEACHER_VALUES: Final = "teacher_values"
"""The column with what the teacher thinks a step is worth; 0 where it has no values."""


class Teacher(Protocol):
    """Says what it would do where a student is, with a memory for each environment and agent."""

    def answer(
        self,
        module_id: str,
        observations: Any,
        env_ids: Sequence[int],
        *,
        agent_ids: Sequence[Any] | None = None,
        reward: Any = None,
    ) -> dict[str, Array] | None:
        """The teacher's answer as the columns of this file; None if it has none.

        `observations` of environments and, where there are several, agents come as rows of an
        array, or one after the other; `reward` is what the last actions earned.
        """

    def forget(self, env_ids: Sequence[int] | None = None) -> None:
        """Forget environments whose episodes are over; all of them if None."""

    def get_state(self) -> dict[str, Any]:
        """Its memory as plain data."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `get_state`."""


open_teacher: Final[AskedAbove[Teacher]] = AskedAbove("makes a teacher of a policy")
"""A teacher of a path or policy: `open_teacher(source, observation_space=, action_space=)`."""
