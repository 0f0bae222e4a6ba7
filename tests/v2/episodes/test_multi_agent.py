"""Many agents' episode, held to a plain model: who steps, what hangs, what getters find."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import EpisodeError
from rlconnect.v2 import MultiAgentEnvError, MultiAgentEpisode
from rlconnect.v2.episodes.errors import EpisodeItemError, EpisodeKeyError

AGENTS = "abcd"


def module_of(agent, episode):
    return "m_" + agent


def new(**kwargs):
    return MultiAgentEpisode(id_="M", agent_to_module_mapping_fn=module_of, **kwargs)


class PlainModel:
    """What an episode means, agent by agent, with a loop over everything."""

    def __init__(self):
        self.t = 0
        self.obs, self.at, self.actions, self.rewards, self.outputs = {}, {}, {}, {}, {}
        self.waiting, self.owed, self.done = {}, {}, {}
        self.stepped = []

    def reset(self, observations):
        for agent, seen in observations.items():
            self.arrive(agent, seen)
        self.stepped = list(observations)

    def arrive(self, agent, seen):
        self.obs[agent], self.at[agent] = [seen], [self.t]
        self.actions[agent], self.rewards[agent], self.outputs[agent] = [], [], []

    def step(self, observations, actions, rewards, terminateds):
        self.t += 1
        self.stepped = []
        for agent, action in actions.items():
            self.waiting[agent] = action
        for agent in AGENTS:
            seen = observations.get(agent)
            over = terminateds.get("__all__") or terminateds.get(agent)
            if agent in self.obs and not self.done.get(agent):
                self.owed[agent] = self.owed.get(agent, 0.0) + rewards.get(agent, 0.0)
                if seen is None and over and agent in self.waiting:
                    seen = self.obs[agent][-1]
                if seen is not None:
                    self.obs[agent].append(seen)
                    self.at[agent].append(self.t)
                    self.actions[agent].append(self.waiting.pop(agent))
                    self.outputs[agent].append(-self.actions[agent][-1])
                    self.rewards[agent].append(self.owed.pop(agent))
                    self.stepped.append(agent)
                self.done[agent] = bool(over)
            elif seen is not None and not over:
                self.arrive(agent, seen)
                self.stepped.append(agent)


@st.composite
def lives(draw, agents=AGENTS):
    """Steps that may have happened: who acts may wait, come late, leave, or see nothing."""
    together = draw(st.booleans())
    first = list(agents) if together else draw(st.lists(st.sampled_from(agents), min_size=1))
    ready, waiting, done = set(first), set(), set()
    born = set(first)
    steps = []
    for step in range(1, draw(st.integers(1, 9)) + 1):
        acting = [agent for agent in agents if agent in ready]
        lucky = draw(st.sets(st.sampled_from(agents))) if not together else set(agents)
        seeing = [
            agent
            for agent in agents
            if agent not in done
            and agent in lucky
            and (agent in ready or agent in waiting or agent not in born)
        ]
        leaving = [agent for agent in born if agent in seeing and draw(st.integers(0, 9)) == 0]
        rewarded = {*acting, *draw(st.sets(st.sampled_from(agents)))} - done
        steps.append(
            (
                {agent: 100 * step + ord(agent) for agent in seeing},
                {agent: step for agent in acting},
                {agent: step + ord(agent) / 1000 for agent in sorted(rewarded)},
                {agent: True for agent in leaving},
            )
        )
        waiting |= set(acting)
        waiting -= set(seeing)
        ready = set(seeing) - set(leaving)
        born |= set(seeing)
        done |= set(leaving)
        if born <= done:
            break
    return {agent: ord(agent) for agent in sorted(set(first))}, steps


def lived(life, *, show_at=-1, numpy_at=-1, copy_at=-1):
    """An episode and the plain model after the same life."""
    reset, steps = life
    episode, model = new(), PlainModel()
    episode.add_env_reset(observations=reset, infos={agent: {"t": 0} for agent in reset})
    model.reset(reset)
    for place, (seen, acted, earned, over) in enumerate(steps):
        if place == show_at:
            assert set(episode.agent_episodes) == set(model.obs)
        if place == numpy_at:
            episode.to_numpy()
        if place == copy_at:
            episode = MultiAgentEpisode.from_state(episode.get_state())
        given_away = dict(seen), dict(acted), dict(earned)
        outputs = {agent: {"out": -action} for agent, action in acted.items()}
        infos = {agent: {"t": place + 1} for agent in seen}
        episode.add_env_step(*given_away, infos, terminateds=over, extra_model_outputs=outputs)
        model.step(seen, acted, earned, over)
        for reused in (*given_away, outputs, infos):
            reused.clear()
    return episode, model


def assert_same(episode, model):
    agents = sorted(model.obs)
    plain = {agent: columns(episode.agent_episodes[agent]) for agent in agents}
    assert set(episode.agent_ids) == set(agents)
    for agent in agents:
        assert plain[agent]["obs"] == model.obs[agent]
        assert plain[agent]["actions"] == model.actions[agent]
        assert plain[agent]["rewards"] == pytest.approx(model.rewards[agent])
        assert plain[agent]["out"] == model.outputs[agent]
        assert plain[agent]["infos"] == len(model.obs[agent])
        assert episode.agent_episodes[agent].is_terminated == bool(model.done.get(agent))
    assert episode.hanging.actions == model.waiting
    assert set(episode.get_agents_that_stepped()) == set(model.stepped)
    assert list(episode.get_agents_that_stepped()) == [
        agent for agent in episode.agent_ids if agent in model.stepped
    ]
    assert episode.env_t == model.t
    episode.validate()


def columns(single):
    outputs = single.extra_model_outputs
    return {
        "obs": list(single.get_observations()),
        "actions": list(single.get_actions()),
        "rewards": list(single.get_rewards()),
        "out": list(outputs["out"].get()) if outputs else [],
        "infos": len(single.get_infos()),
    }


@given(lives(), st.integers(-1, 6), st.integers(-1, 6), st.integers(-1, 6))
def test_any_life_is_that_of_the_plain_model(life, show_at, numpy_at, copy_at):
    """Looked at, finalized or restored at any step, agents hold what the plain model holds.

    The dicts given to the episode are emptied afterwards, as environments reuse theirs.
    """
    assert_same(*lived(life, show_at=show_at, numpy_at=numpy_at, copy_at=copy_at))


@given(lives())
def test_getters_find_what_the_plain_model_has(life):
    """By environment step each agent's observation, action and reward stand where they belong."""
    episode, model = lived(life)

    for step in range(model.t + 1):
        seen = {a: model.obs[a][model.at[a].index(step)] for a in model.obs if step in model.at[a]}
        assert episode.get_observations(step) == seen
        assert episode.get_observations(step - model.t - 1) == seen
    for step in range(model.t):
        acted = {}
        for agent, times in model.at.items():
            if step in times:
                actions = [*model.actions[agent], model.waiting.get(agent)]
                action = actions[times.index(step)]
                if action is not None:
                    acted[agent] = action
        assert episode.get_actions(step) == acted
        assert episode.get_rewards(step).keys() == acted.keys()
    rows = episode.get_observations(return_list=True)
    assert rows == [episode.get_observations(step) for step in range(model.t + 1)]
    filled = episode.get_observations(slice(None), fill=-1)
    assert all(len(values) == model.t + 1 for values in filled.values())


