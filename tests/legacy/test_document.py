"""What RLlib's document about connectors shows runs here as it is written there."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from rlconnect.legacy import (
    ActionConnectorDataType,
    ActionConnectorPipeline,
    AgentConnectorDataType,
    AgentConnectorPipeline,
    AgentConnectorsOutput,
    AlgorithmConfig,
    ClipActionsConnector,
    ClipRewardAgentConnector,
    ConnectorContext,
    ConvertToNumpyConnector,
    ImmutableActionsConnector,
    ObsPreprocessorConnector,
    Policy,
    SampleBatch,
    ViewRequirement,
    ViewRequirementAgentConnector,
    create_connectors_for_policy,
    local_policy_inference,
    register_lambda_action_connector,
    register_lambda_agent_connector,
)

from tests.legacy.replay import GOLDEN

CHECKPOINT = GOLDEN / "legacy" / "2.60.0" / "ppo_cartpole" / "algo_checkpoint"
BOX = Box(-1.0, 1.0, (3,), np.float32)


@pytest.fixture
def ctx():
    return ConnectorContext(
        observation_space=BOX, action_space=BOX, view_requirements={"obs": ViewRequirement()}
    )


def test_the_filter_of_infos_reads_its_argument_either_way(ctx):
    """The document's function takes `d.data[...]`; RLlib hands it the data itself. Both work."""

    def by_attribute(d):
        del d.data[SampleBatch.INFOS]
        return d

    def by_key(d):
        del d[SampleBatch.INFOS]
        return d

    for name, fn in (("FilterInfosByAttribute", by_attribute), ("FilterInfosByKey", by_key)):
        connector = register_lambda_agent_connector(name, fn)(ctx)
        record = AgentConnectorDataType("env", "agent", {"new_obs": 1, "infos": {"a": 1}})

        (out,) = connector([record])

        assert dict(out.data) == {"new_obs": 1}
        assert connector.to_state() == (name, None)


def test_scaled_actions_need_the_brackets_the_document_left_out(ctx):
    """As printed, `states` is a name nobody defined; with brackets the actions are doubled."""
    with pytest.raises(NameError):
        register_lambda_action_connector(
            "ScaleAsPrinted",
            lambda actions, states, fetches: 2 * actions,
            states,  # noqa: F821
            fetches,  # noqa: F821
        )
    connector = register_lambda_action_connector(
        "ScaleForTest", lambda actions, states, fetches: (2 * actions, states, fetches)
    )(ctx)

    acted = connector(ActionConnectorDataType("env", "agent", {}, (np.array([0.5]), [], {"a": 1})))

    assert acted.output == (np.array([1.0]), [], {"a": 1})


def test_pipelines_are_composed_and_changed(ctx):
    """Connectors built without a context, inserted before and removed by name."""
    agents = AgentConnectorPipeline(
        ctx, [ClipRewardAgentConnector(), ViewRequirementAgentConnector()]
    )
    agents.insert_before("ViewRequirementAgentConnector", ObsPreprocessorConnector())
    actions = ActionConnectorPipeline(
        ctx, [ConvertToNumpyConnector(), ClipActionsConnector(), ImmutableActionsConnector()]
    )
    actions.remove("ImmutableActionsConnector")

    (out,) = agents([AgentConnectorDataType("env", "agent", {"new_obs": [0.5, 0, 0]})])

    assert [type(each).__name__ for each in agents.connectors] == [
        "ClipRewardAgentConnector",
        "ObsPreprocessorConnector",
        "ViewRequirementAgentConnector",
    ]
    assert isinstance(out.data, AgentConnectorsOutput)
    assert out.data.sample_batch["obs"].tolist() == [[0.5, 0.0, 0.0]]
    assert str(actions).split() == [
        "ActionConnectorPipeline",
        "ConvertToNumpyConnector",
        "ClipActionsConnector",
    ]


def test_connectors_are_switched_on_as_the_document_says():
    """`AlgorithmConfig().rollouts(enable_connectors=True)` is a config to build policies from."""
    config = AlgorithmConfig().rollouts(enable_connectors=True, observation_filter="MeanStdFilter")
    policy = Policy(BOX, BOX, config.to_dict())

    create_connectors_for_policy(policy, config)

    assert "MeanStdObservationFilterAgentConnector" in str(policy.agent_connectors)
    assert local_policy_inference(policy, "env", "agent", np.zeros(3, np.float32))


def cartpole_steps(policy, env, limit=20):
    obs, _ = env.reset(seed=1)
    for _ in range(limit):
        policy_outputs = local_policy_inference(policy, "env_1", "agent_1", obs, explore=False)
        assert len(policy_outputs) == 1
        action, _, fetches = policy_outputs[0]
        yield obs, action, fetches
        obs, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            return


def test_a_restored_policy_plays_cartpole():
    """The loop of the document, on gymnasium's present interface."""
    policies = Policy.from_checkpoint(checkpoint=CHECKPOINT, policy_ids=["default_policy"])

    played = list(cartpole_steps(policies["default_policy"], gym.make("CartPole-v1")))

    assert len(played) > 3
    assert all(action in (0, 1) for _, action, _ in played)


class MyCartPole(gym.Env):
    def __init__(self):
        self._env = gym.make("CartPole-v1")
        self.observation_space = Box(low=-10, high=10, shape=(6,))
        self.action_space = gym.spaces.MultiDiscrete(nvec=[2, 2])

    def step(self, actions):
        obs, *rest = self._env.step(actions[0])
        return np.hstack((obs, [8.0, 6.0])), *rest

    def reset(self, *, seed=None, options=None):
        obs, info = self._env.reset(seed=seed)
        return np.hstack((obs, [8.0, 6.0])), info


def test_an_adapted_policy_plays_the_new_cartpole_as_it_did_the_old():
    """Two lambda connectors bridge the gap: the first action is the old one, at every step."""

    def v2_to_v1_obs(data):
        data[SampleBatch.NEXT_OBS] = data[SampleBatch.NEXT_OBS][:-2]
        return data

    def v1_to_v2_action(actions, states, fetches):
        return np.hstack((actions, [0])), states, fetches

    agent = register_lambda_agent_connector("V2ToV1ObsForTest", v2_to_v1_obs)
    action = register_lambda_action_connector("V1ToV2ActionForTest", v1_to_v2_action)
    old, new = (Policy.from_checkpoint(CHECKPOINT)["default_policy"] for _ in range(2))
    ctx = ConnectorContext.from_policy(new)
    new.agent_connectors.prepend(agent(ctx))
    new.action_connectors.append(action(ctx))

    before = list(cartpole_steps(old, gym.make("CartPole-v1")))
    after = list(cartpole_steps(new, MyCartPole()))

    assert len(before) == len(after)
    for (_, was, had), (seen, now, has) in zip(before, after, strict=True):
        assert seen.shape == (6,)
        assert now.tolist() == [was, 0]
        np.testing.assert_allclose(had["vf_preds"], has["vf_preds"], atol=1e-6)
