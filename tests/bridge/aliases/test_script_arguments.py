"""The command line of RLlib's example scripts."""

import argparse

import pytest
from rlconnect.bridge.aliases.script_arguments import (
    add_rllib_example_script_args,
    run_rllib_example_script_experiment,
)
from rlconnect.core.errors import ConfigError
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


def test_a_script_trains_until_it_is_enough():
    """Iterations, steps and the mean return each end the run."""
    args = add_rllib_example_script_args(default_iters=2).parse_args([])

    result = run_rllib_example_script_experiment(small_config(), args)

    assert result["training_iteration"] == 2


def test_a_script_as_a_test_has_to_get_there():
    """With `--as-test` a low return is an error."""
    args = add_rllib_example_script_args().parse_args(["--as-test", "--stop-reward=1e6"])

    with pytest.raises(ConfigError, match="not as good"):
        run_rllib_example_script_experiment(small_config(), args, stop={"training_iteration": 1})
