"""Connectors from plain functions, and pipelines put together, changed and printed.

    python examples/03_edit_the_pipelines.py

RLlib's document has these pieces one by one; here they run in a row.
"""

import argparse

import numpy as np
from gymnasium.spaces import Box
from rlconnect.legacy import (
    ActionConnectorDataType,
    ActionConnectorPipeline,
    AgentConnectorDataType,
    AgentConnectorPipeline,
    ClipActionsConnector,
    ClipRewardAgentConnector,
    ConnectorContext,
    ConvertToNumpyConnector,
    ImmutableActionsConnector,
    ObsPreprocessorConnector,
    SampleBatch,
    ViewRequirement,
    ViewRequirementAgentConnector,
    register_lambda_action_connector,
    register_lambda_agent_connector,
)


# An example agent connector that filters the INFOS column out of observation data.
def filter(data):
    del data[SampleBatch.INFOS]
    return data


FilterInfosColumnAgentConnector = register_lambda_agent_connector(
    "FilterInfosColumnAgentConnector", filter
)
# An example action connector that scales actions output by the policy by a factor of 2. The
# document leaves out the brackets, which makes `states` and `fetches` arguments of the call.
ScaleActionConnector = register_lambda_action_connector(
    "ScaleActionConnector",
    lambda actions, states, fetches: (2 * actions, states, fetches),
)


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    box = Box(-1.0, 1.0, (3,), np.float32)
    ctx = ConnectorContext(
        observation_space=box, action_space=box, view_requirements={"obs": ViewRequirement()}
    )

    agents = AgentConnectorPipeline(
        ctx, [ClipRewardAgentConnector(sign=True), ViewRequirementAgentConnector()]
    )
    # Add an ObsPreprocessorConnector in front of the ViewRequirementAgentConnector.
    agents.insert_before("ViewRequirementAgentConnector", ObsPreprocessorConnector())
    agents.prepend(FilterInfosColumnAgentConnector(ctx))
    print(agents)
    seen = {"new_obs": np.array([0.1, 0.2, 0.3]), "rewards": 7.0, "infos": {"lives": 3}}
    (out,) = agents([AgentConnectorDataType("env_1", "agent_1", seen)])
    print("for the policy:", dict(out.data.sample_batch))
    raw = out.data.raw_dict
    print(f"raw: {', '.join(sorted(raw))}; the reward is {raw['rewards']:g}\n")

    actions = ActionConnectorPipeline(
        ctx, [ConvertToNumpyConnector(), ClipActionsConnector(), ImmutableActionsConnector()]
    )
    actions.remove("ImmutableActionsConnector")
    actions.insert_before(ClipActionsConnector, ScaleActionConnector(ctx))
    print(actions)
    answer = (np.array([0.3, -0.4, 0.9]), [], {})
    acted = actions(ActionConnectorDataType("env_1", "agent_1", {}, answer))
    print("for the environment:", acted.output[0])


if __name__ == "__main__":
    main()
