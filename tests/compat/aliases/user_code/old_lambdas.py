"""Connectors of the old stack made of functions and of classes, in a pipeline with state."""

import gymnasium as gym
import numpy as np
from ray.rllib.connectors.action.lambdas import register_lambda_action_connector
from ray.rllib.connectors.action.pipeline import ActionConnectorPipeline
from ray.rllib.connectors.agent.lambdas import register_lambda_agent_connector
from ray.rllib.connectors.agent.pipeline import AgentConnectorPipeline
from ray.rllib.connectors.connector import AgentConnector, ConnectorContext
from ray.rllib.connectors.registry import get_connector, register_connector
from ray.rllib.policy.sample_batch import SampleBatch
from ray.rllib.utils.typing import ActionConnectorDataType, AgentConnectorDataType


def halve(data):
    return {key: value / 2 if key == "obs" else value for key, value in data.items()}


def shift(actions, states, fetches):
    return actions + 1, states, fetches


HalveAgentConnector = register_lambda_agent_connector("HalveForAliases", halve)
ShiftActionConnector = register_lambda_action_connector("ShiftForAliases", shift)


class CountSteps(AgentConnector):
    def __init__(self, ctx, count=0):
        super().__init__(ctx)
        self.count = count

    def transform(self, ac_data: AgentConnectorDataType) -> AgentConnectorDataType:
        self.count += 1
        ac_data.data["steps"] = self.count
        return ac_data

    def to_state(self):
        return CountSteps.__name__, {"count": self.count}

    @staticmethod
    def from_state(ctx, params):
        return CountSteps(ctx, **params)


register_connector("CountSteps", CountSteps)


def run():
    context = ConnectorContext(
        config={},
        observation_space=gym.spaces.Box(-1, 1, (2,), np.float32),
        action_space=gym.spaces.Discrete(3),
    )
    pipeline = AgentConnectorPipeline(context, [HalveAgentConnector(context), CountSteps(context)])
    data = AgentConnectorDataType(0, "a", {SampleBatch.OBS: np.array([1.0, 3.0]), "steps": 0})
    pipeline([data])
    (out,) = pipeline([AgentConnectorDataType(0, "a", {SampleBatch.OBS: np.array([5.0, 7.0])})])
    actions = ActionConnectorPipeline(context, [ShiftActionConnector(context)])
    answered = actions(ActionConnectorDataType(0, "a", {}, (np.array([1, 2]), [], {})))
    again = get_connector("CountSteps", context, {"count": 7})
    return {
        "obs": out.data["obs"],
        "steps": out.data["steps"],
        "actions": answered.output[0],
        "again": again.to_state(),
        "state": [name for name, _ in pipeline.to_state()[1]],
    }
