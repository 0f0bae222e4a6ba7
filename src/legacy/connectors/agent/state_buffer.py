"""Give the policy back what it answered one step ago."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....core.errors import PieceError
from ....core.step.part import Contribution
from ...batches.step_rows import zero_of
from ..action.immutable import locked
from ..context import ConnectorContext
from ..records import Records
from ..types import ActionConnectorDataType
from .columns import ColumnsAgentConnector


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
        self._answers: dict[tuple[Any, Any], dict[str, Any]] = {}
        self._agents: dict[Any, list[Any]] = {}
        if isinstance(states, Mapping):
            entries = states.get("answers", ())
            for env_id, agent_id, columns in entries:
                self._keep(env_id, agent_id, dict(columns))
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
        _check_ids(output.env_id, output.agent_id)
        actions, states, fetches = output.output
        if not self.carries_actions:
            actions = self._first_columns()["actions"]
        columns = {"actions": actions}
        for number, state in enumerate(states):
            columns[f"state_out_{number}"] = state
        columns.update(fetches)
        self._keep(output.env_id, output.agent_id, columns)

    def transform_all(self, records: Records) -> Records:
        """Add the last answers to the records of all agents."""
        start = self._first_columns()
        answers: list[Any] = list(map(self._answers.get, records.slots))
        if not all(answers):
            if any([None in slot for slot in records.slots]):
                return super().transform_all(records)  # it says whose id is missing
            answers = [answer or start for answer in answers]
        try:
            return records.with_columns(answers)
        except TypeError:
            return super().transform_all(records)

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Add the last answer."""
        _check_ids(env_id, agent_id)
        return {**columns, **(self._answers.get((env_id, agent_id)) or self._first_columns())}

    def part(self) -> Contribution:
        """What it remembers, a plan remembers."""
        states = tuple(name for name in self._start if name.startswith("state_out_"))
        forgets = () if self.carries_actions else ("actions",)
        return Contribution(beside=("actions", *states), forgets=forgets)

    def to_state(self) -> tuple[str, Any]:
        """Its name and the answers, as plain data."""
        answers = [
            [env_id, agent_id, self._answers[env_id, agent_id]]
            for env_id, agents in self._agents.items()
            for agent_id in agents
        ]
        return "StateBufferConnector", {"answers": answers} if answers else None

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> StateBufferConnector:
        """A connector that goes on from `params`, or afresh if Ray pickled them."""
        return StateBufferConnector(ctx, params)

    def _keep(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> None:
        """Let `columns` be the last answer for one agent."""
        slot = (env_id, agent_id)
        if slot not in self._answers:
            self._agents.setdefault(env_id, []).append(agent_id)
        self._answers[slot] = columns

    def _first_columns(self) -> dict[str, Any]:
        """What stands for an answer before there is one."""
        if "actions" not in self._start:
            raise PieceError(
                "StateBufferConnector does not know the action space.",
                hint="give the context an action_space.",
            )
        return self._start


def _check_ids(env_id: Any, agent_id: Any) -> None:
    if env_id is None or agent_id is None:
        raise PieceError(
            "StateBufferConnector needs to know whose record this is",
            expected="env_id and agent_id",
            found=f"env_id={env_id!r}, agent_id={agent_id!r}",
        )
