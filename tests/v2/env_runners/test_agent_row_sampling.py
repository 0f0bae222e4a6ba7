"""Many agents sampled in rows give the episodes and metrics that sampling step by step gives."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.arrays.compare import differences
from rlconnect.core.errors import RlconnectError
from rlconnect.v2 import (
    ConnectorV2,
    DefaultCallbacks,
    DefaultModelConfig,
    MultiAgentEnv,
    MultiAgentEnvRunner,
    MultiRLModuleSpec,
    PPOConfig,
    RLModuleSpec,
    TorchRLModule,
)
from rlconnect.v2.env_runners.agent_block import AgentBlock

from .together import plain, worlds

WORLDS = worlds(MultiAgentEnv)
AGENTS = ("a", "b", "c", "d")
SEEN = gym.spaces.Box(-1, 1, (3,), np.float32)
NUMBER, MOVE = gym.spaces.Discrete(3), gym.spaces.Box(-2, 2, (2,), np.float32)
CALLS = [{"num_timesteps": 20}, {"num_timesteps": 31}, {"num_timesteps": 1}, {"num_timesteps": 40}]


class Busy(MultiAgentEnv):
    """Agents come, wait and leave by chance, as often as the settings say.

    Even agents choose a number, odd ones a move. Rewards, infos and observations are drawn; rewards
    tell the order of actions. Observations may come in any order, flags of agents gone once more.
    """

    def __init__(self, config=None):
        super().__init__()
        self.chances = {"end": 0.1, "come": 1.0, **config}
        self.possible_agents = self.agents = list(AGENTS)
        self.observation_spaces = dict.fromkeys(AGENTS, SEEN)
        self.action_spaces = {each: (NUMBER, MOVE)["abcd".index(each) % 2] for each in AGENTS}
        self.rng = np.random.default_rng(self.chances.get("number", 0))
        self.buffer = {each: np.zeros(3, np.float32) for each in AGENTS}

    def chance(self, which):
        return self.rng.random() < self.chances.get(which, 0.0)

    def see(self, agent):
        self.buffer[agent][:] = self.rng.uniform(-1, 1, 3)  # In place: runners have to copy.
        return self.buffer[agent]

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.here = [agent for agent in AGENTS if self.chance("come")] or ["a"]
        self.gone = set()
        self.waiting = []
        return {agent: self.see(agent) for agent in self.here}, {"a": {"first": True}}

    def step(self, actions):
        if self.chance("raise"):
            raise RuntimeError("boom")
        acted = [agent for agent in self.here if agent in actions or agent in self.waiting]
        over, cut = {"__all__": self.chance("end")}, {"__all__": False}
        if not over["__all__"]:
            cut["__all__"] = self.chance("end")
        is_end = over["__all__"] or cut["__all__"]
        seen, earned, infos = {}, {}, {}
        self.waiting = []
        for agent in acted:
            if not is_end and self.chance("wait"):
                self.waiting.append(agent)
                if self.chance("wait"):
                    earned[agent] = float(self.rng.random())
                continue
            seen[agent] = self.see(agent)
            earned[agent] = 0.25
            if agent in actions:
                earned[agent] = float(np.sum(actions[agent])) + [*actions].index(agent)
            if self.rng.random() < 0.3:
                infos[agent] = {"luck": self.rng.random()}
            if self.chance("leave"):
                (over if self.rng.random() < 0.5 else cut)[agent] = True
                self.gone.add(agent)
        self.here = [agent for agent in self.here if agent not in self.gone]
        late = [agent for agent in AGENTS if agent not in self.here and agent not in self.gone]
        for agent in late:
            if not is_end and self.rng.random() < 0.2:
                seen[agent] = self.see(agent)
                self.here.append(agent)
        if not self.here:
            over["__all__"] = True
        if self.chance("again"):
            over.update(dict.fromkeys(self.gone, True))
        if self.chance("shuffle"):
            seen = {str(agent): seen[agent] for agent in self.rng.permutation([*seen])}
        return seen, earned, over, cut, infos


class Nested(Busy):
    """Observations of parts: an array and a number."""

    def __init__(self, config=None):
        super().__init__(config)
        parts = gym.spaces.Dict({"x": SEEN, "n": gym.spaces.Discrete(9)})
        self.observation_spaces = dict.fromkeys(AGENTS, parts)

    def see(self, agent):
        return {"x": super().see(agent), "n": int(self.rng.integers(9))}


class Wide(Busy):
    """One agent's observations are of another dtype than those of the others."""

    def see(self, agent):
        return super().see(agent).astype(np.float64 if agent == "c" else np.float32)


