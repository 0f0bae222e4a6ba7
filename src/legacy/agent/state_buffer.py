"""Give the policy back what it answered one step ago."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import PieceError
from ..action.immutable import locked
from ..connector import AgentConnector
from ..context import ConnectorContext
from ..rows import zero_of
from ..types import ActionConnectorDataType, AgentConnectorDataType


class StateBufferConnector(AgentConnector):
    """Add the policy's last answer to each record: actions, "state_out_i" and all fetches.

    Before the first answer of an episode that is zeros for the actions, and the initial states.
    Actions are those the policy gave, before any action connector changed them.

    Args:
        ctx: The context.
        states: Answers by environment and agent, as `to_state` gives them. Bytes that Ray pickled
            are passed over: they hold the state of episodes long gone, and code.

    Attributes:
        carries_actions: False reports zeros for the last action always, as Ray 2.3 to 2.5 do
            (they also forget the rest; see `build`, which decides).

    Attributes:
        carries_actions: Whether records get the last actions rather than zeros. Ray 2.3 to 2.5
            forgot them at every step of an evaluation; policies of theirs that never look at
            them are loaded with False, so that their records equal Ray's.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> connector = StateBufferConnector(ConnectorContext(action_space=Discrete(2)))
        >>> connector.on_policy_output(ActionConnectorDataType("env", "agent", {}, (1, [], {})))
        >>> connector([AgentConnectorDataType("env", "agent", {"new_obs": 3})])[0].data
        {'new_obs': 3, 'actions': 1}
    """

    def __init__(self, ctx: ConnectorContext | None = None, states: Any = None) -> None:
        super().__init__(ctx)
        self.carries_actions: bool = True
        self._start: dict[str, Any] = {}
        self._answers: dict[Any, dict[Any, dict[str, Any]]] = {}
        if isinstance(states, Mapping):
            entries = states.get("answers", ())
            for env_id, agent_id, columns in entries:
                self._answers.setdefault(env_id, {})[agent_id] = dict(columns)
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
        self._answers.pop(env_id, None)

    def on_policy_output(self, output: ActionConnectorDataType) -> None:
        """Keep what the policy answered for one agent."""
        _check_ids(output)
        actions, states, fetches = output.output
        columns: dict[str, Any] = {"actions": actions}
        if not self.carries_actions:
            columns["actions"] = self._first_columns()["actions"]
        for number, state in enumerate(states):
            columns[f"state_out_{number}"] = state
        columns.update(fetches)
        self._answers.setdefault(output.env_id, {})[output.agent_id] = columns

    def __call__(self, acd_list: Sequence[AgentConnectorDataType]) -> list[AgentConnectorDataType]:
        """Add the last answers to the records of all agents."""
        records = self.checked_list(acd_list)
        if len(records) == 1:
            return [self.transform(records[0])]
        answers, start = self._answers, self._first_columns()
        nobody: dict[Any, Any] = {}
        new = object.__new__
        made = []
        for record in records:
            env_id, agent_id = record.env_id, record.agent_id
            answer = answers.get(env_id, nobody).get(agent_id)
            if answer is None:
                if env_id is None or agent_id is None:
                    _check_ids(record)
                answer = start
            # As in view_requirement.py: filled in place, without a constructor call.
            built = new(AgentConnectorDataType)
            built.env_id, built.agent_id = env_id, agent_id
            try:
                built.data = {**record.data, **answer}
            except TypeError:
                return [self.transform(each) for each in records]
            made.append(built)
        return made

    def transform(self, ac_data: AgentConnectorDataType) -> AgentConnectorDataType:
        """Add the last answer to the columns of one record."""
        env_id, agent_id, data = ac_data.env_id, ac_data.agent_id, ac_data.data
        if env_id is None or agent_id is None:
            _check_ids(ac_data)
        if not isinstance(data, dict):
            raise PieceError(
                "StateBufferConnector cannot read this record",
                expected="a dict of columns",
                found=type(data).__name__,
            )
        agents = self._answers.get(env_id)
        answer = None if agents is None else agents.get(agent_id)
        if answer is None:
            answer = self._first_columns()
        return AgentConnectorDataType(env_id, agent_id, {**data, **answer})

    def to_state(self) -> tuple[str, Any]:
        """Its name and the answers, as plain data."""
        answers = [
            [env_id, agent_id, columns]
            for env_id, agents in self._answers.items()
            for agent_id, columns in agents.items()
        ]
        return "StateBufferConnector", {"answers": answers} if answers else None

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> StateBufferConnector:
        """A connector that goes on from `params`, or afresh if Ray pickled them."""
        return StateBufferConnector(ctx, params)

    def _first_columns(self) -> dict[str, Any]:
        """What stands for an answer before there is one."""
        if "actions" not in self._start:
            raise PieceError(
                "StateBufferConnector does not know the action space.",
                hint="give the context an action_space.",
            )
        return self._start


def _check_ids(record: Any) -> None:
    if record.env_id is None or record.agent_id is None:
        raise PieceError(
            "StateBufferConnector needs to know whose record this is",
            expected="env_id and agent_id",
            found=f"env_id={record.env_id!r}, agent_id={record.agent_id!r}",
        )
