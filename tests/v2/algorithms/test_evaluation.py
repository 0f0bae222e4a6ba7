"""Evaluations: their own runners, the learner's weights, the trainers' filters."""

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import MeanStdFilter, PPOConfig, RLlibCallback

from tests.v2.algorithms.algorithm_cases import Countdown, small


def test_evaluates_every_so_often():
    """With an interval of 2, each second iteration has an evaluation."""
    algo = small().evaluation(evaluation_interval=2, evaluation_duration=3).build_algo()
    results = [algo.train() for _ in range(4)]
    assert ["evaluation" in result for result in results] == [False, True, False, True]
    found = results[1]["evaluation"]["env_runners"]
    assert found["num_episodes"] == 3
    assert found["num_env_steps_sampled"] > 0
    assert found["weights_seq_no"] == 2
    algo.stop()


def test_evaluation_does_not_count_as_training():
    """Steps of evaluations are on their own account."""
    algo = small().build_algo()
    sampled = algo.train()["num_env_steps_sampled_lifetime"]
    algo.evaluate()
    result = algo.train()
    new = result["env_runners"]["num_env_steps_sampled"]
    assert result["num_env_steps_sampled_lifetime"] == sampled + new
    algo.stop()


def test_evaluation_has_its_own_settings():
    """Another environment, no exploration, and time steps as the unit."""
    config = (
        small()
        .environment(Countdown, env_config={"length": 4})
        .evaluation(
            evaluation_duration=10,
            evaluation_duration_unit="timesteps",
            evaluation_config={"env_config": {"length": 2}, "explore": False},
        )
    )
    algo = config.build_algo()
    trained, evaluated = algo.train(), algo.evaluate()
    assert trained["env_runners"]["episode_return_mean"] == 4.0
    assert evaluated["env_runners"]["episode_return_mean"] == 2.0
    assert evaluated["env_runners"]["num_env_steps_sampled"] >= 10
    assert algo.eval_env_runner.config.explore is False
    algo.stop()


def test_filters_travel_to_the_evaluation():
    """What the training runner's filter has seen is what the evaluating one begins with."""
    algo = small(env_to_module_connector=lambda env, spaces, device: MeanStdFilter()).build_algo()
    algo.train()
    seen = algo.env_runner_group.connector_state()["MeanStdFilter"][None]["running_stats"][0]

    algo.evaluate()

    now = algo.eval_env_runner_group.connector_state()["MeanStdFilter"][None]["running_stats"][0]
    after = algo.env_runner_group.connector_state()["MeanStdFilter"][None]["running_stats"][0]
    assert now["num_pushes"] > seen["num_pushes"]
    assert after["num_pushes"] == seen["num_pushes"]
    algo.stop()


def test_a_users_function_evaluates():
    """It gets the algorithm and the runners, and its results are the evaluation's."""

    def mine(algorithm, runners):
        episodes = runners.local_env_runner.sample(num_episodes=1)
        return {"length": len(episodes[0])}, 0, 0

    algo = small().evaluation(custom_evaluation_function=mine).build_algo()
    assert algo.evaluate()["length"] > 0
    algo.stop()


def test_evaluation_needs_an_environment():
    """Without one, the error says what to set."""
    from rlconnect.v2 import BCConfig

    from tests.v2.algorithms.algorithm_cases import ACT, OBS, recorded

    config = (
        BCConfig()
        .environment(observation_space=OBS, action_space=ACT)
        .offline_data(input_=recorded())
        .training(train_batch_size=40)
    )
    algo = config.build_algo()
    with pytest.raises(ConfigError, match="no environment to evaluate in"):
        algo.evaluate()
    assert np.isfinite(algo.train()["learners"]["default_policy"]["total_loss"])
    assert isinstance(PPOConfig().get_evaluation_config_object(), PPOConfig)
    algo.stop()


def test_an_evaluation_is_of_its_own_episodes():
    """Its mean is that of its episodes alone, within the interval; its lifetime sums go on."""
    returns = []

    class Collect(RLlibCallback):
        def on_episode_end(self, *, episode, env_runner, **kwargs):
            if env_runner.config.in_evaluation:
                returns.append(episode.get_return())

    config = small().evaluation(evaluation_interval=1, evaluation_duration=4)
    algo = config.callbacks(Collect).build_algo()
    for iteration in (1, 2, 3):
        returns.clear()
        found = algo.train()["evaluation"]["env_runners"]

        assert found["episode_return_mean"] == pytest.approx(np.mean(returns))
        assert found["episode_return_max"] == max(returns)
        assert found["episode_return_ci95_low"] <= found["episode_return_mean"]
        assert found["episode_return_ci95_high"] >= found["episode_return_mean"]
        assert found["num_episodes_lifetime"] == 4 * iteration
    algo.stop()


def test_one_episode_tells_no_interval():
    """There is nothing to tell how much episodes vary."""
    algo = small().evaluation(evaluation_interval=1, evaluation_duration=1).build_algo()

    found = algo.train()["evaluation"]["env_runners"]

    assert "episode_return_mean" in found
    assert "episode_return_ci95_low" not in found
    algo.stop()


def test_training_tells_both_means():
    """Over the last hundred episodes, and over those that ended in the iteration."""
    returns = []

    class Collect(RLlibCallback):
        def on_episode_end(self, *, episode, prev_episode_chunks=(), **kwargs):
            chunks = [*(prev_episode_chunks or ()), episode]
            returns[-1].append(sum(each.get_return() for each in chunks))

    algo = small().callbacks(Collect).build_algo()
    for _ in range(3):
        returns.append([])
        found = algo.train()["env_runners"]

        assert found["episode_return_mean_this_iter"] == pytest.approx(np.mean(returns[-1]))
        assert found["episode_return_mean"] == pytest.approx(
            np.mean([each for part in returns for each in part])
        )
    algo.stop()


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"evaluation_parallel_to_training": True}, "requires separate env runners"),
        ({"evaluation_duration": "auto"}, "requires parallel training"),
        (
            {"evaluation_duration": "auto", "evaluation_num_env_runners": 1},
            "requires parallel training",
        ),
    ],
)
def test_what_has_nothing_to_run_beside_is_refused(settings, match):
    """As in RLlib: parallel evaluations need runners of their own, and "auto" needs those."""
    with pytest.raises(ConfigError, match=match):
        small().evaluation(evaluation_interval=1, **settings).validate()


@pytest.mark.filterwarnings("ignore:1 env runners beside this process need Ray:UserWarning")
def test_a_config_for_ray_evaluates_here_without_it():
    """Then nothing runs beside, and "auto" is an episode."""
    config = small().evaluation(
        evaluation_interval=1,
        evaluation_num_env_runners=1,
        evaluation_parallel_to_training=True,
        evaluation_duration="auto",
    )

    algo = config.build_algo()

    assert algo.train()["evaluation"]["env_runners"]["num_episodes"] == 1
    algo.stop()
