"""Agents that enter after all agents so far are done, while `"__all__"` is False."""

import numpy as np
import pytest
import rlconnect.v2 as v2
from gymnasium import spaces
from rlconnect.v2.env_runners import running_multi_agent
from rlconnect.v2.episodes.errors import MultiAgentEnvError


class Gate(v2.MultiAgentEnv):
    """Agent a makes two steps; b enters `gap` steps later and makes three; then `"__all__"`."""

    def __init__(self, gap=1, end=None, log=None):
        super().__init__()
        self.gap, self.end = gap, 5 + gap if end is None else end
        self.log = [] if log is None else log
        self.agents = self.possible_agents = ["a", "b"]
        self.observation_spaces = dict.fromkeys("ab", spaces.Box(-99.0, 99.0, (1,), np.float32))
        self.action_spaces = dict.fromkeys("ab", spaces.Discrete(2))

    def see(self):
        return np.full(1, self.t, np.float32)

    def reset(self, *, seed=None, options=None):
        self.log.append("reset")
        self.t = 0
        return {"a": self.see()}, {}

    def step(self, action_dict):
        self.log.append("".join(action_dict))
        self.t += 1
        seen, earned, over = {}, {}, {"__all__": self.t == self.end}
        if self.t <= 2:
            seen["a"], earned["a"], over["a"] = self.see(), 1.0, self.t == 2
        if self.t >= 2 + self.gap and self.t <= 5 + self.gap:
            seen["b"], earned["b"] = self.see(), 10.0
        return seen, earned, over, {"__all__": False}, {}


def runner(*args, envs=1, **kwargs):
    config = v2.PPOConfig().environment(lambda _: Gate(*args, **kwargs), disable_env_checking=True)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=envs)
    config.multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")
    config.rl_module(model_config=v2.DefaultModelConfig(fcnet_hiddens=[4]))
    return v2.MultiAgentEnvRunner(config=config)


def told(episodes):
    return [
        {
            agent: (single.get_observations()[:, 0].tolist(), single.is_terminated)
            for agent, single in episode.agent_episodes.items()
        }
        for episode in episodes
    ]


@pytest.mark.parametrize(("gap", "first"), [(1, 3), (2, 4), (3, 5)])
def test_an_agent_that_enters_later_plays_without_a_reset(gap, first):
    """As real Ray 2.60 does: the next episode begins with the next observations."""
    log = []
    made = runner(gap, log=log)

    episodes = made.sample(num_timesteps=12, explore=False)
    metrics = made.get_metrics()

    own = {"a": ([0.0, 1.0, 2.0], True)}
    late = {"b": ([first, first + 1.0, first + 2.0, first + 3.0], True)}
    assert told(episodes) == [own, late, own, late, {"a": ([0.0, 1.0, 2.0], True)}]
    course = ["reset", "a", "a", *[""] * gap, "b", "b", "b"]
    assert log == (course * 3)[: len(log)]
    assert metrics["num_env_steps_sampled"].peek() == 12
    assert metrics["num_episodes"].peek() == 5
    assert {a: n.peek() for a, n in metrics["num_agent_steps_sampled"].items()} == {"a": 6, "b": 6}


def test_several_environments_wait_for_their_own_agents():
    """One environment waits for its next agent while others make steps."""
    gaps = iter([1, 3])
    config = v2.PPOConfig().environment(lambda _: Gate(next(gaps)), disable_env_checking=True)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=2)
    config.multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")

    episodes = v2.MultiAgentEnvRunner(config=config).sample(num_timesteps=11)

    assert sorted(next(iter(each)) + str(len(each)) for each in told(episodes)) == [
        "a1",
        "a1",
        "a1",
        "b1",
        "b1",
    ]
    first_of_b = sorted(each["b"][0][0] for each in told(episodes) if "b" in each)
    assert first_of_b == [3.0, 5.0]


def test_an_agent_that_enters_as_the_last_one_leaves_joins_its_episode():
    """Where Ray splits the episode, and loses the observation that the agent enters with."""
    episodes = runner(0).sample(num_timesteps=5)

    assert told(episodes) == [
        {"a": ([0.0, 1.0, 2.0], True), "b": ([2.0, 3.0, 4.0, 5.0], True)},
    ]


def test_an_environment_that_ends_while_it_has_no_agents_is_reset():
    """`"__all__"` may come after the last agent has left."""
    log = []

    episodes = runner(9, end=4, log=log).sample(num_timesteps=4)

    assert told(episodes) == [{"a": ([0.0, 1.0, 2.0], True)}] * 2
    assert log == ["reset", "a", "a", "", "", "reset", "a", "a"]


def test_an_environment_that_never_ends_and_has_no_agents_is_an_error(monkeypatch):
    """Real Ray steps it for ever."""
    monkeypatch.setattr(running_multi_agent, "_MOST_GAP_STEPS", 50)

    with pytest.raises(MultiAgentEnvError, match="keeps running without agents") as error:
        runner(99, end=999).sample(num_timesteps=4)

    assert "__all__" in error.value.hint


def test_a_runner_between_two_episodes_resumes_without_a_reset():
    """The state of a running environment records that its agents are still to come."""
    log = []
    made = runner(3, log=log)
    made.sample(num_timesteps=2)
    assert made.running.gap_steps == [1]

    restored = made.new_running()
    restored.set_state(made.running.get_state())
    made.running = restored
    episodes = made.sample(num_timesteps=3)

    assert list(told(episodes)[0]) == ["b"]
    assert log.count("reset") == 1


class Fleeting(Gate):
    """Agent a acts; b enters and leaves in the last step."""

    def step(self, action_dict):
        self.t += 1
        seen = {agent: self.see() for agent in ("a", "b")[: self.t]}
        over = {"__all__": self.t == 2}
        return seen, dict.fromkeys(seen, 1.0), over, {"__all__": False}, {}


def test_observations_of_agents_without_a_step_count():
    """As in real Ray 2.60: an agent step is an observation that `step()` returns."""
    config = v2.PPOConfig().environment(lambda _: Fleeting(), disable_env_checking=True)
    config.multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")
    made = v2.MultiAgentEnvRunner(config=config)

    made.sample(num_timesteps=4)
    metrics = made.get_metrics()

    counts = {agent: n.peek() for agent, n in metrics["num_agent_steps_sampled"].items()}
    assert counts == {"a": 4, "b": 2}
    assert metrics["num_module_steps_sampled"]["p"].peek() == 6
