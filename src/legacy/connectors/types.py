"""Records that are passed through legacy connectors, and the outputs of a policy.

A record contains the ids of an environment and an agent. Agent connectors process a dict of
columns until `ViewRequirementAgentConnector` turns it into an `AgentConnectorsOutput`. Records of
action connectors contain the policy's input batch and its output: actions, states and fetches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ...core.types import Nest

if TYPE_CHECKING:
    from ..batches.sample_batch import SampleBatch

StateBatches: TypeAlias = list[Any]
"""The recurrent states of a policy, one entry a state."""

PolicyOutputType: TypeAlias = tuple[Nest, StateBatches, dict[str, Any]]
"""Output of a policy: actions, states, and everything else it computed (fetches)."""


@dataclass(eq=False, repr=False, slots=True)
class AgentConnectorDataType:
    """Data of one agent of one environment, on its way to the policy.

    Args:
        env_id: Which environment; any hashable value.
        agent_id: Which agent in it; any hashable value.
        data: Columns by name ("new_obs", "rewards", ...), later an `AgentConnectorsOutput`.

    Example:
        >>> AgentConnectorDataType("env_1", "agent_1", {"new_obs": 3})
        AgentConnectorDataType('env_1', 'agent_1', {'new_obs': 3})
    """

    env_id: Any
    agent_id: Any
    data: Any

    def __repr__(self) -> str:
        return f"AgentConnectorDataType({self.env_id!r}, {self.agent_id!r}, {self.data!r})"


@dataclass(eq=False, repr=False, slots=True)
class AgentConnectorsOutput:
    """Output of the agent pipeline: the original columns, and the input batch of the policy.

    Args:
        raw_dict: Every column that arrived, kept for building episodes and for action
            connectors that need more than the policy does (an action mask, say).
        sample_batch: One row, ready for the policy.

    Example:
        >>> AgentConnectorsOutput({"new_obs": 3}, {"obs": [3]}).sample_batch
        {'obs': [3]}
    """

    raw_dict: dict[str, Any]
    sample_batch: SampleBatch

    def __repr__(self) -> str:
        return f"AgentConnectorsOutput({self.raw_dict!r}, {self.sample_batch!r})"


@dataclass(eq=False, repr=False, slots=True)
class ActionConnectorDataType:
    """Output of a policy for one agent, on its way to the environment.

    Args:
        env_id: Which environment.
        agent_id: Which agent in it.
        input_dict: What the policy was asked with; read by connectors that adapt an action to it.
        output: Actions, states and fetches.

    Example:
        >>> ActionConnectorDataType("env_1", "agent_1", {}, (1, [], {})).output
        (1, [], {})
    """

    env_id: Any
    agent_id: Any
    input_dict: Any
    output: Any

    def with_output(self, output: Any) -> ActionConnectorDataType:
        """A record of the same agent with another output; itself where it is the same one."""
        if output is self.output:
            return self
        return ActionConnectorDataType(self.env_id, self.agent_id, self.input_dict, output)

    def __repr__(self) -> str:
        return (
            f"ActionConnectorDataType({self.env_id!r}, {self.agent_id!r}, "
            f"{self.input_dict!r}, {self.output!r})"
        )
