"""Actions, agents and rewards change under a policy; steps that are plain data absorb it.

    python examples/13_changed_actions.py [--episodes 3]

Each row plays the old policy in the old environment and the adapted one in the changed one.
"""

import argparse
from pathlib import Path

import gymnasium as gym
import numpy as np
import rlconnect
from gymnasium.spaces import Box, Discrete
from rlconnect import adapters

CHECKPOINTS = Path(__file__).parent / "checkpoints"


class Taken(gym.ActionWrapper):
    """An environment that takes other actions."""

    def __init__(self, env, space, take):
        super().__init__(gym.make(env))
        self.action_space, self.action = space, take


def scenarios():
    """What changed, policy, old environment, changed environment, what `adapt` is told."""
    cart = rlconnect.load(CHECKPOINTS / "ppo-cartpole-ray-2.60").only, "CartPole-v1"
    swing = rlconnect.load(CHECKPOINTS / "ppo-pendulum-ray-2.7").only, "Pendulum-v1"
    three = Taken("CartPole-v1", Discrete(3), lambda action: int(action) // 2)
    mapped = adapters.MapActions([0, 2], size=3)
    yield "a third action came, and numbers moved", *cart, three, {"action": mapped}
    arm = Box(np.float32([-2, -1]), np.float32([2, 1]))
    longer = Taken("Pendulum-v1", arm, lambda action: action[:1])
    yield "the action gained a dimension", *swing, longer, {"action": adapters.ExtendAction([0.0])}
    yield "agents were renamed", *cart, gym.make("CartPole-v1"), {"agents": {"agent": "player_0"}}
    clipped = {"reward": adapters.Clip(-1, 1)}
    yield "rewards are clipped for the policy", *swing, gym.make("Pendulum-v1"), clipped


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=3)
    episodes = parser.parse_args().episodes
    for name, policy, old, new, steps in scenarios():
        before = rlconnect.rollout(policy, old, episodes=episodes)
        after = rlconnect.rollout(rlconnect.adapt(policy, env=new, **steps), new, episodes=episodes)
        mark = "the same" if before.returns == after.returns else "other"
        print(f"{name:<40} {before.mean:>12.4f} {after.mean:>12.4f}  {mark}")