@given(lives(), st.integers(1, 3), st.booleans())
def test_cut_and_joined_again(life, lookback, numpy):
    """Cut after any step, gone on with and joined, it is what it would have been."""
    reset, steps = life
    at = len(steps) // 2
    whole, _ = lived(life)
    first, _ = lived((reset, steps[:at]))
    if numpy:
        first.to_numpy()
    if first.is_done:
        return

    second = first.cut(lookback)
    for seen, acted, earned, over in steps[at:]:
        outputs = {agent: {"out": -action} for agent, action in acted.items()}
        second.add_env_step(seen, acted, earned, terminateds=over, extra_model_outputs=outputs)
    first.concat_episode(second)

    assert first.env_t == whole.env_t
    assert set(first.agent_ids) == set(whole.agent_ids)
    for agent, single in whole.agent_episodes.items():
        joined, expected = columns(first.agent_episodes[agent]), columns(single)
        assert joined.pop("rewards") == pytest.approx(expected.pop("rewards"))
        assert joined == expected
    assert first.hanging.actions == whole.hanging.actions
    first.validate()


@given(lives(), st.integers(0, 9), st.integers(0, 9), st.booleans())
def test_slices_hold_the_steps_within(life, start, stop, numpy):
    """A slice has each agent's observations of its steps; writing to it changes nothing else."""
    episode, model = lived(life)
    if numpy:
        episode.to_numpy()
    start, stop = sorted((min(start, model.t), min(stop, model.t)))
    before = {agent: columns(single) for agent, single in episode.agent_episodes.items()}

    part = episode[start:stop]
    part.validate()
    for single in part.agent_episodes.values():
        single.set_observations(new_data=-5, at_indices=0)

    after = {agent: columns(single) for agent, single in episode.agent_episodes.items()}
    assert after == before
    assert (part.env_t_started, part.env_t) == (start, stop)
    for agent, single in part.agent_episodes.items():
        within = [
            seen
            for seen, at in zip(model.obs[agent], model.at[agent], strict=True)
            if start <= at <= stop
        ]
        assert list(single.get_observations())[1:] == within[1:]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
