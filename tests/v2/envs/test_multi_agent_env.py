"""MultiAgentEnv, environments made of many, and their vector."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import EnvContext, MultiAgentEnv, MultiAgentEnvError, make_multi_agent
from rlconnect.v2.envs.multi_agent_env import UnknownAgentError
from rlconnect.v2.envs.multi_agent_envs import MultiAgentEnvs

SEEN = Box(-1, 1, (2,), np.float32)


def bare(**attributes):
    """An environment that declares nothing but these."""
    env = MultiAgentEnv()
    for name, value in attributes.items():
        setattr(env, name, value)
    return env


def test_an_environment_that_declares_nothing_has_no_agents():
    """As in RLlib: no agents, no spaces, nothing to render; a step is the subclass's to define."""
    env = MultiAgentEnv()

    assert (env.agents, env.possible_agents, env.num_agents, env.max_num_agents) == ([], [], 0, 0)
    assert env.observation_spaces is env.action_space is env.render() is None
    assert env.get_agent_ids() == set()
    with pytest.raises(NotImplementedError, match="MultiAgentEnv"):
        env.step({})


def test_agents_set_before_the_base_constructor_stay():
    """Old environments call it last."""

    class Early(MultiAgentEnv):
        def __init__(self):
            self.agents = ["a", "b"]
            super().__init__()

    assert Early().agents == Early().possible_agents == ["a", "b"]


@pytest.mark.parametrize(
    "declared",
    [
        {"observation_spaces": {"a": SEEN}},
        {"observation_spaces": Dict({"a": SEEN})},
        {"observation_space": Dict({"a": SEEN})},
        {"observation_space": SEEN},
    ],
)
def test_an_agents_space_is_found_where_it_is_declared(declared):
    """By agent in `observation_spaces`, by agent in one Dict, or one for all."""
    assert bare(**declared).get_observation_space("a") == SEEN


def test_an_agent_without_a_space_is_told():
    """The error names the agent and those that have one, and is a KeyError too."""
    with pytest.raises(KeyError) as caught:
        bare(action_spaces={"a": SEEN}).get_action_space("b")

    assert "no action space for agent 'b'" in str(caught.value)
    assert "['a']" in str(caught.value)


class Rising(gym.Env):
    """Ends after `length` steps, or is cut off there."""

    made = 0

    def __init__(self, config):
        self.config, self.length = dict(config), 2 + Rising.made
        Rising.made += 1
        self.observation_space, self.action_space = SEEN, Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return np.zeros(2, np.float32), {"seed": seed}

    def step(self, action):
        self.t += 1
        is_over, is_cut = self.t >= self.length, self.length in self.config.get("cut", ())
        seen = np.full(2, 0.1 * self.t, np.float32)
        return seen, 1.0, is_over and not is_cut, is_over and is_cut, {}


@pytest.mark.parametrize(
    ("cut", "expected"),  # recorded from Ray 2.60: the flags of the last step
    [
        ([], ({1: True, "__all__": True}, {1: False, "__all__": False})),
        ([2], ({1: True, "__all__": True}, {1: False, "__all__": False})),
        ([3], ({1: False, "__all__": True}, {1: True, "__all__": False})),
        ([2, 3], ({1: False, "__all__": True}, {1: True, "__all__": True})),
    ],
)
def test_many_of_one_environment_end_when_all_have(cut, expected):
    """Each agent ends by itself; `__all__` follows the last one."""
    Rising.made = 0
    env = make_multi_agent(lambda context: Rising(context))({"num_agents": 2, "cut": cut})
    env.reset(seed=4)

    first = env.step({0: 0, 1: 0})
    second = env.step({0: 0, 1: 0})
    last = env.step({1: 0})

    assert first[2] == first[3] == {0: False, 1: False, "__all__": False}
    assert second[2] == {0: 2 not in cut, 1: False, "__all__": False}
    assert last[2:4] == expected
    assert "num_agents" not in env.envs[0].config


def test_each_agent_gets_the_seed_and_the_settings():
    """All of them the same seed, as in RLlib."""
    env = make_multi_agent(lambda context: Rising(context))(EnvContext({"num_agents": 3}))

    assert env.reset(seed=5)[1] == {agent: {"seed": 5} for agent in range(3)}
    assert env.possible_agents == [0, 1, 2]
    assert env.get_action_space(2) == Discrete(2)


def test_make_multi_agent_refuses_what_cannot_be():
    """No agents, no actions and strangers are told."""
    kind = make_multi_agent("CartPole-v1")
    env = kind()
    env.reset()

    with pytest.raises(ConfigError, match="num_agents"):
        kind({"num_agents": 0})
    with pytest.raises(ValueError, match="without actions"):
        env.step({})
    with pytest.raises(UnknownAgentError, match="no agent 7"):
        env.step({7: 0})


def test_a_vector_resets_what_ended_in_the_next_step():
    """As gymnasium's next-step autoreset; its action is ignored."""
    Rising.made = 0
    kind = make_multi_agent(lambda context: Rising(context))
    envs = MultiAgentEnvs([kind, kind])
    envs.reset(seed=0)

    ends = []
    for _ in range(4):
        _, rewards, terminateds, _, _ = envs.step([{0: 0}, {0: 1}])
        ends.append([flags.get("__all__") for flags in terminateds])

    assert ends == [[False, False], [True, False], [None, True], [False, None]]
    assert rewards == [{0: 1.0}, {}]
    assert isinstance(envs.single_observation_space, Dict)
    envs.close()


def test_a_vector_tells_who_returned_no_dict():
    """The place in the vector is in the error."""

    class Odd(MultiAgentEnv):
        possible_agents = agents = ("a",)
        observation_spaces = action_spaces = {"a": SEEN}  # noqa: RUF012

        def reset(self, *, seed=None, options=None):
            return np.zeros(2), {}

    with pytest.raises(MultiAgentEnvError, match=r"environment 0 returned observations from reset"):
        MultiAgentEnvs([Odd]).reset_all()
