"""A parallel game in PettingZoo's style, wrapped."""

import gymnasium as gym
import numpy as np
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv


class Game:
    possible_agents = ("left", "right")
    metadata = {}  # noqa: RUF012
    render_mode = None

    def __init__(self):
        self.agents = list(self.possible_agents)
        self.count = 0

    def observation_space(self, agent):
        return gym.spaces.Box(0, 1, (2,), np.float32)

    def action_space(self, agent):
        return gym.spaces.Discrete(2)

    observation_spaces = property(lambda self: {a: self.observation_space(a) for a in self.agents})
    action_spaces = property(lambda self: {a: self.action_space(a) for a in self.agents})

    def reset(self, seed=None, options=None):
        self.agents, self.count = list(self.possible_agents), 0
        return self._seen(), {agent: {} for agent in self.agents}

    def _seen(self):
        return {agent: np.full(2, self.count / 4, np.float32) for agent in self.agents}

    def step(self, actions):
        self.count += 1
        rewards = {agent: float(actions[agent]) for agent in self.agents}
        done = {agent: self.count >= 3 for agent in self.agents}
        seen = self._seen()
        infos = {agent: {} for agent in self.agents}
        return seen, rewards, done, {agent: False for agent in self.agents}, infos

    def render(self):
        return None

    def close(self):
        self.agents = []


def run():
    env = ParallelPettingZooEnv(Game())
    obs, _ = env.reset(seed=1)
    trail = [sorted(obs)]
    for _ in range(3):
        obs, rewards, terminateds, truncateds, _ = env.step({"left": 1, "right": 0})
        trail.append([rewards["left"], bool(terminateds["__all__"]), bool(truncateds["__all__"])])
    return {"trail": trail, "last": obs["left"], "agents": sorted(env.possible_agents)}