@given(life=lives(), numpy=st.booleans())
def test_copies_go_on_by_themselves(copied, life, numpy):
    """Deep copies and pickles have the same data and share none of it."""
    episode, model = lived(life)
    if numpy:
        episode.to_numpy()

    twin = copied(episode)
    for single in twin.agent_episodes.values():
        single.set_observations(new_data=-5, at_indices=0)

    assert_same(episode, model)
    assert twin.env_t == episode.env_t
    assert list(twin.agent_ids) == list(episode.agent_ids)
    assert twin.get_agents_to_act() == episode.get_agents_to_act()


def test_the_order_of_agents_is_that_of_their_appearance():
    """Sets of agents are walked in one order in every process, however steps order theirs."""
    episode = new()
    episode.add_env_reset(observations={"z": 0, "y": 0})
    episode.add_env_step({"x": 1, "y": 1, "z": 1}, {"z": 0, "y": 0}, {"z": 0.0, "y": 0.0})

    assert list(episode.agent_ids) == ["z", "y", "x"]
    assert list(episode.get_agents_that_stepped()) == ["z", "y", "x"]
    assert list(episode.get_agents_to_act()) == ["z", "y", "x"]
    assert list(episode.get_observations(-1)) == ["z", "y", "x"]
    assert episode.agent_ids == {"x", "y", "z"}


def together(steps=2, **kwargs):
    episode = new(**kwargs)
    episode.add_env_reset(observations={"a": 0, "b": 100})
    for t in range(1, steps + 1):
        episode.add_env_step(
            {"a": t, "b": 100 + t}, {"a": t, "b": -t}, {"a": 0.5 * t, "b": 1.0 * t}
        )
    return episode


def test_an_agents_episode_somebody_holds_keeps_growing():
    """From the first look on, steps reach agents' episodes at once."""
    episode = together(1)
    held = episode.agent_episodes["a"]

    episode.add_env_step({"a": 7, "b": 8}, {"a": 0, "b": 0}, {"a": 1.0, "b": 1.0})

    assert held.get_observations() == [0, 1, 7]
    assert len(held) == 2


