"""Run a policy in an environment that has grown: RLlib's MyCartPole, imports changed.

    python examples/04_adapt_to_a_new_environment.py [--checkpoint PATH]

The new CartPole has two more features and takes two actions; two connectors bridge the gap.
"""

import argparse
from pathlib import Path

import gymnasium as gym
import numpy as np
from rlconnect import legacy

SAMPLE = Path(__file__).parent / "checkpoints" / "ppo-cartpole-ray-2.60"


class MyCartPole(gym.Wrapper):
    """A mock CartPole: 2 additional observation states, takes 2 discrete actions."""

    observation_space = gym.spaces.Box(low=-10, high=10, shape=(6,))
    action_space = gym.spaces.MultiDiscrete(nvec=[2, 2])

    def step(self, actions):
        obs, *rest = self.env.step(actions[0])
        return np.hstack((obs, [8.0, 6.0])), *rest

    def reset(self, **kwargs):
        obs, info = self.env.reset(**kwargs)
        return np.hstack((obs, [8.0, 6.0])), info


# Drops the last 2 feature values.
V2ToV1Obs = legacy.register_lambda_agent_connector(
    "V2ToV1Obs", lambda data: {**data, "new_obs": data["new_obs"][:-2]}
)
# Adds a placeholder action.
V1ToV2Action = legacy.register_lambda_action_connector(
    "V1ToV2Action", lambda actions, states, fetches: (np.hstack((actions, [0])), states, fetches)
)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--checkpoint", default=SAMPLE, help="a folder (default: a sample)")
policies = legacy.Policy.from_checkpoint(parser.parse_args().checkpoint)
policy = policies["default_policy"]
# Checkpoints of mid-2022 hold a FlattenDataAgentConnector, which the document removes here.
ctx = legacy.ConnectorContext.from_policy(policy)
policy.agent_connectors.prepend(V2ToV1Obs(ctx))
policy.action_connectors.append(V1ToV2Action(ctx))

env = MyCartPole(gym.make("CartPole-v1"))
obs, _ = env.reset(seed=0)
done, step = False, 0
while not done:
    ((actions, _, _),) = legacy.local_policy_inference(policy, "env", "agent", obs, explore=False)
    step += 1
    print(f"step {step}", obs, actions)
    obs, _, terminated, truncated, _ = env.step(actions)
    done = terminated or truncated