class OfParts(TorchRLModule):
    """Looks at both parts of a nested observation."""

    def setup(self):
        self.layer = torch.nn.Linear(4, 4 if isinstance(self.action_space, gym.spaces.Box) else 3)

    def _forward(self, batch, **kwargs):
        seen = batch["obs"]
        both = torch.cat([seen["x"], seen["n"].float().unsqueeze(-1)], -1)
        return {"action_dist_inputs": self.layer(both)}


class Looking(DefaultCallbacks):
    """Somebody who looks at running episodes: no step may wait."""

    def on_episode_step(self, *, episode, **kwargs):
        episode.get_observations(-1)


class Talkative(TorchRLModule):
    """Gives one output more than others do."""

    def setup(self):
        self.layer = torch.nn.Linear(3, 4 if isinstance(self.action_space, gym.spaces.Box) else 3)

    def _forward(self, batch, **kwargs):
        inputs = self.layer(batch["obs"])
        batch["obs"].zero_()  # In place: runners have to keep rows of their own.
        return {"more": {"sum": inputs.sum(-1)}, "action_dist_inputs": inputs}


def by_letter(agent, episode, **kwargs):
    return f"p{'abcd'.index(agent) % 2}"


class ByEpisode:
    """Another module for an agent in each of its episodes; asked once."""

    def __init__(self):
        self.asked = []
        self.numbers = {}

    def __call__(self, agent, episode, **kwargs):
        if episode is None:
            return by_letter(agent, None)
        number = self.numbers.setdefault(episode.id_, len(self.numbers))
        self.asked.append((number, agent))
        return f"p{'abcd'.index(agent) % 2}{'x' if number % 3 == 0 else ''}"


def sampled(env, calls, *, looks, envs=3, model=None, kinds=None, mapping=by_letter, **more):
    """A runner after some calls, and what they gave."""
    ids = ("p0", "p1", "p0x", "p1x") if isinstance(mapping, ByEpisode) else ("p0", "p1")
    specs = {
        each: RLModuleSpec(
            module_class=(kinds or {}).get(each),
            observation_space=SEEN,
            action_space=(NUMBER, MOVE)[int(each[1])],
            model_config=(model or {}).get(each, DefaultModelConfig(fcnet_hiddens=[4])),
        )
        for each in ids
    }
    config = (
        PPOConfig()
        .environment(
            env,
            env_config=more.pop("env_config", {}),
            disable_env_checking=more.pop("disable_env_checking", False),
        )
        .multi_agent(
            policies=set(ids),
            policy_mapping_fn=mapping,
            count_steps_by=more.pop("count_steps_by", "env_steps"),
        )
        .env_runners(num_envs_per_env_runner=envs, **more)
        .debugging(seed=7)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=specs))
        .fault_tolerance(restart_failed_sub_environments=True)
    )
    if looks:
        config = config.callbacks(Looking)
    runner = MultiAgentEnvRunner(config=config)
    made = [runner.sample(**call) for call in calls]
    runner.stop()
    return runner, made


def of_agent(single):
    return {
        "obs": single.observations.data,
        "actions": single.actions.data,
        "rewards": single.rewards.data,
        "infos": list(single.infos.data),
        "outputs": {key: own.data for key, own in single.extra_model_outputs.items()},
        "lookback": [single.observations.lookback, single.actions.lookback],
        "times": [single.t_started, single.t, len(single)],
        "ends": [single.is_terminated, single.is_truncated],
        "is_numpy": [single.is_numpy, single.actions.finalized, single.rewards.finalized],
        "module": single.module_id,
    }


def facts(episode):
    """All of an episode but its ids and clocks."""
    return {
        "agents": {agent: of_agent(one) for agent, one in episode.agent_episodes.items()},
        "order": [*episode.agent_episodes],
        "env_ts": dict(episode.env_ts),
        "times": [episode.env_t_started, episode.env_t, episode.len_lookback_buffers],
        "ends": [episode.is_terminated, episode.is_truncated],
        "stepped": [*episode.get_agents_that_stepped()],
        "hanging": [
            episode.hanging.actions,
            episode.hanging.outputs,
            episode.hanging.rewards,
            episode.hanging.early_rewards,
        ],
        "mapping": episode.module_ids,
    }