@pytest.mark.parametrize(
    ("step", "match"),
    [
        (({"a": 2, "b": 3}, {"a": 0, "b": 0}, {"b": 1.0}), "Agent a .*no reward"),
        (({"a": 2, "b": 3}, {"b": 0}, {"a": 1.0, "b": 1.0}), "Agent a .*without having acted"),
        (({"a": 2, "z": 3}, {"a": 0, "z": 0}, {"a": 1.0}), "Agent z acted before"),
        (({"a": 2}, {"a": 0, "z": 0}, {"a": 1.0}), "Agent z acted before"),
    ],
)
def test_data_that_contradicts_itself(step, match):
    """An error names the agent and what is wrong, and nothing is changed."""
    episode = together(1)

    with pytest.raises(MultiAgentEnvError, match=match):
        episode.add_env_step(*step)

    assert episode.env_t == 1
    assert episode.get_observations() == {"a": [0, 1], "b": [100, 101]}


@pytest.mark.parametrize("seen", [{"a": 3}, {"a": 3, "b": 9}])
def test_agents_that_wait_cannot_act_again(seen):
    """An action that hangs is not replaced by another one in silence."""
    episode = together(1)
    episode.add_env_step({"a": 2}, {"a": 0, "b": 0}, {"a": 0.0, "b": 0.0})

    with pytest.raises(MultiAgentEnvError, match="Agent b acted again"):
        episode.add_env_step(seen, {"a": 0, "b": 5}, {"a": 0.0, "b": 0.0})


def test_nothing_follows_the_end():
    """Data for an agent that is done, or after the episode's end, is refused."""
    episode = together(1)
    step = {"a": 0, "b": 0}, {"a": 0, "b": 0}, {"a": 0.0, "b": 0.0}
    episode.add_env_step(*step, terminateds={"a": True})

    with pytest.raises(MultiAgentEnvError, match="Agent a is done"):
        episode.add_env_step(*step)
    episode.add_env_step({"b": 1}, {"b": 0}, {"b": 0.0}, truncateds={"__all__": True})
    with pytest.raises(MultiAgentEnvError, match="already done"):
        episode.add_env_step({}, {}, {})
    with pytest.raises(RuntimeError, match="cannot be cut"):
        episode.cut()


def test_a_truncated_agent_needs_its_last_observation():
    """Truncation without an observation to bootstrap from is an error that says so."""
    episode = together(1)

    with pytest.raises(MultiAgentEnvError, match="Agent a acted and was truncated"):
        episode.add_env_step(
            {"b": 7}, {"a": 9, "b": 9}, {"a": 3.0, "b": 1.0}, truncateds={"a": True}
        )


def test_an_idle_agent_can_be_done():
    """A flag for an agent that neither acts nor waits ends it; its last reward is not lost."""
    episode = together(1)

    episode.add_env_step({"b": 7}, {"b": 9}, {"a": 3.0, "b": 1.0}, terminateds={"a": True})

    assert episode.agent_episodes["a"].is_terminated
    assert len(episode.agent_episodes["a"]) == 1
    assert episode.get_return(include_hanging_rewards=True) == episode.get_return() + 3.0


@pytest.mark.parametrize("flags", [{"b": True}, {"__all__": True}])
@pytest.mark.parametrize("end", ["terminateds", "truncateds"])
def test_a_last_observation_of_an_idle_agent_belongs_to_no_step(end, flags):
    """Who did not act is done with what it had; going on, to observe again is a mistake."""
    episode = new()
    episode.add_env_reset(observations={"a": 0, "b": 10})

    with pytest.raises(MultiAgentEnvError, match="Agent b observed again without having acted"):
        episode.add_env_step({"a": 1, "b": 11}, {"a": 5}, {"a": 1.0})
    episode.add_env_step({"a": 1, "b": 11}, {"a": 5}, {"a": 1.0}, **{end: flags})

    single = episode.agent_episodes["b"]
    assert single.is_done
    assert (len(single), single.get_observations()) == (0, [10])
    assert episode.agent_episodes["a"].get_observations() == [0, 1]


