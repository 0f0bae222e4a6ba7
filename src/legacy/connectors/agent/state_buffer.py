"""Add the previous states, actions and rewards to the columns of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....core import nest
from ....core.errors import PieceError
from ....core.step.part import Contribution
from ...batches.step_rows import locked, zero_of
from ..context import ConnectorContext
from ..rows import ABSENT, Rows
from ..types import ActionConnectorDataType, PolicyOutputType
from .columns import ColumnsAgentConnector

_NO_ANSWER: Final = (None, None)


class StateBufferConnector(ColumnsAgentConnector):
    """Add the policy's last answer to each record: actions, "state_out_i" and all fetches.

    Before the first answer of an episode that is zeros for the actions, and the initial states.
    Actions are those the policy gave, before any action connector changed them.

    Args:
        ctx: The context.
        states: Answers by environment and agent, as `to_state` gives them. Bytes that Ray pickled
            are passed over: they hold the state of episodes long gone, and code.

    Attributes:
        carries_actions: Whether records get the last actions rather than zeros. Ray 2.3 to 2.5
            forgot them, and the rest, at every step of an evaluation; policies of theirs that
            never look at them are loaded with False (by `build`), to equal Ray's records.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> from rlconnect.legacy import AgentConnectorDataType
        >>> connector = StateBufferConnector(ConnectorContext(action_space=Discrete(2)))
        >>> connector.on_policy_output(ActionConnectorDataType("env", "agent", {}, (1, [], {})))
        >>> connector([AgentConnectorDataType("env", "agent", {"new_obs": 3})])[0].data
        {'new_obs': 3, 'actions': 1}
    """

    def __init__(self, ctx: ConnectorContext | None = None, states: Any = None) -> None:
        super().__init__(ctx)
        self.carries_actions: bool = True
        self._start: dict[str, Any] = {}
        # Columns of answers, and which row of them an agent's is; None of one alone.
        self._answers: dict[tuple[Any, Any], tuple[dict[str, Any], int | None]] = {}
        self._agents: dict[Any, list[Any]] = {}
        if isinstance(states, Mapping):
            entries = states.get("answers", ())
            for env_id, agent_id, columns in entries:
                if (env_id, agent_id) not in self._answers:
                    self._begin(env_id, agent_id)
                self._answers[env_id, agent_id] = dict(columns), None
        if ctx is not None:
            self.bind(ctx)

    def bind(self, ctx: ConnectorContext) -> None:
        """Read the action space and the initial states of `ctx`."""
        super().bind(ctx)
        # One set of arrays for all first steps; read-only, lest one agent changes another's.
        self._start = {
            f"state_out_{number}": state for number, state in enumerate(ctx.initial_states)
        }
        if ctx.action_space is not None:
            self._start = {"actions": locked(zero_of(ctx.action_space)), **self._start}

    def reset(self, env_id: Any) -> None:
        """Forget the answers for `env_id`."""
        for agent_id in self._agents.pop(env_id, ()):
            del self._answers[env_id, agent_id]

    def on_policy_output(self, output: ActionConnectorDataType) -> None:
        """Keep what the policy answered for one agent."""
        slot = output.env_id, output.agent_id
        actions, states, fetches = output.output
        if not self.carries_actions:
            actions = self._first_columns()["actions"]
        if slot not in self._answers:
            self._begin(*slot)
        self._answers[slot] = _columns_of(actions, states, fetches), None

    def hear_all(self, rows: Rows, output: PolicyOutputType) -> None:
        """Keep what the policy answered for all agents."""
        actions, states, fetches = output
        if not self.carries_actions:
            start, count = self._first_columns()["actions"], len(rows)
            actions = nest.map_structure(lambda leaf: np.repeat(leaf[None], count, 0), start)
        columns = _columns_of(actions, states, fetches)
        answers = self._answers
        for row, slot in enumerate(rows.slots):
            if slot not in answers:
                self._begin(*slot)
            answers[slot] = columns, row

    def transform_all(self, rows: Rows) -> None:
        """Add the last answers."""
        answers = list(map(self._answers.get, rows.slots))
        first = answers[0]
        if first is not None and first[1] == 0 and _are_rows_of(first[0], answers):
            rows.update(first[0])
            return
        if any([env_id is None or agent_id is None for env_id, agent_id in rows.slots]):
            for slot in rows.slots:
                _check_ids(*slot)
        start = self._first_columns()
        if not any(answers):
            rows.update({name: [value] * len(answers) for name, value in start.items()})
            return
        columns = [start if answer is None else _own(*answer) for answer in answers]
        names = dict.fromkeys(name for each in columns for name in each)
        rows.update({name: [each.get(name, ABSENT) for each in columns] for name in names})

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Add the last answer."""
        answer, row = self._answers.get((env_id, agent_id), _NO_ANSWER)
        if answer is None:
            _check_ids(env_id, agent_id)
            answer = self._first_columns()
        elif row is not None:
            answer = _own(answer, row)
        return {**columns, **answer}

    def part(self) -> Contribution:
        """Return an empty contribution: a plan stores the previous step itself."""
        states = tuple(name for name in self._start if name.startswith("state_out_"))
        forgets = () if self.carries_actions else ("actions",)
        return Contribution(beside=("actions", *states), forgets=forgets)

    def to_state(self) -> tuple[str, Any]:
        """Its name and the answers, as plain data."""
        answers = [
            [env_id, agent_id, _own(*self._answers[env_id, agent_id])]
            for env_id, agents in self._agents.items()
            for agent_id in agents
        ]
        return "StateBufferConnector", {"answers": answers} if answers else None

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> StateBufferConnector:
        """Restore a connector from `params`; if Ray pickled them, start with an empty buffer."""
        return StateBufferConnector(ctx, params)

    def _begin(self, env_id: Any, agent_id: Any) -> None:
        """Take note of an agent that has no answer yet."""
        _check_ids(env_id, agent_id)
        self._agents.setdefault(env_id, []).append(agent_id)

    def _first_columns(self) -> dict[str, Any]:
        """Return the columns before the first action."""
        if "actions" not in self._start:
            raise self.lacks("action")
        return self._start


def _columns_of(actions: Any, states: Any, fetches: Mapping[str, Any]) -> dict[str, Any]:
    """An answer, or a batch of them, as columns."""
    columns = {"actions": actions}
    for number, state in enumerate(states):
        columns[f"state_out_{number}"] = state
    columns.update(fetches)
    return columns


def _own(columns: dict[str, Any], row: int | None) -> dict[str, Any]:
    """One agent's answer as columns."""
    if row is None:
        return columns
    return {name: nest.taken(column, row) for name, column in columns.items()}


def _are_rows_of(columns: dict[str, Any], answers: Sequence[Any]) -> bool:
    """Whether answers are all rows of some columns, in order."""
    count = len(answers)
    if len(nest.a_leaf(columns["actions"])) != count:
        return False
    return count == 1 or (
        all([answer is not None and answer[0] is columns for answer in answers])
        and [row for _, row in answers] == list(range(count))
    )


def _check_ids(env_id: Any, agent_id: Any) -> None:
    if env_id is None or agent_id is None:
        raise PieceError(
            "StateBufferConnector needs to know whose record this is",
            expected="env_id and agent_id",
            found=f"env_id={env_id!r}, agent_id={agent_id!r}",
        )
