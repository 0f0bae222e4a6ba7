"""Connectors from plain functions, and pipelines put together, changed and printed.

    python examples/03_edit_the_pipelines.py

RLlib's document has these pieces one by one; here they run in a row.
"""

import numpy as np
from gymnasium.spaces import Box
from rlconnect import legacy

BOX = Box(-1.0, 1.0, (3,), np.float32)
VIEWS = {"obs": legacy.ViewRequirement()}


# An example agent connector that filters the INFOS column out of observation data.
def filter(data):
    del data[legacy.SampleBatch.INFOS]
    return data


FilterInfosColumn = legacy.register_lambda_agent_connector("FilterInfosColumn", filter)
# An example action connector that scales actions output by the policy by a factor of 2. The
# document leaves out the brackets, which makes `states` and `fetches` arguments of the call.
ScaleAction = legacy.register_lambda_action_connector(
    "ScaleAction", lambda actions, states, fetches: (2 * actions, states, fetches)
)

ctx = legacy.ConnectorContext(observation_space=BOX, action_space=BOX, view_requirements=VIEWS)
agents = legacy.AgentConnectorPipeline(
    ctx, [legacy.ClipRewardAgentConnector(sign=True), legacy.ViewRequirementAgentConnector()]
)
# Add an ObsPreprocessorConnector in front of the ViewRequirementAgentConnector.
agents.insert_before("ViewRequirementAgentConnector", legacy.ObsPreprocessorConnector())
agents.prepend(FilterInfosColumn(ctx))
print(agents)
seen = {"new_obs": np.array([0.1, 0.2, 0.3]), "rewards": 7.0, "infos": {"lives": 3}}
(out,) = agents([legacy.AgentConnectorDataType("env_1", "agent_1", seen)])
print("for the policy:", dict(out.data.sample_batch))
raw = out.data.raw_dict
print(f"raw: {', '.join(sorted(raw))}; the reward is {raw['rewards']:g}\n")

pieces = (
    legacy.ConvertToNumpyConnector,
    legacy.ClipActionsConnector,
    legacy.ImmutableActionsConnector,
)
actions = legacy.ActionConnectorPipeline(ctx, [piece() for piece in pieces])
actions.remove("ImmutableActionsConnector")
actions.insert_before(legacy.ClipActionsConnector, ScaleAction(ctx))
print(actions)
answer = (np.array([0.3, -0.4, 0.9]), [], {})
acted = actions(legacy.ActionConnectorDataType("env_1", "agent_1", {}, answer))
print("for the environment:", acted.output[0])