def test_columns_without_arrays_are_read_as_lists():
    """What `to_numpy()` before the first step left as lists comes as lists, filled or not."""
    episode = new()
    episode.add_env_reset(observations={"a": 0})
    episode.to_numpy()

    episode.add_env_step({"a": 1}, {"a": 5}, {"a": 1.0})

    assert episode.get_actions([0, 0]) == {"a": [5, 5]}
    assert episode.get_rewards(slice(0, 2), fill=0.5) == {"a": [1.0, 0.5]}
    np.testing.assert_array_equal(episode.get_observations([0, 1])["a"], [0, 1])


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        # (terminateds, truncateds) of each step; (is_terminated, is_truncated) of each agent.
        ([({"a": True}, {"b": True})], {"a": (True, False), "b": (False, True)}),
        ([({}, {"a": True, "b": True})], {"a": (False, True), "b": (False, True)}),
        ([({}, {"a": True}), ({"b": True}, {})], {"a": (False, True), "b": (True, False)}),
        ([({"a": True}, {}), ({}, {"b": True})], {"a": (True, False), "b": (False, True)}),
    ],
)
def test_the_end_of_all_agents_terminates_the_episode_but_not_its_truncated_agents(steps, wanted):
    """The episode is terminated, as in RLlib; a truncated agent is truncated only."""
    episode = new()
    episode.add_env_reset(observations={"a": 0, "b": 0})

    for terminateds, truncateds in steps:
        live = [agent for agent in "ab" if agent in episode.get_agents_to_act()]
        episode.add_env_step(
            dict.fromkeys(live, 1),
            dict.fromkeys(live, 0),
            dict.fromkeys(live, 1.0),
            terminateds=terminateds,
            truncateds=truncateds,
        )

    assert (episode.is_terminated, episode.is_truncated) == (True, False)
    flags = {
        agent: (single.is_terminated, single.is_truncated)
        for agent, single in episode.agent_episodes.items()
    }
    assert flags == wanted
    terminateds, truncateds = episode.get_terminateds(), episode.get_truncateds()
    assert {agent: truncateds[agent] for agent in "ab"} == {
        a: cut for a, (_, cut) in wanted.items()
    }
    last = {*steps[-1][0], *steps[-1][1]}  # RLlib's answer: who ended last is terminated
    assert {a: terminateds[a] for a in "ab"} == {
        a: over or a in last for a, (over, _) in wanted.items()
    }
    assert (terminateds["__all__"], truncateds["__all__"]) == (True, False)
    assert episode.get_agents_to_act() == set()


def test_agents_without_a_space_are_refused():
    """Where observation spaces are known, an agent that has none is an error, not a surprise."""
    episode = new(observation_space=Dict(a=Discrete(9)), action_space={"a": Discrete(2)})
    episode.add_env_reset(observations={"a": 0})

    with pytest.raises(EpisodeKeyError, match="no observation space for agent 'b'"):
        episode.add_env_step({"a": 1, "b": 2}, {"a": 0}, {"a": 0.0})

    assert episode.env_t == 0
    assert episode.agent_episodes["a"].action_space == Discrete(2)


def test_outputs_must_be_there_from_the_first_step():
    """Outputs that come late or go missing are refused, written down or not."""
    for first, then in (({"a": {"x": 1}, "b": {"x": 1}}, None), (None, {"a": {"x": 1}})):
        episode = new()
        episode.add_env_reset(observations={"a": 0, "b": 0})
        step = {"a": 1, "b": 1}, {"a": 0, "b": 0}, {"a": 0.0, "b": 0.0}
        episode.add_env_step(*step, extra_model_outputs=first)

        with pytest.raises(MultiAgentEnvError, match="Agent a has the extra model outputs"):
            episode.add_env_step(*step, extra_model_outputs=then)

        assert episode.agent_steps() == 2


