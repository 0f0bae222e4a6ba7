"""Run a policy in an environment that has grown: RLlib's MyCartPole, imports changed.

    python examples/04_adapt_to_a_new_environment.py

The new CartPole has two more features and takes two actions; two connectors bridge the gap.
"""

import argparse
from pathlib import Path

import gymnasium as gym
import numpy as np
from rlconnect.legacy import (
    ConnectorContext,
    Policy,
    SampleBatch,
    local_policy_inference,
    register_lambda_action_connector,
    register_lambda_agent_connector,
)

SAMPLE = Path(__file__).parent / "checkpoints" / "ppo-cartpole-ray-2.60"


class MyCartPole(gym.Env):
    """A mock CartPole: 2 additional observation states, takes 2 discrete actions."""

    def __init__(self):
        self._env = gym.make("CartPole-v1")
        self.observation_space = gym.spaces.Box(low=-10, high=10, shape=(6,))
        self.action_space = gym.spaces.MultiDiscrete(nvec=[2, 2])

    def step(self, actions):
        obs, *rest = self._env.step(actions[0])
        return np.hstack((obs, [8.0, 6.0])), *rest

    def reset(self, *, seed=None, options=None):
        obs, info = self._env.reset(seed=seed)
        return np.hstack((obs, [8.0, 6.0])), info


def v2_to_v1_obs(data):  # drops the last 2 feature values
    data[SampleBatch.NEXT_OBS] = data[SampleBatch.NEXT_OBS][:-2]
    return data


V2ToV1ObsAgentConnector = register_lambda_agent_connector("V2ToV1ObsAgentConnector", v2_to_v1_obs)


def v1_to_v2_action(actions, states, fetches):  # adds a placeholder action
    return np.hstack((actions, [0])), states, fetches


V1ToV2ActionConnector = register_lambda_action_connector("V1ToV2ActionConnector", v1_to_v2_action)


def run(checkpoint_path, policy_id):
    policy = Policy.from_checkpoint(checkpoint=checkpoint_path, policy_ids=[policy_id])[policy_id]

    # Checkpoints of mid-2022 hold a FlattenDataAgentConnector, which the document removes here.
    ctx = ConnectorContext.from_policy(policy)
    policy.agent_connectors.prepend(V2ToV1ObsAgentConnector(ctx))
    policy.action_connectors.append(V1ToV2ActionConnector(ctx))

    env = MyCartPole()
    obs, _ = env.reset(seed=0)
    for step in range(1, 501):
        ((actions, _, _),) = local_policy_inference(policy, "env_1", "agent_1", obs, explore=False)
        print(f"step {step}", obs, actions)
        obs, _, terminated, truncated, _ = env.step(actions)
        if terminated or truncated:
            break


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default=SAMPLE, help="a folder (default: a sample)")
    run(parser.parse_args().checkpoint, "default_policy")
