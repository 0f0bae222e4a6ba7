"""PettingZoo's environments as multi-agent environments; the fakes follow PettingZoo's API."""

import pytest
from gymnasium.spaces import Discrete
from rlconnect.core.errors import EpisodeError
from rlconnect.v2 import (
    DefaultModelConfig,
    FlattenObservations,
    MultiAgentEnvRunner,
    ParallelPettingZooEnv,
    PettingZooEnv,
    PPOConfig,
)


class Parallel:
    """p and q act at once; q terminates after two steps, p is truncated after three."""

    metadata = {"name": "parallel", "render_modes": ["human"]}  # noqa: RUF012
    render_mode = None
    possible_agents = ("p", "q")

    def observation_space(self, agent):
        return Discrete(9)

    def action_space(self, agent):
        return Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents, self.t = ["p", "q"], 0
        return dict.fromkeys(self.agents, 0), {agent: {"seed": seed} for agent in self.agents}

    def step(self, actions):
        self.t += 1
        here = list(self.agents)
        over = {agent: agent == "q" and self.t >= 2 for agent in here}
        cut = {agent: self.t >= 3 for agent in here}
        self.agents = [agent for agent in here if not (over[agent] or cut[agent])]
        seen = dict.fromkeys(here, self.t)
        return seen, dict.fromkeys(here, float(self.t)), over, cut, {agent: {} for agent in here}

    def render(self):
        return "picture"

    def close(self):
        self.is_closed = True


class Turns:
    """p, q and r act one after the other; q terminates at step 4, all are truncated at step 7."""

    metadata = {"name": "turns"}  # noqa: RUF012
    possible_agents = ("p", "q", "r")

    def observation_space(self, agent):
        return Discrete(99)

    def action_space(self, agent):
        return Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents, self.t = list(self.possible_agents), 0
        self.owed = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"is": agent} for agent in self.agents}
        self.agent_selection = "p"

    def observe(self, agent):
        return 10 * self.possible_agents.index(agent) + self.t

    def last(self):
        me = self.agent_selection
        flags = self.terminations[me], self.truncations[me]
        return self.observe(me), self.owed[me], *flags, self.infos[me]

    def step(self, action):
        me = self.agent_selection
        following = self.agents[(self.agents.index(me) + 1) % len(self.agents)]
        if self.terminations[me] or self.truncations[me]:
            assert action is None
            self.agents.remove(me)
        else:
            self.t += 1
            self.owed[me] = 0.0
            for agent in self.agents:
                self.owed[agent] += 1.0 if agent == me else 0.25
            self.terminations["q"] = self.t >= 4
            self.truncations = dict.fromkeys(self.truncations, self.t >= 7)
        self.agent_selection = following

    def render(self):
        return "picture"

    def close(self):
        self.is_closed = True


def test_parallel_steps_are_handed_on():
    """What PettingZoo returns comes back by agent, with `__all__`; recorded from Ray 2.60."""
    env = ParallelPettingZooEnv(Parallel())

    assert env.reset(seed=4) == ({"p": 0, "q": 0}, {"p": {"seed": 4}, "q": {"seed": 4}})
    first, second, third = (env.step({"p": 0, "q": 1}) for _ in range(3))

    assert first[:2] == ({"p": 1, "q": 1}, {"p": 1.0, "q": 1.0})
    assert first[2] == first[3] == {"p": False, "q": False, "__all__": False}
    assert second[2] == {"p": False, "q": True, "__all__": False}
    assert third[2:4] == ({"p": False, "__all__": False}, {"p": True, "__all__": True})
    assert env.agents == []


def test_parallel_ends_where_one_terminates_and_another_is_cut_off():
    """Nobody is left, so the episode is over, truncated for the one that was."""

    class Mixed(Parallel):
        def step(self, actions):
            self.t = 2
            return super().step(actions)

    env = ParallelPettingZooEnv(Mixed())
    env.reset()

    _, _, over, cut, _ = env.step({"p": 0, "q": 0})

    assert over == {"p": False, "q": True, "__all__": False}
    assert cut == {"p": True, "q": True, "__all__": True}


@pytest.mark.parametrize(
    ("kind", "inner"), [(ParallelPettingZooEnv, Parallel), (PettingZooEnv, Turns)]
)
def test_adapters_declare_what_the_environment_does(kind, inner):
    """Agents in PettingZoo's order, spaces by agent and as one Dict, rendering and closing."""
    env = kind(inner())

    assert env.possible_agents == list(inner.possible_agents)
    assert env.observation_space["q"] == env.get_observation_space("q")
    assert env.get_action_space("p") == Discrete(2)
    assert env.metadata["name"] == inner.metadata["name"]
    assert env.render() == "picture"
    env.close()
    assert env.get_sub_environments.is_closed