def test_outputs_of_the_agents_may_differ():
    """Agents of different modules have outputs of their own."""
    episode = new()
    episode.add_env_reset(observations={"a": 0, "b": 0})
    for t in (1, 2):
        episode.add_env_step(
            {"a": t, "b": t},
            {"a": 0, "b": 0},
            {"a": 0.0, "b": 0.0},
            extra_model_outputs={"a": {"x": t}, "b": {"y": t, "z": -t}},
        )

    assert episode.get_extra_model_outputs("x") == {"a": [1, 2]}
    assert episode.get_extra_model_outputs(indices=-1) == {"a": {"x": 2}, "b": {"y": 2, "z": -2}}
    with pytest.raises(EpisodeKeyError, match="nope"):
        episode.get_extra_model_outputs("nope")


@pytest.mark.parametrize("look_back", [0, 1])
def test_a_state_says_by_own_names_only_what_maps_cannot(look_back):
    """Ray 2.60 has the keys without `agent_env_ts`; its map begins where the look-back does."""
    episode = new()
    episode.add_env_reset(observations={"a": 0, "b": 0})
    for t in range(1, 4):
        episode.add_env_step({"a": t}, {"a": 0, **({"b": 0} if t == 1 else {})}, {"a": 0.0})

    assert "agent_env_ts" not in together(3).get_state()
    state = episode.cut(len_lookback_buffer=look_back).get_state()

    assert MultiAgentEpisode.from_state(state).get_state().get("agent_env_ts") == state.get(
        "agent_env_ts"
    )


def test_an_output_too_many_is_found():
    """More outputs than before are noticed at the latest after as many steps as agents."""
    episode = new()
    episode.add_env_reset(observations={"a": 0, "b": 0})
    step = {"a": 1, "b": 1}, {"a": 0, "b": 0}, {"a": 0.0, "b": 0.0}
    episode.add_env_step(*step, extra_model_outputs={"a": {"x": 1}, "b": {"x": 1}})

    def two_steps():
        for _ in range(2):
            episode.add_env_step(*step, extra_model_outputs={"a": {"x": 1}, "b": {"x": 1, "y": 1}})

    with pytest.raises(MultiAgentEnvError, match="Agent b has the extra model outputs"):
        two_steps()


def test_getters_with_other_arguments():
    """Agents by name, own steps, fill beyond the ends, arrays, wrong combinations."""
    episode = together(3)

    assert episode.get_observations(-1, agent_ids="b") == {"b": 103}
    assert episode.get_rewards(-1, agent_ids=["b", "a"]) == {"b": 3.0, "a": 1.5}
    assert episode.get_actions(agent_ids={"a"}, env_steps=False) == {"a": [1, 2, 3]}
    assert episode.get_observations(slice(-6, 1), fill=-1)["a"] == [-1, -1, 0]
    assert episode.get_observations(99, fill=-1) == {"a": -1, "b": -1}
    with pytest.raises(IndexError, match="99"):
        episode.get_observations(99)
    assert episode.get_observations(agent_ids="not_here_yet") == {}
    assert episode.get_rewards(-1, agent_ids=["a", "not_here_yet"]) == {"a": 1.5}
    with pytest.raises(EpisodeError, match=r"env_steps.*\n.*env_steps"):
        episode.get_observations(env_steps=False, return_list=True)
    with pytest.raises(EpisodeError, match="several steps"):
        episode.get_observations(-1, return_list=True)
    episode.to_numpy()
    assert isinstance(episode.get_rewards(slice(0, 2))["a"], np.ndarray)
    assert episode.get_rewards([0, 2])["b"].tolist() == [1.0, 3.0]


def test_hanging_actions_by_own_steps():
    """With agents' own steps an action that hangs is the last one, but not among all."""
    episode = together(2)
    episode.add_env_step({"a": 9}, {"a": 3, "b": 7}, {"a": 0.0, "b": 4.0}, extra_model_outputs=None)

    assert episode.get_actions(-1, env_steps=False) == {"a": 3, "b": 7}
    assert episode.get_actions(slice(-2, None), env_steps=False)["b"] == [-2, 7]
    assert episode.get_actions(env_steps=False)["b"] == [-1, -2]
    assert episode.get_rewards(-1, env_steps=False)["b"] == 4.0


