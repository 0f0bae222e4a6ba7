"""One agent's episode, held to plain lists: stepped, read, cut, sliced, joined and copied."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import EpisodeError
from rlconnect.v2 import MultiAgentEpisode, SingleAgentEpisode
from rlconnect.v2.episodes.errors import EpisodeItemError, EpisodeKeyError

SPACE = Box(-1000, 1000, (2,), np.float32)


def observation(step):
    return np.array([step, -step], np.float32)


def step_on(episode, step, **flags):
    episode.add_env_step(
        observation(step),
        step % 4,
        step / 2,
        {"i": step},
        extra_model_outputs={"logp": -float(step), "state": {"h": observation(10 + step)}},
        **flags,
    )


def made(steps, **kwargs):
    episode = SingleAgentEpisode(id_="e", **kwargs)
    episode.add_env_reset(observation(0), {"i": 0})
    for step in range(1, steps + 1):
        step_on(episode, step)
    return episode


def columns(episode, indices=None):
    """All columns as plain lists."""
    found = {
        "obs": episode.get_observations(indices),
        "actions": episode.get_actions(indices),
        "rewards": episode.get_rewards(indices),
        "infos": episode.get_infos(indices),
        "logp": episode.get_extra_model_outputs("logp", indices),
    }
    state = episode.get_extra_model_outputs("state", indices)
    found["h"] = state["h"] if isinstance(state, dict) else [one["h"] for one in state]
    return {key: [np.asarray(item).tolist() for item in items] for key, items in found.items()}


class PlainEpisode:
    """What an episode means: the global steps it has, from `started` to `t`, and its look-back."""

    def __init__(self, started=0, t=0, lookback=0):
        self.started, self.t, self.lookback = started, t, lookback

    def columns(self):
        steps = range(self.started + 1, self.t + 1)
        seen = range(self.started, self.t + 1)
        return {
            "obs": [[float(t), -float(t)] for t in seen],
            "actions": [t % 4 for t in steps],
            "rewards": [t / 2 for t in steps],
            "infos": [{"i": t} for t in seen],
            "logp": [-float(t) for t in steps],
            "h": [[10.0 + t, -10.0 - t] for t in steps],
        }


@st.composite
def programs(draw):
    kinds = st.sampled_from(
        ["step", "step", "step", "numpy", "cut", "slice", "state", "pickle", "deepcopy"]
    )
    return draw(st.lists(st.tuples(kinds, st.integers(0, 6), st.integers(0, 6)), max_size=16))


@given(programs(), st.booleans())
def test_any_life_of_an_episode_is_that_of_plain_lists(program, has_spaces):
    """Stepped, cut, sliced, finalized and copied in any order, all columns hold what they must."""
    spaces = {"observation_space": SPACE, "action_space": Discrete(4)} if has_spaces else {}
    episode, plain = made(1, **spaces), PlainEpisode(t=1)
    left_behind = []

    for kind, a, b in program:
        if kind == "step":
            step_on(episode, plain.t + 1)
            plain.t += 1
        elif kind == "numpy":
            episode.to_numpy()
        elif kind == "cut":
            left_behind.append((episode, plain))
            episode = episode.cut(a)
            plain = PlainEpisode(plain.t, plain.t, min(a, plain.t - plain.started + plain.lookback))
        elif kind == "slice":
            left_behind.append((episode, plain))
            length = plain.t - plain.started
            start, stop = min(a, length), max(min(a, length), min(b, length))
            episode = episode.slice(slice(start, stop), len_lookback_buffer=b)
            plain = PlainEpisode(
                plain.started + start, plain.started + stop, min(b, plain.lookback + start)
            )
        elif kind == "state":
            episode = SingleAgentEpisode.from_state(episode.get_state())
        elif kind == "pickle":
            episode = pickle.loads(pickle.dumps(episode))
        elif kind == "deepcopy":
            episode = copy.deepcopy(episode)

    for one, its in [(episode, plain), *left_behind]:
        assert (one.t_started, one.t, len(one)) == (its.started, its.t, its.t - its.started)
        assert columns(one) == its.columns()
        assert one.observations.lookback == its.lookback
        before = columns(one, slice(-len(one) - its.lookback, None))
        earlier = PlainEpisode(its.started - its.lookback, its.t)
        assert before["rewards"] == earlier.columns()["rewards"]
        one.validate()


@given(st.integers(2, 8), st.integers(0, 8), st.integers(0, 3), st.booleans(), st.booleans())
def test_cutting_and_joining_changes_nothing(steps, at, lookback, first_numpy, second_numpy):
    """An episode cut anywhere and put together again is the whole episode, in any form."""
    whole, at = made(steps), min(at, steps)
    first = made(at)
    if first_numpy:
        first.to_numpy()
    second = first.cut(lookback)
    for step in range(at + 1, steps + 1):
        step_on(second, step)
    second.custom_data["k"] = 1
    if second_numpy:
        second.to_numpy()

    first.concat_episode(second)

    assert first.t == whole.t
    if steps:
        assert columns(first) == columns(whole)
    assert first.custom_data == {"k": 1}


@pytest.mark.parametrize("numpy", [False, True])
@pytest.mark.parametrize("through_data", [False, True])
def test_a_slice_and_its_episode_are_independent(numpy, through_data):
    """Writing to one of them, also through `.data`, never shows in the other."""
    episode = made(6)
    if numpy:
        episode.to_numpy()
    part, before = episode[1:4], columns(episode)

    if through_data:
        part.rewards.data[0] = 99.0
        part.observations.data[0] = observation(99)
    else:
        part.set_rewards(new_data=99.0, at_indices=0)
        part.set_observations(new_data=observation(99), at_indices=0)
    step_on(part, 77)
    after = columns(episode)
    episode.set_rewards(new_data=-1.0, at_indices=2)

    assert after == before
    assert columns(part)["rewards"] == [99.0, 1.5, 2.0, 38.5]


@pytest.mark.parametrize("numpy", [False, True])
def test_a_popped_row_is_not_overwritten_in_a_slice(numpy):
    """Taking the last step back and adding another leaves slices as they were."""
    episode = made(3)
    if numpy:
        episode.to_numpy()
        step_on(episode, 4)
    part = episode[:]
    kept = columns(part)["rewards"]

    episode.rewards.pop()
    episode.rewards.append(50.0)

    assert columns(part)["rewards"] == kept
    assert columns(episode)["rewards"] == [*kept[:-1], 50.0]


def test_to_numpy_without_steps():
    """Only the first observation becomes an array, and steps can follow."""
    episode = SingleAgentEpisode()
    episode.add_env_reset(observation(0))

    episode.to_numpy()
    early = episode.is_numpy
    step_on(episode, 1)
    episode.to_numpy()

    assert not early
    assert episode.is_numpy
    assert episode.get_observations().shape == (2, 2)
    assert episode.get_infos() == [{}, {"i": 1}]


def test_auto_lookback_takes_everything():
    """Steps given to the constructor are look-back, unless it is said how many are."""
    given = {"observations": [1, 2, 3], "actions": [0, 1], "rewards": [0.5, 0.6]}

    auto = SingleAgentEpisode(**given)
    none = SingleAgentEpisode(**given, len_lookback_buffer=0, t_started=7)
    more = SingleAgentEpisode(**given, len_lookback_buffer=99)

    assert (len(auto), auto.t, auto.get_observations()) == (0, 0, [3])
    assert (len(none), none.t, none.t_started) == (2, 9, 7)
    assert len(more) == 0
    assert given["observations"] == [1, 2, 3]


def test_arrays_may_be_given():
    """Columns of arrays make an episode that is numpy from the start."""
    episode = SingleAgentEpisode(
        observations=np.zeros((3, 2)),
        actions=np.zeros(2, int),
        rewards=np.ones(2),
        len_lookback_buffer=0,
    )

    assert episode.is_numpy
    assert episode.get_return() == 2.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"observations": [1, 2], "actions": [0, 1], "rewards": [0.0]},
        {"observations": [1, 2], "actions": [0], "rewards": [0.0], "infos": [{}]},
        {"observations": [1], "extra_model_outputs": {"a": [1]}},
        {"actions": [1]},
    ],
)
def test_columns_of_different_steps_are_refused(wrong):
    """One observation and info more than the rest; anything else cannot have happened."""
    with pytest.raises(EpisodeError, match="do not belong"):
        SingleAgentEpisode(**wrong)


def test_outputs_must_be_there_from_the_first_step():
    """A step with other outputs is refused before anything is added."""
    episode = made(2)

    for outputs in (None, {"logp": 1.0}, {"logp": 1.0, "other": 2.0}):
        with pytest.raises(EpisodeError, match="same extra model outputs"):
            episode.add_env_step(observation(3), 0, 0.0, extra_model_outputs=outputs)

    assert columns(episode) == PlainEpisode(t=2).columns()
    episode.validate()


def test_a_bad_step_of_arrays_is_taken_back():
    """A step whose action has another shape leaves a numpy episode as it was."""
    episode = made(2).to_numpy()

    with pytest.raises(EpisodeError, match="does not fit the items"):
        episode.add_env_step(
            observation(3),
            np.zeros(3),
            0.0,
            extra_model_outputs={"logp": 0.0, "state": {"h": observation(0)}},
        )

    assert columns(episode) == PlainEpisode(t=2).columns()


def test_what_cannot_be_done():
    """Resetting twice, stepping before the reset or after the end, cutting what is done."""
    fresh, done = SingleAgentEpisode(), made(1)
    step_on(done, 2, terminated=True)

    with pytest.raises(EpisodeError, match="no first observation"):
        fresh.add_env_step(0, 0, 0.0)
    with pytest.raises(EpisodeError, match="cannot be reset"):
        made(0).add_env_reset(0)
    with pytest.raises(EpisodeError, match="already done"):
        step_on(done, 3)
    with pytest.raises(EpisodeError, match="cannot be cut"):
        done.cut()
    with pytest.raises(EpisodeItemError, match="0"):
        done[0]
    with pytest.raises(EpisodeItemError, match="step 2"):
        done[::2]
    with pytest.raises(EpisodeKeyError, match="nope"):
        done.get_extra_model_outputs("nope")


def test_only_a_successor_can_be_joined():
    """Another id, a gap in time or another joining observation is refused; nothing changes."""
    episode = made(3)
    other_id, late, moved = made(3).cut(), episode.cut(), episode.cut()
    other_id.id_ = "x"
    late.t_started += 1
    late.t += 1
    moved.set_observations(new_data=observation(9), at_indices=0)

    for other, reason in ((other_id, "another id"), (late, "a gap"), (moved, "another obs")):
        with pytest.raises(EpisodeError, match=reason):
            episode.concat_episode(other)

    assert columns(episode) == PlainEpisode(t=3).columns()


def test_done_flags_stay_with_the_end():
    """A slice is done only if it reaches the end of an episode that is."""
    episode = made(2)
    step_on(episode, 3, truncated=True)

    parts = [episode[1:], episode[:2], episode[:], episode[-1:]]

    assert [part.is_truncated for part in parts] == [True, False, True, True]
    assert not any(part.is_terminated for part in parts)


def test_custom_data_is_copied_into_the_successor():
    """What users keep goes on in the successor, as a copy, and not into slices."""
    episode = made(2)
    episode.custom_data["k"] = [1]

    successor = episode.cut()
    successor.custom_data["k"].append(2)

    assert episode.custom_data == {"k": [1]}
    assert episode[0:1].custom_data == {}


def test_a_state_of_rllib_is_read():
    """A state dict as RLlib 2.60 writes it, with None for no outputs, makes the same episode."""
    infinite = (
        "eJyb7BfqGxDJyFDGUK2eklqcXKRupaBuk2airqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RqaOgq1ChQB"
        "LgaGhv8AupYcug==",
        "eJyb7BfqGxDJyFDGUK2eklqcXKRupaBuk2airqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RqaOgq1ChQB"
        "LgaGhnoAuhYcOg==",
    )
    box = dict(space="box", low=infinite[0], high=infinite[1], shape=(), dtype="<f4")
    column = {"lookback": 0, "finalized": False, "space": None}
    state = {
        "id_": "x",
        "agent_id": None,
        "module_id": None,
        "multi_agent_episode_id": None,
        "observations": {**column, "data": [3, 4]},
        "actions": {**column, "data": [1]},
        "rewards": {**column, "data": [0.5], "space": box},
        "infos": {**column, "data": [{}, {}]},
        "extra_model_outputs": None,
        "is_terminated": False,
        "is_truncated": True,
        "t_started": 0,
        "t": 1,
        "_observation_space": {"space": "discrete", "n": 9, "start": 0},
        "_action_space": None,
        "_start_time": 1.0,
        "_last_step_time": 3.5,
        "custom_data": {},
    }

    episode = SingleAgentEpisode.from_state(state)

    assert episode.get_observations() == [3, 4]
    assert episode.observation_space == Discrete(9)
    assert episode.rewards.space == Box(-np.inf, np.inf, (), np.float32)
    assert episode.get_duration_s() == 2.5
    assert episode.get_state().keys() == state.keys()
    assert episode.get_state()["rewards"] == state["rewards"]


def test_pickles_are_compact():
    """200 steps pickle to little more than their numbers, and come back writeable."""
    episode = made(0, observation_space=SPACE, action_space=Discrete(4))
    for step in range(1, 201):
        episode.add_env_step(observation(step), np.int64(1), 1.0)
    episode.to_numpy()
    numbers = 201 * 8 + 200 * 16

    data = pickle.dumps(episode, protocol=5)
    back = pickle.loads(data)
    back.observations.data[0] = 5

    assert len(data) < numbers + 1500
    assert back.get_observations(0).tolist() == [5, 5]
    assert back.observation_space == SPACE
    assert back.rewards.space is episode.rewards.space


def test_a_space_of_the_users_own_survives():
    """A subclass of Box that carries more than a Box is pickled as itself."""
    space = OwnBox(-1, 1, (2,), np.float32)
    space.mask = [1, 0]
    episode = SingleAgentEpisode(observation_space=space)

    back = pickle.loads(pickle.dumps(episode))

    assert type(back.observation_space) is OwnBox
    assert back.observation_space.mask == [1, 0]
    assert episode.observation_space is space


class OwnBox(Box):
    """A user's space."""


def test_data_dict_and_facts():
    """All columns by name with flags and time; what it says of itself."""
    episode = made(2)
    step_on(episode, 3, terminated=True)

    data = episode.get_data_dict()

    assert data["terminateds"] == [False, False, True]
    assert data["truncateds"] == [False] * 3
    assert data["t"] == [0, 1, 2]
    assert len(data["obs"]) == len(data["infos"]) == len(data["rewards"]) == 3
    assert (episode.env_steps(), episode.agent_steps(), episode.get_return()) == (3, 3, 3.0)
    assert repr(episode) == "SAEps(len=3 done=True R=3.0 id_=e)"
    assert episode.get_duration_s() >= 0.0
    assert len(SingleAgentEpisode().id_) == 32


@pytest.mark.parametrize("kind", [SingleAgentEpisode, MultiAgentEpisode])
def test_temporary_data_is_gone(kind):
    """The old calls say what to use instead."""
    with pytest.raises(ValueError, match="custom_data"):
        kind().add_temporary_timestep_data("key", 1)
    with pytest.raises(ValueError, match="custom_data"):
        kind().get_temporary_timestep_data("key")
