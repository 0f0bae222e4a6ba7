"""A MultiAgentEnv, stepped by hand and through `make_multi_agent`."""

import gymnasium as gym
import numpy as np
from ray.rllib.env.multi_agent_env import MultiAgentEnv, make_multi_agent
from ray.tune.registry import register_env


class TurnTaking(MultiAgentEnv):
    def __init__(self, config=None):
        super().__init__()
        self.agents = self.possible_agents = ["player1", "player2"]
        box = gym.spaces.Box(0.0, 9.0, (1,), np.float32)
        self.observation_spaces = {agent: box for agent in self.agents}
        self.action_spaces = {agent: gym.spaces.Discrete(2) for agent in self.agents}
        self.length = (config or {}).get("length", 4)

    def reset(self, *, seed=None, options=None):
        self.step_count = 0
        return {"player1": np.array([0.0], np.float32)}, {"player1": {}}

    def step(self, action_dict):
        (acting, action), *_ = action_dict.items()
        self.step_count += 1
        following = "player2" if acting == "player1" else "player1"
        done = self.step_count >= self.length
        return (
            {following: np.array([float(self.step_count)], np.float32)},
            {acting: float(action)},
            {"__all__": done},
            {"__all__": False},
            {},
        )


def run():
    register_env("turn_taking", lambda config: TurnTaking(config))
    env = TurnTaking({"length": 3})
    obs, _ = env.reset()
    trail = []
    for step in range(3):
        agent = next(iter(obs))
        obs, rewards, terminateds, _, _ = env.step({agent: step % 2})
        trail.append([agent, rewards[agent], terminateds["__all__"]])
    copies = make_multi_agent("CartPole-v1")({"num_agents": 2})
    first, _ = copies.reset(seed=1)
    return {
        "trail": trail,
        "agents": sorted(env.possible_agents),
        "copies": sorted(first),
        "space": env.get_observation_space("player1").shape,
    }
