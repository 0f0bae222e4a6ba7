"""Vectors of multi-agent environments that others made."""

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import MultiAgentEnvRunner, PPOConfig, make_multi_agent
from rlconnect.v2.envs.foreign_agent_envs import (
    ForeignAgentEnvs,
    SyncVectorMultiAgentEnv,
    VectorMultiAgentEnv,
)

TWO_CARTPOLES = make_multi_agent("CartPole-v1")


class Simulator(VectorMultiAgentEnv):
    """Two games in one, of 3 and 4 steps; an ended one is reset by the next step."""

    def __init__(self):
        super().__init__()
        self.num_envs = 2
        box, two = gym.spaces.Box(-9, 9, (1,), np.float32), gym.spaces.Discrete(2)
        self.single_observation_space = gym.spaces.Dict({"a": box, "b": box})
        self.single_action_space = gym.spaces.Dict({"a": two, "b": two})
        self.at = [0, 0]
        self.got = []

    def _seen(self, index):
        return {agent: np.full(1, self.at[index], np.float32) for agent in "ab"}

    def reset(self, *, seed=None, options=None):
        self.at = [0, 0]
        return [self._seen(0), self._seen(1)], [{}, {}]

    def step(self, actions):
        self.got.append([sorted(each) for each in actions])
        rewards, ends = [], []
        for index in range(2):
            was_over = self.at[index] == 3 + index
            self.at[index] = 0 if was_over else self.at[index] + 1
            rewards.append({} if was_over else {"a": 1.0, "b": 1.0})
            ends.append({"__all__": self.at[index] == 3 + index})
        seen = [self._seen(0), self._seen(1)]
        return seen, rewards, ends, [{"__all__": False}] * 2, [{}, None]


def runner_of(make):
    """A runner whose subclass makes its own vector."""

    class Own(MultiAgentEnvRunner):
        def make_env(self):
            self.env = make()

    config = PPOConfig().environment(TWO_CARTPOLES)
    config.multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")
    return Own(config=config)


def test_a_simulator_s_games_are_stepped():
    """Episodes have their lengths; games that ended get no actions, as in Ray 2.60."""
    runner = runner_of(Simulator)

    episodes = runner.sample(num_timesteps=14)

    done = [len(episode) for episode in episodes if episode.is_done]
    assert sorted(done) == [3, 3, 4, 4]
    assert runner.env.got[2:5] == [[["a", "b"]] * 2, [[], ["a", "b"]], [["a", "b"], []]]
    assert episodes[0].get_observations(-1)["a"] in (3.0, 4.0)


def test_a_vector_of_environments_is_stepped():
    """`make_env` may put RLlib's own vector into `env`, too."""
    runner = runner_of(
        lambda: SyncVectorMultiAgentEnv([lambda: TWO_CARTPOLES({"num_agents": 2})] * 3)
    )

    episodes = runner.sample(num_timesteps=30)

    assert runner.num_envs == 3
    assert sum(map(len, episodes)) == 30


@pytest.mark.parametrize(
    "make",
    [
        lambda: ForeignAgentEnvs(TWO_CARTPOLES({"num_agents": 2})),
        lambda: SyncVectorMultiAgentEnv([], autoreset_mode="same_step"),
    ],
)
def test_what_is_no_vector_is_refused(make):
    """The error says what is missing."""
    with pytest.raises(ConfigError, match=r"without|next_step"):
        make()
