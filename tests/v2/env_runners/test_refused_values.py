"""Rewards and observations that env runners refuse, with the environment and what to do."""

import gymnasium as gym
import numpy as np
import pytest
import rlconnect.v2 as v2
from gymnasium import spaces
from rlconnect.core.errors import SpaceError
from rlconnect.v2.envs.failures import EnvStepError
from rlconnect.v2.episodes.errors import MultiAgentEnvError

FLOATS = spaces.Box(-1.0, 1.0, (3,), np.float32)


class One(gym.Env):
    """One agent."""

    action_space = spaces.Discrete(2)

    def __init__(self, space, reward):
        self.observation_space, self.reward = space, reward

    def see(self):
        return np.ones(self.observation_space.shape, self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        return self.see(), {}

    def step(self, action):
        return self.see(), self.reward, False, False, {}


class Several(v2.MultiAgentEnv):
    """The same for agents by name."""

    def __init__(self, space, reward):
        super().__init__()
        self.one = One(space, reward)
        self.agents = self.possible_agents = ["a"]
        self.observation_spaces, self.action_spaces = {"a": space}, {"a": One.action_space}

    def reset(self, *, seed=None, options=None):
        return {"a": self.one.see()}, {}

    def step(self, action_dict):
        seen, earned, *_ = self.one.step(None)
        return {"a": seen}, {"a": earned}, {"__all__": False}, {"__all__": False}, {}


def sample(kind, space=FLOATS, reward=1.0, **model):
    config = v2.PPOConfig().environment(lambda _: kind(space, reward), disable_env_checking=True)
    config.rl_module(model_config=model)
    if kind is Several:
        config.multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")
        return v2.MultiAgentEnvRunner(config=config).sample(num_timesteps=3)
    return v2.SingleAgentEnvRunner(config=config).sample(num_timesteps=3)


@pytest.mark.parametrize("reward", [None, "much", np.ones(2)])
def test_a_reward_that_is_no_number_is_an_error(reward):
    """The error names the environment, and the agent where there are several."""
    with pytest.raises(EnvStepError, match=r"environment 0 .*reward.*no number"):
        sample(One, reward=reward)
    with pytest.raises(MultiAgentEnvError, match=r"environment 0 .*reward of agent 'a'"):
        sample(Several, reward=reward)


@pytest.mark.parametrize("kind", [One, Several])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
@pytest.mark.parametrize(("shape", "lstm"), [((3,), False), ((3,), True), ((64, 64, 3), False)])
def test_observations_without_fractions_are_refused(kind, dtype, shape, lstm):
    """The layers of default modules fail on them, in Ray 2.60 with torch's own words."""
    high = 255 if dtype is np.uint8 else 5
    space = spaces.Box(0, high, shape, dtype)
    model = {"use_lstm": True, "max_seq_len": 4} if lstm else {}

    with pytest.raises(SpaceError, match=f"expected float32, found {np.dtype(dtype)}") as error:
        sample(kind, space, **model)

    assert "FlattenObservations" in error.value.hint


def test_flattened_observations_without_fractions_are_taken():
    """What the hint says."""
    config = v2.PPOConfig().environment(lambda _: One(spaces.Box(0, 255, (3,), np.uint8), 1.0))
    config.env_runners(env_to_module_connector=lambda *_, **__: v2.FlattenObservations())

    (episode,) = v2.SingleAgentEnvRunner(config=config).sample(num_timesteps=3)

    assert len(episode) == 3
