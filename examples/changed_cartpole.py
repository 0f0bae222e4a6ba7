"""CartPole as it changed under the sample policy: two more features, one more number to act with.

rlconnect rollout PATH --env changed_cartpole:ChangedCartPole
"""

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, MultiDiscrete


class ChangedCartPole(gym.Wrapper):
    """CartPole that also gives wind and light, and takes a second number it has no use for."""

    def __init__(self):
        super().__init__(gym.make("CartPole-v1"))
        self.observation_space = Box(-10, 10, (6,), np.float32)
        self.action_space = MultiDiscrete([2, 2])

    def reset(self, **kwargs):
        obs, info = self.env.reset(**kwargs)
        return self.seen(obs), info

    def step(self, action):
        obs, *rest = self.env.step(int(action[0]))
        return self.seen(obs), *rest

    def seen(self, obs):
        return np.append(obs, [8.0, 6.0]).astype(np.float32)


if __name__ == "__main__":
    print(ChangedCartPole().reset(seed=0)[0])
