"""Trials in real Ray Tune. Skips itself without Ray; RLlib is never needed."""

import os
import signal

import gymnasium
import numpy as np
import pytest
from rlconnect.v2 import PPO, PPOConfig, RLlibCallback, register_env

pytestmark = pytest.mark.ray
ray = pytest.importorskip("ray")

from ray import tune  # noqa: E402

RETURN = "env_runners/episode_return_mean"


class Deadly(RLlibCallback):
    """Kills the process of one trial in its fourth iteration, once."""

    def on_train_result(self, *, algorithm, result, **kwargs):
        flag = algorithm.config.env_config["flag"]
        is_time = algorithm.config.lr == 1e-3 and result["training_iteration"] == 4
        if is_time and not os.path.exists(flag):
            open(flag, "w", encoding="utf-8").close()
            os.kill(os.getpid(), signal.SIGKILL)


def config(**env_config):
    """PPO on an environment of one's own, registered in this process only."""
    register_env("mine", lambda context: gymnasium.make("CartPole-v1"))
    return (
        PPOConfig()
        .environment("mine", env_config=env_config)
        .env_runners(num_env_runners=0)
        .training(train_batch_size=200, minibatch_size=100, num_epochs=1)
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .debugging(seed=3)
    )


def test_three_trials_with_asha_and_a_kill_in_between(tmp_path):
    """The killed trial goes on from its checkpoint, the worst ends early, the best is loaded."""
    asha = tune.schedulers.ASHAScheduler(grace_period=2, max_t=6, reduction_factor=2)
    tuner = tune.Tuner(
        PPO.as_trainable(config(flag=str(tmp_path / "flag")).callbacks(Deadly)),
        param_space={"lr": tune.grid_search([1e-3, 1e-4, 1e-5])},
        tune_config=tune.TuneConfig(metric=RETURN, mode="max", scheduler=asha),
        run_config=tune.RunConfig(
            name="three",
            storage_path=str(tmp_path),
            failure_config=tune.FailureConfig(max_failures=2),
            checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1, num_to_keep=2),
            verbose=0,
        ),
    )

    grid = tuner.fit()

    assert (tmp_path / "flag").exists()
    assert grid.num_errors == 0
    told = {result.config["lr"]: result.metrics_dataframe for result in grid}
    assert len(told) == 3
    for table in told.values():
        iterations = list(table["training_iteration"])
        assert iterations == list(range(1, len(iterations) + 1))
        steps = list(table["num_env_steps_sampled_lifetime"])
        assert steps == [200 * each for each in iterations]
    assert max(len(table) for table in told.values()) == 6
    pids = {rate: table["pid"].nunique() for rate, table in told.items()}
    assert pids[1e-3] == 2 or len(told[1e-3]) < 4

    best = grid.get_best_result()
    algorithm = PPO.from_checkpoint(best.checkpoint, trust=[Deadly])
    assert algorithm.iteration == best.metrics["training_iteration"]
    assert algorithm.config.lr == best.config["lr"]
    algorithm.stop()


def test_a_trial_is_given_another_ones_state_and_settings(tmp_path):
    """As population based training does: other settings from a checkpoint, in the same process."""
    trial = PPO.as_trainable(config())(config={"lr": 1e-3})
    trial.train()
    weights = trial.made.get_weights()["default_policy"]
    saved = trial.save(str(tmp_path))
    trial.train()

    assert trial.reset({"lr": 1e-5})
    trial.restore(saved)

    assert trial.made.config.lr == 1e-5
    for name, value in trial.made.get_weights()["default_policy"].items():
        assert np.array_equal(value, weights[name])
    assert trial.train()["training_iteration"] == 2
    trial.stop()


def test_a_trial_asks_for_its_runners():
    """What Ray sets aside counts the trial's process, its learners and each runner beside it."""
    own = config().env_runners(num_env_runners=2, num_cpus_per_env_runner=0.5)
    own.evaluation(evaluation_num_env_runners=1)

    asked = PPO.as_trainable(own).default_resource_request({"num_env_runners": 1})

    assert asked.bundles == [{"CPU": 1.0}, {"CPU": 0.5}, {"CPU": 0.5}]
    own.learners(num_learners=2)
    asked = PPO.as_trainable(own).default_resource_request({"num_env_runners": 0})
    assert asked.bundles == [{"CPU": 1.0}, {"CPU": 0.5}, {"CPU": 1.0}, {"CPU": 1.0}]
