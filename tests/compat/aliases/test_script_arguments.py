"""The command line of RLlib's example scripts."""

import argparse
from types import SimpleNamespace

import pytest
from rlconnect.compat.aliases.activation import is_ray_installed
from rlconnect.compat.aliases.script_arguments import (
    add_rllib_example_script_args,
    check_learning_achieved,
    run_rllib_example_script_experiment,
)
from rlconnect.core.errors import ConfigError, MissingExtraError
from rlconnect.v2 import PPOConfig


def small_config():
    """A run of 32 steps an iteration."""
    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=32, minibatch_size=32, num_epochs=1)
    )


def test_options_have_the_defaults_of_the_script():
    """What a script gives as enough is what its options begin with."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--own", type=int, default=3)

    args = add_rllib_example_script_args(parser, default_reward=5.0).parse_args(["--no-tune"])

    assert (args.own, args.stop_reward, args.stop_iters, args.no_tune) == (3, 5.0, 200, True)
    assert (args.algo, args.num_agents, args.evaluation_duration) == ("PPO", 0, 10)


@pytest.fixture
def at_home(monkeypatch, tmp_path):
    """Results go to a folder of the test's."""
    monkeypatch.setenv("HOME", str(tmp_path))


def test_a_script_trains_until_it_is_enough():
    """Without Tune the last result comes back."""
    args = add_rllib_example_script_args(default_iters=2).parse_args(["--no-tune"])

    result = run_rllib_example_script_experiment(small_config(), args)

    assert result["training_iteration"] == 2


def test_several_trials_need_ray(at_home):
    """Several samples are Ray Tune's to run; the error names what to install."""
    args = add_rllib_example_script_args(default_iters=1).parse_args(["--num-samples=2"])

    if is_ray_installed():
        pytest.skip("Ray is installed")
    with pytest.raises(MissingExtraError, match="needs Ray Tune"):
        run_rllib_example_script_experiment(small_config(), args)


def test_results_of_trials_are_checked():
    """The best trial has to have reached the value."""
    grid = SimpleNamespace(get_best_result=lambda path, mode: SimpleNamespace(metrics={"a": 32}))

    check_learning_achieved(grid, 32, metric="a")
    with pytest.raises(ConfigError, match="not as good"):
        check_learning_achieved(grid, 33, metric="a")


def test_options_change_the_settings():
    """What is given wins, but for an environment that the script has named."""
    args = add_rllib_example_script_args(default_iters=1).parse_args(
        ["--no-tune", "--env=Pendulum-v1", "--num-envs-per-env-runner=2"]
    )
    config = small_config()

    run_rllib_example_script_experiment(config, args)

    assert (config.env, config.num_envs_per_env_runner) == ("CartPole-v1", 2)


@pytest.mark.parametrize("options", [["--no-tune"], ["--verbose=0"]])
def test_a_script_as_a_test_has_to_get_there(at_home, options):
    """With `--as-test` a low return is an error."""
    args = add_rllib_example_script_args().parse_args(["--as-test", "--stop-reward=1e6", *options])
    metric = {"num_env_steps_sampled_lifetime": 1e6}

    with pytest.raises(ConfigError, match="not as good"):
        run_rllib_example_script_experiment(
            small_config(), args, stop={"training_iteration": 1}, success_metric=metric
        )
