"""Pictures change under a policy: their size and colours, or how many frames come at once.

    python examples/14_changed_pictures.py

The policies were never trained: they only have to do the same before and after.
"""

import gymnasium as gym
import numpy as np
import rlconnect
from gymnasium.spaces import Box, Discrete
from rlconnect.adapters import Grayscale, ResizeImage, StackFrames
from rlconnect.legacy import Policy, create_connectors_for_policy


class Screen(gym.Env):
    """A screen that gets brighter, as its last frames; the reward is the action."""

    action_space = Discrete(3)

    def __init__(self, size, colours=1, frames=1):
        self.observation_space = Box(0, 255, (size, size, colours * frames), np.uint8)
        self.colours, self.frames = colours, frames

    def reset(self, *, seed=None, options=None):
        self.time = -1
        return self.step(0)[0], {}

    def step(self, action):
        self.time += 1
        times = np.arange(self.time - self.frames + 1, self.time + 1).clip(0)
        frames = np.repeat(np.uint8(40 * times), self.colours)
        screen = np.broadcast_to(frames, self.observation_space.shape)
        return screen, float(action), self.time >= 5, False, {}


def scenarios():
    """What changed, policy, old environment, changed environment, the steps."""
    layers = [[4, [8, 8], 4], [8, [4, 4], 2], [16, [8, 8], 1]]
    for name, old, new, steps in (
        ("64 x 64 grey became 84 x 84 in colour", Screen(64), Screen(84, colours=3),
         [Grayscale(), ResizeImage(64, 64)]),
        ("four stacked frames became one", Screen(64, frames=4), Screen(64), StackFrames(4)),
    ):  # fmt: skip
        config = {"seed": 8, "model": {"conv_filters": layers}}
        policy = Policy(old.observation_space, old.action_space, config)
        create_connectors_for_policy(policy, policy.config)
        yield name, policy, old, new, {"obs": steps}


if __name__ == "__main__":
    for name, policy, old, new, steps in scenarios():
        before = rlconnect.rollout(policy, old, episodes=1)
        after = rlconnect.rollout(rlconnect.adapt(policy, env=new, **steps), new, episodes=1)
        mark = "the same" if before.returns == after.returns else "other"
        print(f"{name:<40} {before.mean:>12.4f} {after.mean:>12.4f}  {mark}")
