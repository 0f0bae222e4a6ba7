"""Learning from recorded episodes: BC and MARWIL, and where episodes may be."""

import warnings

import numpy as np
import pytest
from gymnasium.spaces import Box
from rlconnect.core.data.recorded_data import open_recorded
from rlconnect.core.errors import (
    CheckpointNotFoundError,
    ConfigError,
    CorruptCheckpointError,
    UnknownFormatError,
)
from rlconnect.v2 import (
    BC,
    BCConfig,
    Columns,
    MARWILConfig,
    MultiAgentEpisode,
    OfflineData,
    SingleAgentEpisode,
    read_episodes,
    write_episodes,
)
from rlconnect.v2.recorded.episode_parquet import write_row_file

from tests.v2.algorithms.algorithm_cases import ACT, OBS, recorded, small


def offline(cls, given, **data):
    """A config that learns from what is given, without an environment."""
    return (
        cls()
        .environment(observation_space=OBS, action_space=ACT)
        .training(train_batch_size=120, lr=0.01)
        .rl_module(model_config={"fcnet_hiddens": [16]})
        .offline_data(input_=given, **data)
        .debugging(seed=1)
    )


def likeness(algo):
    """How often the module does what the teacher does."""
    import torch

    observations = np.random.default_rng(9).uniform(-1, 1, (200, 4)).astype(np.float32)
    module = algo.get_module()
    inputs = module.forward_inference({Columns.OBS: torch.from_numpy(observations)})
    chosen = inputs[Columns.ACTION_DIST_INPUTS].argmax(-1).numpy()
    return float((chosen == (observations[:, 2] > 0)).mean())


@pytest.mark.parametrize("config", [BCConfig, MARWILConfig])
def test_the_teacher_is_learnt(config):
    """After some updates the module acts as the recorded teacher did."""
    algo = offline(config, recorded(), dataset_num_iters_per_learner=10).build_algo()
    first = likeness(algo)
    losses = [algo.train()["learners"]["default_policy"]["policy_loss"] for _ in range(6)]
    assert likeness(algo) > 0.85 > first
    assert losses[-1] < losses[0]
    algo.stop()


def test_episodes_may_be_given_in_many_ways(tmp_path):
    """A list, a function of the config, a file, a folder, several of these: the same episodes."""
    episodes = recorded()
    file = write_episodes(tmp_path / "all" / "episodes", episodes)
    ways = [
        episodes,
        lambda config: recorded(),
        file,
        str(tmp_path / "all"),
        [file],
    ]
    losses = []
    for given in ways:
        algo = offline(BCConfig, given).build_algo()
        losses.append(algo.train()["learners"]["default_policy"]["total_loss"])
        algo.stop()
    assert len(set(losses)) == 1


def test_given_episodes_stay_as_they_are():
    """Learner pieces work on episodes of their own."""
    episodes = recorded(count=2)
    before = [episode.get_state() for episode in recorded(count=2)]
    algo = offline(MARWILConfig, episodes).build_algo()
    algo.train()
    for episode, state in zip(episodes, before, strict=True):
        assert len(episode) == 20
        assert episode.is_terminated
        assert not episode.is_truncated
        np.testing.assert_array_equal(
            episode.get_observations(), np.stack(state["observations"]["data"])
        )
    algo.stop()


def test_files_hold_all_of_an_episode(tmp_path):
    """Columns, ends, ids, spaces: of one agent and of several."""
    single = recorded(count=1)[0]
    several = MultiAgentEpisode(
        id_="several",
        observations=[{"a": 0, "b": 1}, {"a": 2, "b": 3}],
        actions=[{"a": 0, "b": 1}],
        rewards=[{"a": 0.5, "b": -0.5}],
        terminateds={"__all__": True},
        agent_to_module_mapping_fn=lambda agent, episode: "m",
    )
    file = write_episodes(tmp_path / "e.msgpack", [single, several])
    one, more = read_episodes(file)
    assert isinstance(one, SingleAgentEpisode)
    assert (one.id_, one.is_terminated, len(one)) == (single.id_, True, 20)
    np.testing.assert_array_equal(one.get_observations(), single.get_observations())
    np.testing.assert_array_equal(one.get_actions(), single.get_actions())
    assert one.observation_space == OBS
    assert isinstance(more, MultiAgentEpisode)
    assert more.get_return() == several.get_return()
    assert more.is_terminated


