"""What an algorithm's checkpoint may say of itself: counts have bounds, paths are told."""

import os

import pytest
from gymnasium.spaces import Discrete
from rlconnect.core.errors import ConfigError, WeightsError
from rlconnect.core.limits.asking import AskedTooMuchError
from rlconnect.v2 import BC, Algorithm, BCConfig, SingleAgentEnvRunner, write_episodes

from tests.v2.algorithms.algorithm_cases import ACT, OBS, recorded, small


def saved(folder, **settings):
    """A checkpoint whose settings are others than those of the run."""
    algo = small().rl_module(model_config={"fcnet_hiddens": [8]}).build_algo()
    for name, value in settings.items():
        vars(algo.config)[name] = value
    path = algo.save_to_path(folder)
    algo.stop()
    return path


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_envs_per_env_runner", 10**7),
        ("num_env_runners", 60),
        ("evaluation_num_env_runners", 10**6),
        ("num_learners", 1000),
        ("episode_lookback_horizon", 10**9),
        ("rollout_fragment_length", 10**12),
        ("_train_batch_size_per_learner", 10**12),
        ("minibatch_size", 10**12),
        ("num_epochs", 10**9),
        ("evaluation_duration", 10**9),
        ("_model_config", {"max_seq_len": 10**9}),
        ("_model_config", {"fcnet_hiddens": [8], "max_seq_len": 10**9}),
        ("observation_space", Discrete(10**9)),
        ("evaluation_config", {"num_envs_per_env_runner": 10**7}),
        ("algorithm_config_overrides_per_module", {"default_policy": {"num_epochs": 10**9}}),
    ],
)
def test_counts_beyond_the_bounds_need_the_callers_word(tmp_path, name, value):
    """Such a file is refused before anything is made, by the setting's name."""
    path = saved(tmp_path / "a", **{name: value})

    with pytest.raises(AskedTooMuchError, match=r"from_checkpoint\(path, settings="):
        Algorithm.from_checkpoint(path)


def test_processes_of_environments_are_counted(tmp_path):
    """Sixty environments are few in one process, and many where each has a process."""
    path = saved(tmp_path / "a", num_envs_per_env_runner=60, gym_env_vectorize_mode="async")

    with pytest.raises(AskedTooMuchError, match="at most 32 processes"):
        Algorithm.from_checkpoint(path)


@pytest.mark.parametrize(("name", "value"), [("num_envs_per_env_runner", -1), ("num_epochs", "x")])
def test_a_count_is_a_count(tmp_path, name, value):
    """What is no count is refused by the rule of its setting."""
    path = saved(tmp_path / "a", **{name: value})

    with pytest.raises(ConfigError, match=name):
        Algorithm.from_checkpoint(path)


def test_the_callers_word_goes_before_the_file(tmp_path):
    """A setting that is given is taken as it is, the others are the file's."""
    path = saved(tmp_path / "a", num_envs_per_env_runner=10**7, gamma=0.5)

    algo = Algorithm.from_checkpoint(path, settings={"num_envs_per_env_runner": 2})

    assert (algo.config.num_envs_per_env_runner, algo.config.gamma) == (2, 0.5)
    algo.stop()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"fcnet_hiddens": [10**6, 10**6]}, r"fcnet_hiddens=\[1000000, 1000000\][\s\S]*\(8, 4\)"),
        ({"fcnet_hiddens": [16]}, r"fcnet_hiddens=\[16\][\s\S]*\(8, 4\)"),
        ({"use_lstm": True, "lstm_cell_size": 10**6}, r"lstm_cell_size=1000000[\s\S]*\(2, 8\)"),
    ],
)
def test_networks_beyond_the_weights_are_told_with_both(tmp_path, model, said):
    """A run asks for networks that are not those of its weights, and gets none."""
    path = saved(tmp_path / "a", _model_config=model)

    with pytest.raises(WeightsError, match=said):
        Algorithm.from_checkpoint(path)


def test_evaluation_takes_the_networks_that_learn(tmp_path):
    """Settings for evaluation cannot ask for networks of their own."""
    path = saved(
        tmp_path / "a", evaluation_config={"_model_config": {"fcnet_hiddens": [10**6, 10**6]}}
    )

    with pytest.raises(ConfigError, match="evaluation_config"):
        Algorithm.from_checkpoint(path)


def test_a_runners_own_folder_has_the_same_bounds(tmp_path):
    """An env runner that is loaded alone is held to them, too."""
    runner = SingleAgentEnvRunner(config=small())
    vars(runner.config)["num_envs_per_env_runner"] = 10**7
    path = runner.save_to_path(tmp_path / "a")
    runner.stop()

    with pytest.raises(AskedTooMuchError, match="num_envs_per_env_runner"):
        SingleAgentEnvRunner.from_checkpoint(path)


def test_nothing_is_written_where_a_file_says(tmp_path):
    """A file's `output` is told, kept and not written to; the caller's is."""
    there, mine = tmp_path / "there", tmp_path / "mine"
    path = saved(tmp_path / "a", output=str(there))

    with pytest.warns(UserWarning, match="paths, which are not used: output="):
        algo = Algorithm.from_checkpoint(path)
    algo.train()
    again = algo.save_to_path(tmp_path / "b")
    algo.stop()

    assert not there.exists()
    assert algo.config.output == str(there)
    with pytest.warns(UserWarning, match="there"):
        Algorithm.from_checkpoint(again).stop()
    given = Algorithm.from_checkpoint(again, settings={"output": str(mine)})
    given.train()
    given.stop()
    assert not there.exists()
    assert list(mine.iterdir())


def test_nothing_is_read_where_a_file_says(tmp_path):
    """A file's `input_` is told; what would be learnt from has to be given."""
    episodes = write_episodes(tmp_path / "episodes", recorded())
    config = (
        BCConfig()
        .environment(observation_space=OBS, action_space=ACT)
        .training(train_batch_size=120)
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .offline_data(input_=[str(episodes)])
    )
    algo = config.build_algo()
    path = algo.save_to_path(tmp_path / "a")
    algo.stop()
    elsewhere = tmp_path / "elsewhere.msgpack"
    os.rename(episodes, elsewhere)

    with pytest.warns(UserWarning, match="input_="):
        resumed = BC.from_checkpoint(path)
    with pytest.raises(ConfigError, match=r"episodes\.msgpack"):
        resumed.train()
    given = BC.from_checkpoint(path, settings={"input_": str(elsewhere)})

    assert given.train()["training_iteration"] == 1
    resumed.stop()
    given.stop()


def test_a_runners_networks_follow_its_weights(tmp_path):
    """A runner's own folder gets no networks far beyond what it holds."""
    runner = SingleAgentEnvRunner(config=small())
    vars(runner.config)["_model_config"] = {"fcnet_hiddens": [10**6, 10**6]}
    path = runner.save_to_path(tmp_path / "a")
    runner.stop()

    with pytest.raises(WeightsError, match="far larger than its weights"):
        SingleAgentEnvRunner.from_checkpoint(path)