def test_turns_go_to_the_agent_whose_turn_it_is():
    """Observation and reward since its own last step; the first steps are recorded from Ray."""
    env = PettingZooEnv(Turns())

    assert env.reset()[0] == {"p": 0}
    assert env.step({"p": 1})[:2] == ({"q": 11}, {"q": 0.25})
    assert env.step({"q": 1})[:2] == ({"r": 22}, {"r": 0.5})
    assert env.step({"r": 1})[:2] == ({"p": 3}, {"p": 1.5})


def test_who_is_done_gets_a_last_observation_when_its_turn_comes():
    """q terminates in p's turn, and r is next; at the end all that are left are told."""
    env = PettingZooEnv(Turns())
    env.reset()
    for agent in "pqr":
        env.step({agent: 1})

    seen, _, over, cut, _ = env.step({"p": 1})

    assert seen == {"q": 14, "r": 24}
    assert over == {"q": True, "r": False, "__all__": False}
    assert env.agents == ["p", "r"]
    for agent in "rp":
        env.step({agent: 1})
    seen, _, over, cut, _ = env.step({"r": 1})
    assert (seen, env.agents) == ({"p": 7, "r": 27}, [])
    assert cut == {"p": True, "r": True, "__all__": True}
    assert over["__all__"] is False


def test_an_action_of_somebody_else_is_told():
    """The error says whose turn it is."""
    env = PettingZooEnv(Turns())
    env.reset()

    with pytest.raises(EpisodeError, match="the turn of agent 'p'"):
        env.step({"q": 1})


def settings(make):
    """A config for one network that all agents share."""
    return (
        PPOConfig()
        .environment(make)
        .env_runners(
            num_env_runners=0,
            env_to_module_connector=lambda env, spaces, device: FlattenObservations(
                multi_agent=True
            ),
        )
        .multi_agent(policies={"all"}, policy_mapping_fn=lambda agent, episode, **_: "all")
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[4]))
    )


def test_a_runner_plays_in_turns():
    """Each agent's own steps, with what it earned in between."""
    config = settings(lambda context: PettingZooEnv(Turns()))

    (episode,) = MultiAgentEnvRunner(config=config).sample(num_episodes=1)

    steps = {agent: len(single) for agent, single in episode.agent_episodes.items()}
    assert steps == {"p": 3, "q": 1, "r": 3}
    assert episode.agent_episodes["p"].get_rewards().tolist() == [1.5, 1.25, 1.25]
    assert episode.agent_episodes["q"].is_terminated
    assert (episode.is_truncated, len(episode)) == (True, 7)


def test_a_runner_plays_pettingzoos_own_parallel_environments():
    """Agents come and go in PettingZoo's generated environment."""
    pettingzoo = pytest.importorskip("pettingzoo")

    class Real(Parallel, pettingzoo.ParallelEnv):
        pass

    config = settings(lambda context: ParallelPettingZooEnv(Real()))

    (episode,) = MultiAgentEnvRunner(config=config).sample(num_episodes=1)

    assert {agent: len(single) for agent, single in episode.agent_episodes.items()} == {
        "p": 3,
        "q": 2,
    }


def test_a_runner_plays_pettingzoos_own_turns():
    """An environment derived from PettingZoo's AECEnv, whose `last` and rewards are its own."""
    pettingzoo = pytest.importorskip("pettingzoo")

    class Real(pettingzoo.AECEnv):
        metadata = {"name": "real"}  # noqa: RUF012
        possible_agents = ["p", "q"]  # noqa: RUF012
        observation_space, action_space = Turns.observation_space, Turns.action_space
        observe = Turns.observe

        def reset(self, seed=None, options=None):
            self.agents, self.t, self.agent_selection = ["p", "q"], 0, "p"
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
            self.terminations = dict.fromkeys(self.agents, False)
            self.truncations = dict.fromkeys(self.agents, False)
            self.infos = {agent: {} for agent in self.agents}

        def step(self, action):
            me = self.agent_selection
            if self.terminations[me]:
                self._was_dead_step(action)
                self.agent_selection = self.agents[0] if self.agents else me
                return
            self.t += 1
            self._cumulative_rewards[me] = 0.0
            self.rewards = {agent: float(agent == me) for agent in self.agents}
            self.terminations = dict.fromkeys(self.agents, self.t >= 4)
            self._accumulate_rewards()
            self.agent_selection = "q" if me == "p" else "p"

    config = settings(lambda context: PettingZooEnv(Real()))

    (episode,) = MultiAgentEnvRunner(config=config).sample(num_episodes=1)

    returns = {agent: single.get_return() for agent, single in episode.agent_episodes.items()}
    assert returns == {"p": 2.0, "q": 2.0}
    assert episode.is_terminated
