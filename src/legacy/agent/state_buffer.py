"""Give the policy back what it answered one step ago."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core import nest
from ...core.errors import PieceError
from ...core.types import Nest
from ..connector import AgentConnector
from ..context import ConnectorContext
from ..rows import zero_of
from ..types import ActionConnectorDataType, AgentConnectorDataType
from ..views import KNOWN_NOW


class StateBufferConnector(AgentConnector):
    """Add the policy's last answer to each record: actions, "state_out_i" and all fetches.

    Before the first answer of an episode that is zeros for the actions, and the initial states.
    Actions are those the policy gave, before any action connector changed them.

    Ray 2.3 to 2.6 forgot all answers at every step of an evaluation. A policy of theirs that looks
    at no earlier action or state gets the same records here; any other one is better off with
    what it learned to expect, and gets its answers back.

    Args:
        ctx: The context.
        states: Answers by environment and agent, as `to_state` gives them. Bytes that Ray pickled
            are passed over: they hold the state of episodes long gone, and code.

    Attributes:
        carries_actions: False reports zeros for the last action always, as Ray 2.3 to 2.5 do
            (they also forget the rest; see `build`, which decides).

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> connector = StateBufferConnector(ConnectorContext(action_space=Discrete(2)))
        >>> connector.on_policy_output(ActionConnectorDataType("env", "agent", {}, (1, [], {})))
        >>> connector([AgentConnectorDataType("env", "agent", {"new_obs": 3})])[0].data
        {'new_obs': 3, 'actions': 1}
    """

    _forgets: bool = False

    def __init__(self, ctx: ConnectorContext | None = None, states: Any = None) -> None:
        super().__init__(ctx)
        self.carries_actions = True
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
        self._zero_action: Nest = None if ctx.action_space is None else zero_of(ctx.action_space)
        self._forgets = _ray_forgot(ctx)
        self._initial_states = {
            f"state_out_{number}": state for number, state in enumerate(ctx.initial_states)
        }

    def in_eval(self) -> None:
        """Switch to evaluation; where Ray forgot all answers then, so does this."""
        super().in_eval()
        if self._forgets:
            self._answers.clear()

    def reset(self, env_id: Any) -> None:
        """Forget the answers for `env_id`."""
        self._answers.pop(env_id, None)

    def on_policy_output(self, output: ActionConnectorDataType) -> None:
        """Keep what the policy answered for one agent."""
        _check_ids(output)
        actions, states, fetches = output.output
        columns: dict[str, Any] = {"actions": actions}
        for number, state in enumerate(states):
            columns[f"state_out_{number}"] = state
        columns.update(fetches)
        self._answers.setdefault(output.env_id, {})[output.agent_id] = columns

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
            zeros = {"actions": self._zero(), **self._initial_states}
            return AgentConnectorDataType(env_id, agent_id, {**data, **zeros})
        if not self.carries_actions:
            answer = {**answer, "actions": self._zero()}
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

    def _zero(self) -> Nest:
        zero = self._zero_action
        if isinstance(zero, np.ndarray):
            return zero.copy()
        if zero is None:
            raise PieceError(
                "StateBufferConnector does not know the action space.",
                hint="give the context an action_space.",
            )
        return nest.map_structure(np.copy, self._zero_action)


def _ray_forgot(ctx: ConnectorContext) -> bool:
    """Whether Ray forgot the answers of this policy at each step, and nothing misses them."""
    try:
        release = tuple(int(part) for part in ctx.ray_version.split(".")[:2])
    except ValueError:
        return False
    views = (ctx.view_requirements or {}).items()
    is_missed = any(
        view.used_for_compute_actions and (view.data_col or name) not in KNOWN_NOW
        for name, view in views
    )
    return (2, 3) <= release < (2, 7) and not ctx.initial_states and not is_missed


def _check_ids(record: Any) -> None:
    if record.env_id is None or record.agent_id is None:
        raise PieceError(
            "StateBufferConnector needs to know whose record this is",
            expected="env_id and agent_id",
            found=f"env_id={record.env_id!r}, agent_id={record.agent_id!r}",
        )