def test_what_is_no_file_of_episodes(tmp_path):
    """Missing, empty and foreign files are told by name."""
    with pytest.raises(CheckpointNotFoundError, match="nowhere"):
        read_episodes(tmp_path / "nowhere")
    with pytest.raises(CheckpointNotFoundError, match="no files of episodes"):
        read_episodes(tmp_path)
    import msgpack

    (tmp_path / "x.msgpack").write_bytes(msgpack.packb({"a": 1}))
    with pytest.raises(UnknownFormatError, match="holds no episodes"):
        read_episodes(tmp_path / "x.msgpack")


@pytest.mark.parametrize("given", ["sampler", 3, [], [4]])
def test_what_cannot_be_learnt_from(given):
    """Anything but episodes, paths and functions is refused when the algorithm is built."""
    with pytest.raises(ConfigError, match="input_"):
        offline(BCConfig, given).build_algo()


def test_recorded_actions_are_brought_to_the_modules_range():
    """Bounded actions as an environment takes them become those in -1 to 1."""
    space = Box(0.0, 10.0, (1,), np.float32)
    episode = SingleAgentEpisode(
        observations=[np.zeros(4, np.float32)] * 3,
        actions=[np.array([10.0], np.float32), np.array([5.0], np.float32)],
        rewards=[0.0, 0.0],
        observation_space=OBS,
        action_space=space,
        len_lookback_buffer=0,
    )
    config = offline(BCConfig, [episode]).environment(action_space=space)
    raw = config.copy().offline_data(actions_in_input_normalized=True)
    made, left = config.build_algo(), raw.build_algo()
    np.testing.assert_allclose(made.offline_data.sample(1)[0].get_actions(), [[1.0], [0.0]])
    np.testing.assert_allclose(left.offline_data.sample(1)[0].get_actions(), [[10.0], [5.0]])
    np.testing.assert_allclose(np.stack(list(episode.get_actions())), [[10.0], [5.0]])
    made.stop()
    left.stop()


def test_sampled_episodes_are_recorded_and_learnt_from(tmp_path):
    """`output` of one run is `input_` of another; a later run adds files."""
    for _ in range(2):
        written = {"output": str(tmp_path / "rec"), "output_write_method": "write_msgpack"}
        algo = small().offline_data(**written).build_algo()
        sampled = algo.train()["num_env_steps_sampled_lifetime"]
        algo.stop()
    assert sum(map(len, read_episodes(tmp_path / "rec"))) == 2 * sampled
    assert len(list((tmp_path / "rec").iterdir())) == 2
    student = offline(BCConfig, str(tmp_path / "rec")).build_algo()
    assert np.isfinite(student.train()["learners"]["default_policy"]["total_loss"])
    student.stop()


def test_episodes_are_recorded_as_rllib_does(tmp_path):
    """Parquet in a folder for each call, of so many episodes; another run learns from them."""
    pytest.importorskip("pyarrow")
    folder, sampled = tmp_path / "rec", 0
    for _ in range(2):
        config = small().offline_data(output=str(folder), output_max_rows_per_file=2)
        algo = config.build_algo()
        sampled += algo.train()["num_env_steps_sampled_lifetime"]
        algo.stop()

    episodes = list(open_recorded(folder).episodes())

    assert sum(map(len, episodes)) == sampled
    calls = sorted(path.name for path in (folder / "cartpole-v1").iterdir())
    assert calls == ["run-000000-00001", "run-000000-00002"]
    student = offline(BCConfig, str(folder)).build_algo()
    assert np.isfinite(student.train()["learners"]["default_policy"]["total_loss"])
    student.stop()


def test_a_resumed_student_goes_on_exactly(tmp_path):
    """The order of episodes is part of the state."""
    config = offline(BCConfig, recorded())
    algo = config.build_algo()
    algo.train()
    path = algo.save_to_path(tmp_path / "a")
    expected = [algo.train()["learners"]["default_policy"]["total_loss"] for _ in range(3)]
    resumed = BC.from_checkpoint(path, config=config)
    losses = [resumed.train()["learners"]["default_policy"]["total_loss"] for _ in range(3)]
    assert losses == expected
    algo.stop()
    resumed.stop()


