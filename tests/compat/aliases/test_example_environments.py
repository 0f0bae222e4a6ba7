"""Environments of RLlib's examples; numbers are what Ray 2.60 gives for the same calls."""

import gymnasium as gym
import numpy as np
from rlconnect.compat.aliases.example_environments import MultiAgentCartPole, StatelessCartPole


def played(env, actions):
    """The observations and rewards of some steps."""
    first, _ = env.reset(seed=0)
    made = [env.step(action) for action in actions]
    return [first, *(step[0] for step in made)], [step[1] for step in made]


def test_cartpole_without_velocities():
    """It is gymnasium's but for what it shows."""
    env = StatelessCartPole({"a": 1})

    seen, rewards = played(env, [0, 1])
    whole, earned = played(gym.make("CartPole-v1"), [0, 1])

    assert np.array_equal(seen, [each[[0, 2]] for each in whole])
    assert rewards == earned
    assert env.observation_space.contains(seen[-1])


def test_cartpoles_of_several_agents():
    """Each agent plays one of its own."""
    seen, _ = MultiAgentCartPole({"num_agents": 2}).reset(seed=0)

    assert {agent: each.shape for agent, each in seen.items()} == {0: (4,), 1: (4,)}