def test_setters():
    """Values are set at steps of each agent's own; unknown agents are refused."""
    episode = together(3)

    episode.set_observations(new_data={"a": 500}, at_indices=-1)
    episode.set_rewards(new_data={"a": [9.0, 8.0], "b": [7.0, 6.0]}, at_indices=slice(0, 2))
    episode.set_actions(new_data={"b": 77}, at_indices=0)

    assert episode.get_observations(-1) == {"a": 500, "b": 103}
    assert episode.get_rewards()["a"] == [9.0, 8.0, 1.5]
    assert episode.get_actions(0) == {"a": 1, "b": 77}
    with pytest.raises(EpisodeKeyError, match="zz"):
        episode.set_observations(new_data={"zz": 1}, at_indices=0)


def test_steps_given_as_lists():
    """Look-back, agents' times, ids and modules come as they are given."""
    episode = new(
        observations=[{"a": 0, "b": 1}, {"a": 2}, {"a": 3, "b": 4}, {"a": 5}],
        actions=[{"a": 10, "b": 11}, {"a": 12}, {"a": 13, "b": 14}],
        rewards=[{"a": 0.1, "b": 0.2}, {"a": 0.3, "b": 0.5}, {"a": 0.7, "b": 0.9}],
        len_lookback_buffer=1,
        env_t_started=5,
        agent_t_started={"a": 7},
        agent_episode_ids={"a": "A"},
        agent_module_ids={"a": "own"},
    )

    a, b = episode.agent_episodes["a"], episode.agent_episodes["b"]
    assert (episode.env_t_started, episode.env_t, len(episode)) == (5, 7, 2)
    assert (a.t_started, a.t, a.get_observations(), a.id_) == (7, 9, [2, 3, 5], "A")
    assert b.observations.data == [1, 4]
    assert b.get_observations() == [4]
    assert episode.hanging.actions == {"b": 14}
    assert (episode.module_for("a"), episode.module_for("b")) == ("own", "m_b")
    assert episode.env_t_to_agent_t["b"].data == [-1, "S", 0, "S"]


def test_lists_of_different_steps_are_refused():
    """One dict of observations more than of actions and rewards."""
    with pytest.raises(EpisodeError, match="do not belong together"):
        new(observations=[{"a": 0}], actions=[{"a": 1}], rewards=[{"a": 1.0}])
    with pytest.raises(EpisodeError, match="without observations"):
        new(actions=[{"a": 1}])


def test_who_is_silent_at_the_end_of_lists_is_done():
    """An agent that stopped observing while nothing of it hangs counts as terminated."""
    episode = new(
        observations=[{"a": 0}, {"a": 1}, {"b": 5}],
        actions=[{"a": 1}, {}],
        rewards=[{"a": 1.0}, {}],
        len_lookback_buffer=0,
        truncateds={"b": True},
    )

    assert episode.get_terminateds() == {"a": True, "b": False, "__all__": False}
    assert episode.agent_episodes["b"].is_truncated


def test_the_mapping_is_asked_once():
    """An agent's module is remembered, and new by default."""
    asked = []

    def mapping(agent, episode):
        asked.append(agent)
        return f"mod{len(asked)}"

    episode = MultiAgentEpisode(agent_to_module_mapping_fn=mapping)
    default = MultiAgentEpisode()

    assert [episode.module_for(agent) for agent in ("a", "b", "a")] == ["mod1", "mod2", "mod1"]
    assert asked == ["a", "b"]
    assert default.module_for("a") == "default_policy"


def test_cut_keeps_what_hangs():
    """Without look-back, too: the agent, its observation, action and reward go on."""
    episode = new()
    episode.add_env_reset(observations={"a": 0})
    episode.add_env_step({"b": 1}, {"a": 10}, {"a": 1.0})

    successor = episode.cut()
    successor.add_env_step({"a": 2}, {"b": 20}, {"a": 0.5, "b": 2.0})

    assert successor.agent_episodes["a"].get_actions() == [10]
    assert successor.agent_episodes["a"].get_rewards() == [1.5]
    assert episode.get_return() == 0


