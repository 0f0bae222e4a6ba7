"""Observations change under a policy in four ways, each absorbed by steps that are plain data.

    python examples/07_changed_observations.py [--episodes 3]

Each row plays the old policy in the old environment and the adapted one in the changed one, with
the same seeds: where nothing is lost, the returns are the same to the last digit.
"""

import argparse
from pathlib import Path

import gymnasium as gym
import numpy as np
import rlconnect
from gymnasium.spaces import Box, Dict
from rlconnect import adapters

CHECKPOINTS = Path(__file__).parent / "checkpoints"
FOUR, FIVE, TWO = (Box(-np.inf, np.inf, (size,), np.float32) for size in (4, 5, 2))
CENTIMETRES = np.float32([100, 100, 1, 1])
MEAN_SPEED = -0.21806167  # what the policy's filter has seen of it: `rlconnect inspect`


class Seen(gym.ObservationWrapper):
    """An environment whose observations look different."""

    def __init__(self, env, space, see):
        super().__init__(gym.make(env))
        self.observation_space, self.observation = space, see


def scenarios():
    """What changed, policy, old environment, changed environment, the steps."""
    cart = rlconnect.load(CHECKPOINTS / "ppo-cartpole-ray-2.60").only, "CartPole-v1"
    swing = rlconnect.load(CHECKPOINTS / "ppo-pendulum-ray-2.7").only, "Pendulum-v1"
    wide = Seen("CartPole-v1", FIVE, lambda obs: np.insert(obs, 2, 7).astype(np.float32))
    yield "a feature came in the middle", *cart, wide, {"obs": adapters.DropFeatures([2])}
    units = Seen("CartPole-v1", FOUR, lambda obs: obs * CENTIMETRES)
    yield "metres became centimetres", *cart, units, {"obs": adapters.Scale(1 / CENTIMETRES)}
    parts = Dict(cart=TWO, pole=TWO)
    split = Seen("CartPole-v1", parts, lambda obs: {"cart": obs[:2], "pole": obs[2:]})
    yield "one vector became a dict", *cart, split, {"obs": adapters.ConcatKeys(["cart", "pole"])}
    blind = Seen("Pendulum-v1", Box(-1, 1, (2,)), lambda obs: obs[:2])
    mean = adapters.InsertFeatures([2], [MEAN_SPEED])
    yield "a sensor is gone: its mean instead", *swing, blind, {"obs": mean}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=3)
    episodes = parser.parse_args().episodes
    print(f"{'what changed':<40} {'old return':>12} {'adapted':>12}")
    for name, policy, old, new, steps in scenarios():
        before = rlconnect.rollout(policy, old, episodes=episodes)
        after = rlconnect.rollout(rlconnect.adapt(policy, env=new, **steps), new, episodes=episodes)
        mark = "the same" if before.returns == after.returns else "other"
        print(f"{name:<40} {before.mean:>12.4f} {after.mean:>12.4f}  {mark}")
