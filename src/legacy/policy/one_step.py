"""One observation through connectors that work on columns: no records in between.

What flows between the library's own connectors need not be a record each, if nobody else sees it.
The connectors are asked in every step, so that an edit of a pipeline counts at once.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..connectors.agent.view_requirement import ViewRequirementAgentConnector
from ..connectors.pipeline import ActionConnectorPipeline, AgentConnectorPipeline
from ..connectors.types import ActionConnectorDataType, PolicyOutputType
from .acting import Acting

if TYPE_CHECKING:
    from .policy import Policy

_COMPUTE = "compute_actions_from_input_dict"


def needs_no_records(policy: Policy, agent: Any, action: Any) -> bool:
    """Whether nobody but connectors that need no records would see those of a step."""
    if type(agent) is not AgentConnectorPipeline or type(action) is not ActionConnectorPipeline:
        return False
    if agent.kept_timers is not None or action.kept_timers is not None:
        return False
    if type(policy).compute_actions_from_input_dict is not Acting.compute_actions_from_input_dict:
        return False
    kinds = (*map(type, agent.connectors),), (*map(type, action.connectors),)
    return _work_on_columns(*kinds) and _COMPUTE not in vars(policy)


@lru_cache(maxsize=256)
def _work_on_columns(agent: tuple[type, ...], action: tuple[type, ...]) -> bool:
    """Whether connectors of these classes, in this order, take columns and give an answer."""
    return (
        bool(agent)
        and _builds_columns(agent[-1])
        and all(getattr(kind, "takes_columns", False) for kind in agent)
        and all(getattr(kind, "works_on_all", False) for kind in action)
    )


def step_columns(
    policy: Policy,
    env_id: Hashable,
    agent_id: Hashable,
    columns: dict[str, Any],
    explore: bool | None,
    timestep: int | None,
) -> PolicyOutputType:
    """What becomes of an agent's columns, where `needs_no_records` holds."""
    agent: Any = policy.agent_connectors
    action: Any = policy.action_connectors
    *connectors, views = agent.connectors
    for connector in connectors:
        if not isinstance(columns, dict):
            raise connector.no_columns(columns)
        columns = connector.transform_columns(env_id, agent_id, columns)
    batch = views.batch_of(env_id, agent_id, columns)
    answer = policy.answer_alone(batch, explore, timestep)
    output = answer
    for formula in action.connectors:
        output = formula.transform_all(output)
    agent.on_policy_output(ActionConnectorDataType(env_id, agent_id, columns, answer))
    return output


def _builds_columns(kind: Any) -> bool:
    """Whether connectors of a class end an agent pipeline in their `batch_of`."""
    views = ViewRequirementAgentConnector
    return issubclass(kind, views) and kind.transform_columns is views.transform_columns
