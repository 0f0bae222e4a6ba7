"""`GroupAgentsWrapper`: several agents as one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from rlconnect.core.errors import ConfigError, EpisodeError
from rlconnect.v2 import GroupAgentsWrapper, MultiAgentEnv, PPOConfig

_SPACE = gym.spaces.Discrete(3)


class _Three(MultiAgentEnv):
    """Agents "a", "b" and "c"; what happens in step 2 and 3 is told by the tests."""

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.agents = self.possible_agents = ["a", "b", "c"]
        self.observation_spaces = dict.fromkeys(self.agents, _SPACE)
        self.action_spaces = {agent: gym.spaces.Discrete(2 + n) for n, agent in enumerate("abc")}
        self.count = 0
        self.taken: dict[str, Any] = {}

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.count = 0
        return {"a": 0, "b": 1, "c": 2}, {"a": {"x": 1}, "b": {}}

    def step(self, action_dict: Any) -> Any:
        self.count += 1
        self.taken = action_dict
        if self.count == 1:
            seen = {"a": 1, "b": 2, "c": 0}
            earned = {"a": 1.0, "b": 2.5, "c": 3.0}
            ended = {"a": True, "b": False, "c": True, "__all__": False}
            return seen, earned, ended, {"__all__": False}, {"a": {"q": 1}, "b": {"q": 2}, "c": {}}
        seen = {"a": 1, "b": 2}
        return seen, {"a": 1.0}, {"__all__": True}, {"__all__": False}, {}


def test_a_group_sees_acts_and_earns_for_its_members() -> None:
    """Observations and actions are tuples, rewards sums; a group is done when all members are."""
    env = _Three()
    grouped = env.with_agent_groups({"g": ["b", "a"]})

    first = grouped.reset(seed=0)
    seen, earned, ended, cut, infos = grouped.step({"g": (1, 0), "c": 2})

    assert first == ({"g": (1, 0), "c": 2}, {"g": {"_group_info": [{}, {"x": 1}]}})
    assert env.taken == {"b": 1, "a": 0, "c": 2}
    assert seen == {"g": (2, 1), "c": 0}
    assert earned == {"g": 3.5, "c": 3.0}
    assert ended == {"g": False, "c": True, "__all__": False}
    assert cut == {"__all__": False}
    assert infos == {
        "c": {},
        "g": {"_group_info": [{"q": 2}, {"q": 1}], "_group_rewards": [2.5, 1.0]},
    }


def test_spaces_are_tuples_of_the_members() -> None:
    """Each group has the tuple of its members' spaces, unless one is given."""
    grouped = GroupAgentsWrapper(_Three(), {"g": ["b", "a"]})
    given = gym.spaces.Tuple([_SPACE, _SPACE])
    told = GroupAgentsWrapper(_Three(), {"g": ["a", "b"]}, obs_space=given)

    assert grouped.get_action_space("g") == gym.spaces.Tuple(
        [gym.spaces.Discrete(3), gym.spaces.Discrete(2)]
    )
    assert grouped.get_observation_space("c") == _SPACE
    assert grouped.possible_agents == ["g", "c"]
    assert grouped.get_agent_ids() == {"g", "c"}
    assert told.get_observation_space("g") == told.observation_space == given


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"g": ["a", "z"]}, "'z' that is no agent"),
        ({"g": ["a"], "h": ["a"]}, "in two groups"),
        ({"c": ["a", "b"]}, "an agent outside of it"),
    ],
)
def test_groups_that_make_no_sense_are_refused(groups: Any, words: str) -> None:
    """An agent that is not there, or is there twice, is told when the wrapper is made."""
    with pytest.raises(ConfigError, match=words):
        GroupAgentsWrapper(_Three(), groups)


def test_part_of_a_group_is_told() -> None:
    """Where some members have a reward and some have none, or actions are missing, it says so."""
    grouped = GroupAgentsWrapper(_Three(), {"g": ["a", "b"]})
    grouped.reset()
    grouped.step({"g": (0, 0), "c": 0})

    with pytest.raises(EpisodeError, match=r"'a' takes part in this step and 'b' does not"):
        grouped.step({"g": (0, 0)})
    with pytest.raises(EpisodeError, match="2 members and was given 1"):
        grouped.step({"g": (0,)})


class _Team(MultiAgentEnv):
    """Two agents that always act together, as one team."""

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.env = _Pair().with_agent_groups({"team": [0, 1]})
        self.agents = self.possible_agents = ["team"]
        self.observation_spaces = self.env.observation_spaces
        self.action_spaces = self.env.action_spaces

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self.env.reset(seed=seed, options=options)

    def step(self, action_dict: Any) -> Any:
        return self.env.step(action_dict)


class _Pair(MultiAgentEnv):
    def __init__(self) -> None:
        self._agent_ids = {0, 1}  # as older code names its agents
        super().__init__()
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (2,))
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.left = 5
        return dict.fromkeys((0, 1), self.observation_space.low), {}

    def step(self, action_dict: Any) -> Any:
        self.left -= 1
        seen = dict.fromkeys((0, 1), self.observation_space.high)
        ended = {0: not self.left, 1: not self.left, "__all__": not self.left}
        return seen, {0: float(action_dict[0]), 1: 1.0}, ended, {"__all__": False}, {}


def test_a_team_trains() -> None:
    """A policy learns to act for a whole group: tuples of observations and of actions."""
    from rlconnect.v2 import FlattenObservations

    config = (
        PPOConfig()
        .environment(_Team)
        .multi_agent(policies={"p"}, policy_mapping_fn=lambda *_: "p")
        .env_runners(
            num_env_runners=0,
            env_to_module_connector=lambda env, spaces, device: FlattenObservations(
                multi_agent=True
            ),
        )
        .training(train_batch_size_per_learner=50, minibatch_size=25, num_epochs=1)
    )

    result = config.build_algo().train()

    assert result["env_runners"]["agent_episode_returns_mean"].keys() == {"team"}
    assert 5.0 <= result["env_runners"]["episode_return_mean"] <= 10.0