def dtypes(episode):
    return [
        {name: getattr(column.data, "dtype", None) for name, column in columns.items()}
        for single in episode.agent_episodes.values()
        for columns in (
            {"obs": single.observations, "actions": single.actions, "rewards": single.rewards},
            single.extra_model_outputs,
        )
    ]


def counted(runner):
    """All metrics but durations."""
    found = plain(runner.get_metrics())
    words = ("timer", "time_", "sec", "connector", "sample")
    return {key: own for key, own in found.items() if not any(word in key for word in words)}


def check_equal(env, calls, **more):
    """Both ways give the same; returns the runner that samples in rows."""
    pair = []
    for looks in (False, True):
        runner, made = sampled(env, calls, looks=looks, **more)
        pair.append((runner, made, torch.get_rng_state()))
    (in_rows, fast, drawn), (by_step, slow, also_drawn) = pair
    for mine, theirs in zip(fast, slow, strict=True):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert differences(facts(one), facts(other), rtol=1e-6, atol=1e-6) == []
            assert dtypes(one) == dtypes(other)
            one.validate()
    found, expected = counted(in_rows), counted(by_step)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value), key
    assert torch.equal(drawn, also_drawn)
    return in_rows


LSTM = DefaultModelConfig(use_lstm=True, lstm_cell_size=4, fcnet_hiddens=[4])
OFTEN = {"leave": 0.05, "wait": 0.1, "come": 0.6}
CASES = {
    "together": {},
    "one": {"envs": 1},
    "best_actions": {"calls": [{**call, "explore": False} for call in CALLS]},
    "whole_episodes": {"calls": [{"num_episodes": 4}, {"num_episodes": 5}]},
    "lookback": {"episode_lookback_horizon": 4},
    "no_lookback": {"episode_lookback_horizon": 0},
    "agent_steps": {"count_steps_by": "agent_steps"},
    "lists": {"episodes_to_numpy": False},
    "leaving": {"env_config": {"leave": 0.05}},
    "waiting": {"env_config": {"wait": 0.2}},
    "coming": {"env_config": {"come": 0.5}},
    "any_order": {"env_config": {"shuffle": 0.5}},
    "all_of_it": {"env_config": {**OFTEN, "shuffle": 0.5, "again": 0.5}},
    "failing": {"env_config": {"raise": 0.05}},
    "recurrent": {"model": {"p0": LSTM, "p1": LSTM}},
    "one_recurrent": {"model": {"p1": LSTM}, "env_config": OFTEN},
    "recurrent_failing": {"model": {"p0": LSTM}, "env_config": {**OFTEN, "raise": 0.05}},
    "other_outputs": {"kinds": {"p1": Talkative}},
    "other_outputs_leaving": {"kinds": {"p1": Talkative}, "env_config": OFTEN},
}


@pytest.mark.parametrize("name", CASES)
def test_rows_and_steps_give_the_same(name):
    """Episodes, their columns and dtypes, what is drawn, and what is counted do not differ."""
    given = dict(CASES[name])
    check_equal(Busy, given.pop("calls", CALLS), **given)


@pytest.mark.parametrize("chances", [{}, OFTEN])
def test_nested_observations_go_in_rows(chances):
    """Parts of observations are rows of their own, numbers among them."""
    check_equal(Nested, CALLS, kinds={"p0": OfParts, "p1": OfParts}, env_config=chances)


def test_agents_keep_their_own_dtypes():
    """Rows that would give an agent's column another dtype are left to the steps."""
    check_equal(Wide, CALLS, env_config=OFTEN, disable_env_checking=True)


