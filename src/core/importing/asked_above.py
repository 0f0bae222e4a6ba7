"""Functions that lower layers call in higher ones: the front door registers them.

One opens recorded data, for layers that lie below its readers; one makes a teacher of a policy, for
layers that know no policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..types import Array

Answer = TypeVar("Answer")


class AskedAbove(Generic[Answer]):
    """A function of a higher layer, for those that lie below it.

    `what` says what it does, for an error where nobody does it.

    Example:
        >>> double = AskedAbove("doubles numbers")
        >>> answering = double.answered_by(lambda number: 2 * number)
        >>> double(4)
        8
    """

    def __init__(self, what: str) -> None:
        self.what: Final = what
        self._answers: list[Callable[..., Answer]] = []

    def answered_by(self, function: Callable[..., Answer]) -> Callable[..., Answer]:
        """Say which function answers; also a decorator."""
        self._answers[:] = [function]
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Answer:
        """Ask."""
        if not self._answers:
            raise ConfigError(f"nothing {self.what} here", hint="import rlconnect first.")
        return self._answers[0](*args, **kwargs)


class RecordedData(Protocol):
    """Recorded data of one kind; see `rlconnect.offline.Dataset`."""

    @property
    def format(self) -> str:
        """Of which kind it is."""

    @property
    def has_rows(self) -> bool:
        """True if its files have a row for each step."""

    def steps(self, size: int) -> Iterator[dict[str, Any]]:
        """Steps as columns, up to `size` at a time."""

    def episodes(self) -> Iterator[Any]:
        """Every episode once."""


open_recorded: Final[AskedAbove[RecordedData]] = AskedAbove("opens recorded data")
"""The data at a path, as `rlconnect.offline.open_dataset` opens it."""


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