def test_what_goes_on_after_a_cut_is_a_list_again():
    """As in RLlib 2.60, and sharing nothing; joined to arrays it becomes arrays once more."""
    episode = new()
    episode.add_env_reset(observations={"a": {"x": np.zeros(2)}})
    for step in (1, 2):
        episode.add_env_step({"a": {"x": np.full(2, step)}}, {"a": step}, {"a": 1.0})

    follower = episode.to_numpy().cut(len_lookback_buffer=1)
    single = follower.agent_episodes["a"]
    np.testing.assert_equal(
        single.observations.data, [{"x": np.full(2, 1.0)}, {"x": np.full(2, 2.0)}]
    )
    assert (single.actions.data, single.rewards.data) == ([2], [1.0])
    single.observations.data[0]["x"][:] = 9
    follower.add_env_step({"a": {"x": np.full(2, 3.0)}}, {"a": 3}, {"a": 0.5})
    episode.concat_episode(follower)

    assert not follower.is_numpy
    np.testing.assert_equal(episode.get_observations()["a"]["x"], [[0, 0], [1, 1], [2, 2], [3, 3]])
    assert episode.get_rewards()["a"].tolist() == [1.0, 1.0, 0.5]


def test_the_look_back_of_a_cut_has_the_gap_rllib_leaves():
    """A slice leaves one item out until there is a step (Ray 2.60); each step alone is found."""
    episode = new()
    episode.add_env_reset(observations={"a": 0})
    for step in range(4):
        episode.add_env_step({"a": step + 1}, {"a": 10 + step}, {"a": 1.0})

    follower = episode.cut(2)

    assert follower.get_actions(slice(-2, None)) == {"a": [13]}
    assert [follower.get_actions(step)["a"] for step in (-2, -1)] == [12, 13]
    follower.add_env_step({"a": 9}, {"a": 14}, {"a": 1.0})
    assert follower.get_actions(slice(-3, None)) == {"a": [12, 13, 14]}


def test_slices_keep_infos_and_refuse_strides():
    """Infos belong to observations in slices as well."""
    episode = new()
    episode.add_env_reset(observations={"a": 0}, infos={"a": {"t": 0}})
    for t in (1, 2, 3):
        episode.add_env_step({"a": t}, {"a": t}, {"a": 1.0}, {"a": {"t": t}})

    assert episode[1:2].get_infos() == {"a": [{"t": 1}, {"t": 2}]}
    with pytest.raises(EpisodeItemError, match="step 2"):
        episode[::2]
    with pytest.raises(EpisodeItemError, match="1"):
        episode[1]


def test_spaces_travel_with_copies():
    """Dict spaces, dicts of spaces and a user's default come back equal."""
    box = Box(-1, 1, (2,), np.float32)
    for spaces in (Dict(a=box), {"a": box}, None):
        episode = new(observation_space=spaces)
        expected = {} if spaces is None else spaces

        for twin in (
            pickle.loads(pickle.dumps(episode)),
            MultiAgentEpisode.from_state(episode.get_state()),
        ):
            assert twin.observation_space == expected


def test_reset_only_once():
    """A second reset is refused; before the first there is nobody."""
    episode = new()

    assert not episode.is_reset
    assert episode.get_observations(-1) == {}
    assert episode.get_agents_to_act() == set()
    assert episode.get_return() == 0
    episode.add_env_reset(observations={"a": 0})
    with pytest.raises(EpisodeError, match="cannot be reset"):
        episode.add_env_reset(observations={"a": 0})


def test_what_it_prints(capsys):
    """A line for people, and a table of who observed when."""
    episode = together(2)

    episode.print()

    assert repr(episode) == "MAEps(len=2 done=False Rs={'a': 1.5, 'b': 3.0} id_=M)"
    assert capsys.readouterr().out.splitlines()[1].split() == ["a", "x", "x", "x"]
    assert episode.get_duration_s() >= 0.0