@settings(max_examples=6, derandomize=True, deadline=None)
@given(
    chances=st.fixed_dictionaries(
        {
            "end": st.sampled_from((0.02, 0.2)),
            "leave": st.sampled_from((0.0, 0.02, 0.2)),
            "wait": st.sampled_from((0.0, 0.05, 0.5)),
            "come": st.sampled_from((1.0, 0.5)),
            "raise": st.sampled_from((0.0, 0.05)),
            "shuffle": st.sampled_from((0.0, 0.5)),
            "again": st.sampled_from((0.0, 1.0)),
            "number": st.integers(0, 99),
        }
    ),
    envs=st.integers(1, 4),
    is_recurrent=st.booleans(),
    steps=st.lists(st.integers(1, 40), min_size=1, max_size=4),
)
def test_rows_and_steps_give_the_same_in_any_world(chances, envs, is_recurrent, steps):
    """Whoever comes, waits, leaves or fails, in whatever number of environments and calls."""
    check_equal(
        Busy,
        [{"num_timesteps": count} for count in steps],
        env_config=chances,
        envs=envs,
        model={"p0": LSTM} if is_recurrent else None,
    )


@pytest.mark.parametrize("chances", [{}, OFTEN])
def test_agents_are_mapped_once_an_episode(chances):
    """The mapping may tell another module in each episode; it is asked in the same order."""
    asked = []
    for looks in (False, True):
        mapping = ByEpisode()
        _, made = sampled(Busy, CALLS, looks=looks, mapping=mapping, env_config=chances)
        modules = [
            [(agent, one.module_id, len(one)) for agent, one in each.agent_episodes.items()]
            for call in made
            for each in call
        ]
        asked.append((mapping.asked, modules))

    assert asked[0] == asked[1]
    assert len({*asked[0][0]}) == len(asked[0][0])


@pytest.mark.parametrize("world", ["Leaving", "Coming", "Turns", "Hollow", "Cut"])
def test_known_worlds_go_in_rows_too(world):
    """The worlds whose episodes are recorded from Ray give the same both ways."""
    found = []
    for looks in (False, True):
        config = (
            PPOConfig()
            .environment(WORLDS[world], disable_env_checking=True)
            .multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")
            .env_runners(num_envs_per_env_runner=2)
            .debugging(seed=3)
            .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[4]))
        )
        config = config.callbacks(Looking) if looks else config
        runner = MultiAgentEnvRunner(config=config)
        found.append([[facts(one) for one in runner.sample(num_timesteps=n)] for n in (9, 4, 15)])

    assert differences(*found, rtol=1e-6, atol=1e-6) == []


@pytest.fixture
def added(monkeypatch):
    """What blocks said of each step: None where it was to be recorded by itself."""
    found = []
    add = AgentBlock.add
    monkeypatch.setattr(AgentBlock, "add", lambda *args: found.append(made := add(*args)) or made)
    return found


@pytest.mark.parametrize(
    ("looks", "chances", "is_in_rows"),
    [(False, {}, True), (False, {"shuffle": 1.0}, True), (True, {}, False)],
)
def test_rows_are_for_episodes_nobody_looks_at(looks, chances, is_in_rows, added):
    """Steps go in rows without hooks, in whatever order agents come; with hooks one by one."""
    sampled(Busy, CALLS, looks=looks, env_config=chances)

    assert bool(added) == is_in_rows
    assert None not in added


def test_flags_of_agents_gone_change_nothing(added):
    """Environments may go on saying who is done."""
    counts = []
    for chance in (0.0, 1.0):
        added.clear()
        sampled(Busy, CALLS, looks=False, env_config={"leave": 0.05, "again": chance})
        counts.append((len(added), added.count(None)))

    assert counts[0] == counts[1]
    assert counts[0][1] < counts[0][0] / 2


def test_a_users_piece_sees_each_step():
    """With a piece of the user's in a pipeline nothing waits: it sees each observation."""
    seen = []

    class Watch(ConnectorV2):
        def __call__(self, *, episodes, batch, **kwargs):
            seen.append([len(episode) for episode in episodes])
            return batch

    sampled(
        Busy,
        [{"num_timesteps": 3}],
        looks=False,
        envs=1,
        env_config={"end": 0.0},
        env_to_module_connector=lambda env, spaces, device: Watch(),
    )

    assert seen == [[0], [1], [2], [3]]


def test_a_bad_observation_is_told_in_the_same_way():
    """What no module takes ends sampling in rows as it ends sampling step by step."""

    class Odd(Busy):
        def see(self, agent):
            seen = super().see(agent)
            return seen[:2] if self.rng.random() < 0.05 else seen

    def told(looks):
        with pytest.raises(RlconnectError) as found:
            sampled(Odd, CALLS, looks=looks)
        return type(found.value), found.value.summary

    assert told(looks=False) == told(looks=True)
