"""Episodes come, go on, go, and are drawn from."""

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError, CorruptCheckpointError, EpisodeError
from rlconnect.v2 import EpisodeReplayBuffer, PrioritizedEpisodeReplayBuffer

from tests.v2.replay.replay_cases import check_steps, episode, filled

KINDS = [EpisodeReplayBuffer, PrioritizedEpisodeReplayBuffer]


@pytest.mark.parametrize("kind", KINDS)
def test_old_episodes_go_for_new_ones(kind):
    """As in RLlib: whole episodes go, the oldest first; one alone may be too long."""
    buffer = kind(capacity=100)
    told = []

    for given in ([episode("A", 100)], [episode("B", 1)], [episode("C", 200)]):
        buffer.add(given)
        told.append((len(buffer), [each.id_ for each in buffer.episodes]))
    buffer.add([episode("D", 50), episode("E", 30)])

    assert told == [(100, ["A"]), (1, ["B"]), (200, ["C"])]
    assert [each.id_ for each in buffer.episodes] == ["D", "E"]
    assert buffer.get_num_episodes_evicted() == 3
    assert buffer.get_added_timesteps() == 381
    assert buffer.get_num_timesteps() == 80
    assert buffer.get_num_episodes() == 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_too_much_at_once_goes_before_it_comes(kind):
    """Of episodes that are too many together the last ones stay."""
    buffer = kind(capacity=100)

    buffer.add([episode("A", 80), episode("B", 80)])

    assert [each.id_ for each in buffer.episodes] == ["B"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_endless_episode_takes_no_more_room_than_the_capacity(kind):
    """Where an episode goes on and on, its oldest steps go; nothing else is drawn then."""
    buffer = kind(capacity=50, seed=0)

    for start in range(0, 1000, 5):
        buffer.add(episode("A", 5, start, is_done=False))
    drawn = buffer.sample(500, n_step=1, sample_episodes=True)

    assert len(buffer) == 50
    assert drawn.columns["obs"].min() >= 950
    assert buffer.episodes[0].t_started == 950
    assert drawn[0].t_started >= 950
    assert buffer._rows.size < 80


@pytest.mark.parametrize("kind", KINDS)
def test_stretches_become_one_episode(kind):
    """Bit by bit or at once, in lists or arrays: the same episodes."""
    at_once, by_bits = kind(capacity=100), kind(capacity=100)

    at_once.add([episode("A", 9), episode("B", 6, is_done=False)])
    by_bits.add([episode("A", 4, is_done=False, is_numpy=False), episode("B", 2, is_done=False)])
    by_bits.add([episode("B", 4, 2, is_done=False), episode("A", 5, 4, is_numpy=False)])

    for one, other in zip(at_once.episodes, by_bits.episodes, strict=True):
        ours, theirs = one.get_state(), other.get_state()
        for name in ("observations", "actions", "rewards"):
            np.testing.assert_array_equal(ours[name]["data"], theirs[name]["data"])
        assert (one.id_, one.is_terminated) == (other.id_, other.is_terminated)


@pytest.mark.parametrize(
    "later", [episode("A", 2, 5), episode("A", 2, 3)], ids=["left out", "again"]
)
def test_a_stretch_that_does_not_go_on_is_refused(later):
    """An episode has no gaps, and does not turn back."""
    buffer = EpisodeReplayBuffer(capacity=100)
    buffer.add(episode("A", 4, is_done=False))

    with pytest.raises(EpisodeError, match="from step 4 on"):
        buffer.add(later)

    assert len(buffer) == 4


def test_a_done_episode_does_not_go_on():
    """What has ended has ended."""
    buffer = EpisodeReplayBuffer(capacity=100)
    buffer.add(episode("A", 4))

    with pytest.raises(EpisodeError, match="a new id"):
        buffer.add(episode("A", 2, 4))


def test_episodes_of_another_environment_are_refused():
    """Other shapes are told with the column, and what is there stays as it was."""
    buffer = EpisodeReplayBuffer(capacity=100, seed=0)
    buffer.add(episode("A", 4))
    other = episode("B", 3)
    other.observations.data = np.zeros((4, 5), np.float32)

    with pytest.raises(EpisodeError, match="'obs'"):
        buffer.add(other)
    drawn = buffer.sample(50, n_step=1, sample_episodes=True)

    check_steps(drawn, 0.99, end=4)
    assert len(buffer) == 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_step", [1, 3, (1, 6)])
def test_drawn_steps_are_those_of_the_episodes(kind, n_step):
    """Rewards are summed, discounted, over as many steps as are told, to where these lead."""
    buffer = filled(kind)

    drawn = buffer.sample(500, n_step=n_step, gamma=0.8, sample_episodes=True)

    check_steps(drawn, 0.8)
    numbers = set(drawn.columns["n_step"])
    assert numbers == ({1, 2, 3, 4, 5} if isinstance(n_step, tuple) else numbers)
    whole = kind is PrioritizedEpisodeReplayBuffer
    assert isinstance(n_step, tuple) or not whole or numbers == {n_step}


def test_steps_are_episodes_of_one_step():
    """What is drawn is read as RLlib's list of episodes."""
    drawn = filled(EpisodeReplayBuffer).sample(8, n_step=2, sample_episodes=True)

    first = drawn[0]

    assert (len(drawn), len([*drawn]), len(drawn[2:4])) == (8, 8, 2)
    assert len(first) == 1
    assert first.t_started == first.get_observations(0)[0]
    assert set(first.extra_model_outputs) == {"n_step", "weights"}


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_infos_come_along_on_request(kind):
    """Outputs of the module are those of the step; infos are those before and behind it."""
    buffer = kind(capacity=100, seed=0)
    infos = [{"place": place} for place in range(5)]
    outputs = {"values": [float(place) for place in range(4)]}
    buffer.add([episode("A", 4, infos=infos, extra_model_outputs=outputs)])

    drawn = buffer.sample(
        30, n_step=1, sample_episodes=True, include_infos=True, include_extra_model_outputs=True
    )

    for each in drawn:
        place = each.get_observations(0)[0]
        assert each.get_extra_model_outputs("values", 0) == place
        assert [info["place"] for info in each.get_infos()] == [place, place + 1]


def test_an_output_that_some_steps_lack_is_left_out():
    """Rows are used again: what was in them before belongs to nobody."""
    buffer = EpisodeReplayBuffer(capacity=8, seed=0)
    buffer.add(episode("A", 8, extra_model_outputs={"values": [1.0] * 8}))
    buffer.add(episode("B", 8))

    drawn = buffer.sample(20, n_step=1, sample_episodes=True, include_extra_model_outputs=True)

    assert "values" not in drawn.columns
    assert "values" not in buffer.episodes[0].extra_model_outputs


def test_sequences_are_stretches_with_look_back():
    """Each begins anywhere, ends at the latest with its episode, and knows what was before."""
    buffer = filled(EpisodeReplayBuffer)

    drawn = buffer.sample(60, batch_length_T=4, n_step=1, sample_episodes=True, lookback=1)

    assert sum(map(len, drawn)) >= 60
    for each in drawn:
        seen = each.get_observations()[:, 0]
        np.testing.assert_array_equal(seen, np.arange(seen[0], seen[0] + len(seen)))
        assert each.t_started == seen[0]
        assert len(each) == min(4, 7 - seen[0])
        assert each.is_terminated == (seen[-1] == 7)
        assert each.observations.lookback == (seen[0] > 0)
        assert len(each.get_extra_model_outputs("weights")) == len(each)


def test_short_sequences_are_left_out():
    """More than `min_batch_length_T` steps follow; where there are none such it says so."""
    buffer = filled(EpisodeReplayBuffer)

    drawn = buffer.sample(60, batch_length_T=5, sample_episodes=True, min_batch_length_T=3)

    assert {*map(len, drawn)} <= {4, 5}
    with pytest.raises(EpisodeError, match="more than 7 steps"):
        buffer.sample(60, batch_length_T=9, sample_episodes=True, min_batch_length_T=7)


def test_rows_go_on_with_another_episode():
    """Without `sample_episodes`: observations, the reward that came with each, and flags."""
    buffer = filled(EpisodeReplayBuffer)

    drawn = buffer.sample(batch_size_B=5, batch_length_T=20)

    seen = drawn["obs"][:, :, 0]
    begins = drawn["is_first"]
    assert seen.shape == (5, 20)
    assert begins[:, 0].all()
    np.testing.assert_array_equal(drawn["is_terminated"], seen == 7)
    np.testing.assert_array_equal(drawn["rewards"], np.maximum(seen - 1, 0))
    np.testing.assert_array_equal(drawn["actions"], np.minimum(seen, 6) % 3)
    np.testing.assert_array_equal(seen[:, 1:][~begins[:, 1:]], (seen[:, :-1] + 1)[~begins[:, 1:]])
    assert (seen[:, 1:][begins[:, 1:]] == 0).all()
    np.testing.assert_array_equal(drawn["is_last"][:, :-1], begins[:, 1:])
    assert drawn["is_last"][:, -1].all()


def test_every_step_is_as_likely():
    """Chi-square over 200 steps, 40,000 draws: a step of half the chance is seen with certainty."""
    buffer = filled(EpisodeReplayBuffer, episodes=28)
    count = len(buffer)

    drawn = buffer.sample(40_000, n_step=1, sample_episodes=True)

    ids = np.unique(drawn.ids, return_inverse=True)[1]
    seen = np.bincount(ids * 7 + np.array(drawn.started), minlength=count)
    expected = 40_000 / count
    statistic = ((seen - expected) ** 2 / expected).sum()
    # One step at half its chance adds a quarter of `expected`, 51; the mean is `count`, deviation
    # sqrt(2 count) = 20. Seeded; the bound is five deviations.
    assert count == 196
    assert statistic < count + 5 * np.sqrt(2 * count)


def test_memory_is_as_promised():
    """Rows for the capacity, one more an episode, so many bytes each; no more however long."""
    buffer = filled(EpisodeReplayBuffer, episodes=400, capacity=700)

    columns = [*buffer._rows.columns.values(), buffer._rows.after]
    held = sum(column.nbytes for column in columns)

    # obs 8, action 8, reward 8, two flags, and 4 each for slot, place and what follows; 8 for the
    # row's number in its episode.
    assert buffer.bytes_per_timestep == 46
    assert (len(buffer), buffer.get_num_episodes()) == (700, 100)
    assert held <= (700 + 100) * 46 * 1.25


@pytest.mark.parametrize("kind", KINDS)
def test_a_buffer_comes_back_as_it_was(kind):
    """The same draws follow, as from one that was never put away."""
    buffer = filled(kind)
    if kind is PrioritizedEpisodeReplayBuffer:
        buffer.sample(50, beta=0.4)
        buffer.update_priorities(np.linspace(0.1, 2.0, 50))
    other = kind(capacity=200)

    other.set_state(buffer.get_state())

    for each in (buffer, other):
        each.add(episode("new", 7))
    for _ in range(3):
        ours, theirs = (
            each.sample(64, n_step=2, sample_episodes=True, beta=0.5) for each in (buffer, other)
        )
        assert ours.ids == theirs.ids
        for name, column in ours.columns.items():
            np.testing.assert_array_equal(column, theirs.columns[name])


def test_a_damaged_state_is_told():
    """Rows that are free and held at once are no state."""
    state = filled(EpisodeReplayBuffer).get_state()
    state["places"][0] = state["places"][1]

    with pytest.raises((CorruptCheckpointError, ValueError), match="add up"):
        EpisodeReplayBuffer(capacity=200).set_state(state)


def test_an_empty_buffer_says_so():
    """There is nothing to draw, and nothing endless happens."""
    with pytest.raises(EpisodeError, match="empty"):
        EpisodeReplayBuffer().sample(4, n_step=1, sample_episodes=True)


def test_settings_that_change_nothing_are_told():
    """A misspelt or foreign setting is not swallowed."""
    with pytest.warns(UserWarning, match="replay_sequence_length"):
        EpisodeReplayBuffer(capacity=10, replay_sequence_length=1)


@pytest.mark.parametrize("settings", [{"capacity": 0}, {"capacity": 5, "alpha": -1}])
def test_impossible_settings_are_refused(settings):
    """No capacity, or priorities the wrong way round."""
    with pytest.raises(ConfigError):
        PrioritizedEpisodeReplayBuffer(**settings)


def test_what_is_counted_has_rllibs_keys():
    """Added, evicted and drawn, in all, by agent and by module."""
    buffer = EpisodeReplayBuffer(capacity=20, seed=0)
    buffer.add([episode("a", 8), episode("b", 8)])
    buffer.add(episode("c", 8))
    buffer.sample(4, n_step=1, sample_episodes=True)

    told = buffer._counts.reduce(compile=True)

    expected = {
        "num_episodes_added": 3,
        "num_env_steps_added_lifetime": 24,
        "num_episodes_evicted": 1,
        "num_env_steps_evicted": 8,
        "num_agent_steps_evicted": {"default_agent": 8},
        "num_module_steps_sampled_lifetime": {"default_policy": 4},
        "num_env_steps_sampled": 4,
        "actual_n_step": 1,
        "num_episodes_stored": 2,
        "num_env_steps_stored": 16,
    }
    assert {name: told[name] for name in expected} == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reward", [np.nan, -np.inf])
def test_rewards_that_are_not_finite_are_not_saved(kind, reward):
    """Their episode is told and left out; all else comes back, and takes new steps."""
    buffer = filled(kind, episodes=8)
    spoilt = episode("spoilt", 4)
    spoilt.rewards.data[2] = reward
    buffer.add([spoilt, episode("after", 7)])

    with pytest.warns(UserWarning, match="in step 2 of episode spoilt"):
        state = buffer.get_state()
    again = kind(capacity=200, seed=5)
    again.set_state(state)

    assert len(again) == len(buffer) - 4
    assert {each.id_ for each in buffer.episodes} - {each.id_ for each in again.episodes} == {
        "spoilt"
    }
    again.add(episode("new", 7))
    check_steps(again.sample(200, n_step=1, gamma=0.9, sample_episodes=True), 0.9)
