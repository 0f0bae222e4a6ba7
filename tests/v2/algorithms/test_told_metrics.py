"""What results tell, beside what RLlib's tell, iteration by iteration."""

import json
import re
from pathlib import Path

import pytest
from rlconnect.v2 import DQNConfig, PPOConfig, SACConfig

GOLDEN = Path(__file__).parents[2] / "golden" / "v2_metrics" / "told.json"
CONFIGS = {"PPO": PPOConfig, "DQN": DQNConfig, "SAC": SACConfig}

LEFT_OUT = re.compile(
    r"/timers/connectors/"  # pieces that run together have one timer
    r"|^perf/"  # the machine's load is not told
    r"|^timers/(restore_|synch_)(eval_)?env_"  # nothing of that is done in one process
    r"|^evaluation/env_runners/num_env_steps_sampled_lifetime_throughput/"  # of evaluations
)
"""What RLlib tells and we do not, as the page of differences says."""
OF_ALL_STEPS = re.compile(r"weights_seq_no$|_stored$")
"""What RLlib averages over the training steps of an iteration, and we tell of the newest."""


def small(config):
    """The settings that were recorded."""
    config.environment("CartPole-v1").env_runners(num_env_runners=0).debugging(seed=1)
    config.rl_module(model_config={"fcnet_hiddens": [8]})
    config.evaluation(evaluation_interval=2, evaluation_duration=2)
    if isinstance(config, PPOConfig):
        return config.training(train_batch_size_per_learner=64, minibatch_size=32, num_epochs=2)
    rates = {"actor_lr": 3e-4, "critic_lr": 3e-4, "alpha_lr": 3e-4}
    config.training(
        num_steps_sampled_before_learning_starts=10,
        train_batch_size_per_learner=8,
        **(rates if isinstance(config, SACConfig) else {"target_network_update_freq": 10}),
    )
    return config.reporting(min_sample_timesteps_per_iteration=20, min_time_s_per_iteration=0)


def flat(result, prefix=""):
    """Values by path."""
    made = {}
    for key, value in result.items():
        if prefix or key != "config":
            inner = isinstance(value, dict)
            made.update(flat(value, f"{prefix}{key}/") if inner else {f"{prefix}{key}": value})
    return made


@pytest.mark.parametrize("name", CONFIGS)
def test_results_tell_what_rllib_s_tell(name):
    """All keys but a few, and the counts and settings of each iteration; from Ray 2.60."""
    recorded = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
    algo = small(CONFIGS[name]()).build_algo()

    results = [flat(algo.train()) for _ in range(2)]

    algo.stop()
    missing = set(recorded["keys"]) - set().union(*results)
    assert sorted(key for key in missing if not LEFT_OUT.search(key)) == []
    is_one_step = name == "PPO"
    different = {
        key: (values, [each[key] for each in results])
        for key, values in recorded["counts"].items()
        if key not in missing and (is_one_step or not OF_ALL_STEPS.search(key))
        if values != pytest.approx([float(each[key]) for each in results], rel=1e-6)
    }
    assert different == {}
