"""Episodes in which a module explored for some steps and not for others."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from rlconnect.v2 import MultiAgentEnv, MultiAgentEnvRunner, PPOConfig, SingleAgentEnvRunner

SEEN = Box(-1, 1, (3,), np.float32)


class Alone(gym.Env):
    """Forty steps of nothing."""

    observation_space = SEEN

    def __init__(self, context):
        self.action_space = context["action_space"]

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.at += 1
        return np.zeros(3, np.float32), 1.0, self.at >= 40, False, {}


class InTurns(MultiAgentEnv):
    """Two agents, of whom one acts at a time: actions wait for what they bring."""

    possible_agents = agents = ("a", "b")

    def __init__(self, context):
        super().__init__()
        self.observation_spaces = dict.fromkeys("ab", SEEN)
        self.action_spaces = dict.fromkeys("ab", context["action_space"])

    def _now(self):
        return {"ab"[self.at % 2]: np.zeros(3, np.float32)}

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self._now(), {}

    def step(self, actions):
        self.at += 1
        ends = {"__all__": self.at >= 40}
        return self._now(), dict.fromkeys(actions, 1.0), ends, {"__all__": False}, {}


def singles(samples):
    """All episodes of one agent."""
    return [
        single
        for episode in samples
        for single in getattr(episode, "agent_episodes", {0: episode}).values()
    ]


@pytest.mark.parametrize("lookback", [1, 4])
@pytest.mark.parametrize("is_multi", [False, True], ids=["one", "in turns"])
@pytest.mark.parametrize(
    ("space", "part"),
    [(Box(-1, 1, (2,), np.float32), (2,)), (MultiDiscrete([2, 3]), (2,)), (Discrete(3), ())],
    ids=["box", "multi-discrete", "discrete"],
)
def test_explored_and_greedy_steps_make_one_episode(space, part, is_multi, lookback):
    """Episodes go on; each chunk has log-probabilities of the shape its own steps have.

    Ray 2.60 fails going from exploring to not, and repeats one number for each part going back.
    """
    config = PPOConfig().environment(
        InTurns if is_multi else Alone, env_config={"action_space": space}
    )
    config.env_runners(episode_lookback_horizon=lookback)
    if is_multi:
        config.multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")
    runner = (MultiAgentEnvRunner if is_multi else SingleAgentEnvRunner)(config=config)

    made = [
        (explore, runner.sample(num_timesteps=steps, explore=explore))
        for explore, steps in ((True, 6), (False, 6), (True, 6), (True, 6), (False, 30))
    ]

    assert len({samples[0].id_ for _, samples in made}) == 1
    for explore, samples in made[1:]:
        shapes = {
            single.get_extra_model_outputs("action_logp").shape[1:] for single in singles(samples)
        }
        assert shapes == {() if explore else part}


def test_what_a_log_probability_adds_up_to_stays():
    """A number that is needed by parts is shared out; parts are added up."""
    runner = SingleAgentEnvRunner(
        config=PPOConfig().environment(
            Alone, env_config={"action_space": Box(-1, 1, (2,), np.float32)}
        )
    )

    (before,) = runner.sample(num_timesteps=3, explore=True)
    (after,) = runner.sample(num_timesteps=3, explore=False)

    last = before.get_extra_model_outputs("action_logp", -1)
    held = after.get_extra_model_outputs("action_logp", -1, neg_index_as_lookback=True)
    assert held == pytest.approx([last / 2, last / 2])