def test_an_order_of_other_episodes_begins_a_new_round():
    """Numbers of episodes that are not there are left out, and a state that is none is damage."""
    data = OfflineData(offline(BCConfig, recorded(count=2)))
    state = data.get_state()

    data.set_state({**state, "order": [0, -1, 7]})

    assert len(data.sample(1)) == 1
    with pytest.raises(CorruptCheckpointError, match="generator"):
        data.set_state({**state, "generator": None})


def test_steps_may_be_recorded_as_rows(tmp_path):
    """Without `output_write_episodes` a row a step is written, whose episodes are those sampled."""
    pytest.importorskip("pyarrow")
    folder = tmp_path / "rows"
    config = small().offline_data(output=str(folder), output_write_episodes=False)
    algo = config.build_algo()
    algo.train()
    algo.stop()

    data = open_recorded(folder)
    block = next(iter(data.steps(1000)))

    assert data.has_rows
    assert block["obs"].dtype == np.float32
    assert {"eps_id", "new_obs", "actions", "rewards", "action_logp"} <= block.keys()
    assert len(block["obs"]) == sum(map(len, data.episodes()))
    assert all(np.isfinite(each.get_return()) for each in data.episodes())


def test_rows_hold_arrays_alone(tmp_path):
    """Nested observations have no place in rows; what does is told."""
    pytest.importorskip("pyarrow")
    seen = [{"a": np.zeros(2), "b": np.zeros(1)}] * 2
    episode = SingleAgentEpisode(
        observations=seen, actions=[0], rewards=[1.0], len_lookback_buffer=0
    )

    with pytest.raises(ConfigError, match="no array") as caught:
        write_row_file(tmp_path / "rows.parquet", [episode])

    assert "output_write_episodes=True" in caught.value.hint


@pytest.mark.parametrize(
    ("setting", "instead"),
    [
        ({"input_filesystem": "s3"}, "name a URL"),
        ({"output_filesystem": "gcs"}, "record into a folder"),
        ({"output_write_method_kwargs": {"compression": "zstd"}}, "record into a folder"),
    ],
)
def test_settings_that_cannot_work_here_say_what_does(setting, instead):
    """What RLlib would read or write by is refused with the way that leads there."""
    with pytest.raises(ConfigError, match="not supported here") as caught:
        BCConfig().offline_data(**setting)

    assert instead in caught.value.hint


def test_settings_that_nothing_reads_in_rllib_are_taken():
    """MARWIL has to be told `postprocess_inputs` in RLlib, where the new stack reads it nowhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = MARWILConfig().offline_data(postprocess_inputs=True, shuffle_buffer_size=3)

    assert config.postprocess_inputs


class EveryOther(OfflineData):
    """Hands out the second of any two episodes, as a class written for RLlib is made."""

    def __init__(self, config):
        super().__init__(config)
        self.given = []

    def sample(self, num_samples, **kwargs):
        self.given.append(super().sample(num_samples, **kwargs))
        return self.given[-1][1::2]


def test_a_class_of_ones_own_hands_out_what_is_learnt_from():
    """`offline_data_class` is made of the config alone and asked for what comes next."""
    config = offline(BCConfig, recorded(count=4), offline_data_class=EveryOther)
    algo = config.build_algo()

    result = algo.train()

    assert isinstance(algo.offline_data, EveryOther)
    steps = sum(len(each) for given in algo.offline_data.given for each in given[1::2])
    assert result["learners"]["default_policy"]["num_module_steps_trained"] == steps
    algo.stop()


def test_shares_of_several_inputs_are_refused():
    """RLlib's old `{path: probability}` is told, not read as a list of paths."""
    with pytest.raises(ConfigError, match="input_"):
        offline(BCConfig, {"folder": 0.5, "sampler": 0.5}).build_algo()


def test_schedules_move_with_what_was_learnt_from():
    """A learning rate falls with the steps that were learnt from, where none are sampled."""
    config = offline(BCConfig, recorded(), dataset_num_iters_per_learner=2)
    algo = config.training(lr=[[0, 0.01], [1000, 0.0]]).build_algo()

    rates = [
        algo.train()["learners"]["default_policy"]["default_optimizer_learning_rate"]
        for _ in range(2)
    ]

    assert 0.01 > rates[0] > rates[1] > 0.0
