"""Algorithms: what an iteration does, reports and promises."""

import itertools

import gymnasium as gym
import numpy as np
import pytest
import torch
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import (
    PPO,
    Algorithm,
    PPOConfig,
    RLlibCallback,
    SingleAgentObservationPreprocessor,
)

from tests.v2.algorithms.algorithm_cases import Countdown, curve, small


def test_result_has_rllibs_layout():
    """The keys are those that Ray 2.60 gives, but for what only Ray can know."""
    algo = small().build_algo()

    result = algo.train()

    assert {
        "config", "date", "done", "env_runner_group", "env_runners", "fault_tolerance", "hostname",
        "iterations_since_restore", "learners", "node_ip", "num_env_steps_sampled_lifetime",
        "num_training_step_calls_per_iteration", "pid", "time_since_restore", "time_this_iter_s",
        "time_total_s", "timers", "timestamp", "training_iteration", "trial_id",
    } <= set(result)  # fmt: skip
    assert {
        "agent_episode_return_mean", "env_reset_timer", "env_step_timer",
        "env_to_module_connector", "env_to_module_sum_episodes_length_in", "episode_len_mean",
        "episode_duration_sec_mean", "episode_len_max", "episode_len_min", "episode_return_max",
        "episode_return_mean", "episode_return_min", "module_episode_return_mean",
        "module_to_env_connector", "num_agent_steps_sampled", "num_agent_steps_sampled_lifetime",
        "num_env_steps_sampled", "num_env_steps_sampled_lifetime",
        "num_env_steps_sampled_lifetime_throughput", "num_episodes", "num_episodes_lifetime",
        "num_module_steps_sampled", "rlmodule_inference_timer", "sample", "weights_seq_no",
    } <= set(result["env_runners"])  # fmt: skip
    assert {
        "curr_entropy_coeff", "curr_kl_coeff", "default_optimizer_learning_rate", "entropy",
        "mean_kl_loss", "module_train_batch_size_mean", "num_module_steps_trained",
        "num_trainable_parameters", "policy_loss", "total_loss", "vf_explained_var", "vf_loss",
        "vf_loss_unclipped", "weights_seq_no",
    } <= set(result["learners"]["default_policy"])  # fmt: skip
    assert {
        "env_runner_sampling_timer", "learner_update_timer", "synch_weights",
        "training_iteration", "training_step",
    } <= set(result["timers"])  # fmt: skip
    algo.stop()


def test_two_runs_of_one_seed_are_equal():
    """Same seed, same machine: identical numbers, iteration by iteration."""
    runs = []
    for _ in range(2):
        algo = small().build_algo()
        runs.append([curve(algo.train()) for _ in range(3)])
        algo.stop()
    assert runs[0] == runs[1]


def test_another_seed_is_another_run():
    """A seed is not just ignored."""
    returns = set()
    for seed in (1, 2):
        algo = small().debugging(seed=seed).build_algo()
        returns.add(algo.train()["learners"]["default_policy"]["total_loss"])
        algo.stop()
    assert len(returns) == 2


def test_env_runner_gets_the_learners_weights():
    """After an iteration, what acts is what was learnt, and has its number."""
    algo = small().build_algo()
    before = {name: value.copy() for name, value in algo.env_runner.get_weights().items()}

    algo.train()

    learnt = algo.learner_group.get_weights()["default_policy"]
    acting = algo.env_runner.get_weights()
    assert any((acting[name] != before[name]).any() for name in acting)
    for name, value in acting.items():
        np.testing.assert_array_equal(value, learnt[name])
    assert algo.env_runner._weights_seq_no == 1
    algo.stop()


def test_steps_add_up():
    """Steps of iterations add up to those of a lifetime, of runner and result alike."""
    algo = small().build_algo()
    results = [algo.train() for _ in range(3)]
    steps = sum(result["env_runners"]["num_env_steps_sampled"] for result in results)
    assert results[-1]["num_env_steps_sampled_lifetime"] == steps
    assert algo.env_runner.num_env_steps_sampled_lifetime == steps
    assert algo.iteration == algo.training_iteration == 3
    algo.stop()


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({"min_sample_timesteps_per_iteration": 300}, 3),
        ({"min_train_timesteps_per_iteration": 1}, 1),
    ],
)
def test_an_iteration_does_enough(settings, calls):
    """`training_step` is called until the iteration has sampled and trained what is asked for."""
    algo = small().reporting(**settings).build_algo()
    assert algo.train()["num_training_step_calls_per_iteration"] == calls
    algo.stop()


def test_time_of_an_iteration(monkeypatch):
    """With a minimum of time an iteration goes on after the first step."""
    algo = small().reporting(min_time_s_per_iteration=0.5).build_algo()
    clock = itertools.count(step=0.2)
    monkeypatch.setattr("rlconnect.v2.algorithms.iteration.perf_counter", lambda: next(clock))
    assert algo.train()["num_training_step_calls_per_iteration"] == 3
    algo.stop()


def test_training_step_can_be_overridden():
    """A user's algorithm says itself what an iteration does."""

    class OnlySampling(PPO):
        def training_step(self):
            self.metrics.log_value("mine", len(self.sampler.train_batch()), reduce="sum")

    algo = OnlySampling(config=small())
    result = algo.train()
    assert result["mine"] >= 1
    assert result["learners"] == {}
    assert 128 <= result["num_env_steps_sampled_lifetime"] <= 129
    algo.stop()


def test_callbacks_come_in_order():
    """Built, then each result; the result may be changed."""
    told = []

    class Telling(RLlibCallback):
        def on_algorithm_init(self, *, algorithm, metrics_logger, **kwargs):
            told.append("init")

        def on_train_result(self, *, algorithm, result, **kwargs):
            told.append(result["training_iteration"])
            result["mine"] = 7

        def on_evaluate_start(self, **kwargs):
            told.append("start")

        def on_evaluate_end(self, *, evaluation_metrics, **kwargs):
            told.append(sorted(evaluation_metrics)[-2:])

    config = small().callbacks(Telling).evaluation(evaluation_interval=2, evaluation_duration=1)
    algo = config.build_algo()
    results = [algo.train() for _ in range(2)]
    assert told == ["init", 1, "start", ["num_healthy_workers", "num_remote_worker_restarts"], 2]
    assert results[0]["mine"] == 7
    algo.stop()


def test_config_is_a_frozen_copy():
    """A run's settings cannot change under it; the config it was built from can."""
    config = small()
    algo = config.build_algo()
    config.training(lr=0.5)
    assert algo.config.lr == 1e-3
    with pytest.raises(AttributeError):
        algo.config.lr = 0.1
    algo.stop()


def test_access_by_rllibs_names():
    """Modules, runners and weights are where strangers look for them."""
    algo = small().build_algo()
    assert algo.get_module() is algo.env_runner.module
    assert algo.get_module("nobody") is None
    assert algo.env_runner_group.local_env_runner is algo.env_runner
    assert isinstance(algo, PPO)
    assert isinstance(algo, Algorithm)
    with pytest.raises(ConfigError, match="get_module"):
        algo.get_policy()
    weights = algo.get_weights()
    for value in weights["default_policy"].values():
        value[...] = 0.25
    algo.set_weights(weights)
    acting = algo.get_module().get_state()
    assert all((value == 0.25).all() for value in acting.values())
    algo.stop()


def test_algorithm_takes_a_dict_and_an_env():
    """As before configs were objects."""
    given = {"num_env_runners": 0, "train_batch_size": 64, "minibatch_size": 32, "num_epochs": 1}
    algo = PPO(config=given, env=Countdown)
    assert algo.train()["env_runners"]["episode_return_mean"] == 5.0
    algo.stop()


def test_without_ray_sampling_happens_here(monkeypatch):
    """RLlib's PPO has two remote runners unless told otherwise; without Ray that is a warning."""
    monkeypatch.setattr("rlconnect.v2.algorithms.env_runner_group._has_ray", lambda: False)
    config = PPOConfig().environment(Countdown).training(train_batch_size=128)
    with pytest.warns(UserWarning, match="sampling happens in this process"):
        algo = config.build_algo()
    assert algo.config.num_env_runners == 0
    algo.stop()


def test_pieces_see_each_step():
    """The documents' FrozenLake: a user's piece makes the observations a module can take."""

    class OneHot(SingleAgentObservationPreprocessor):
        def recompute_output_observation_space(self, in_obs_space, in_act_space):
            return gym.spaces.Box(0.0, 1.0, (in_obs_space.n,), np.float32)

        def preprocess(self, observation, episode):
            made = np.zeros(self.observation_space.shape, np.float32)
            made[observation] = 1.0
            return made

    config = (
        small(env_to_module_connector=lambda env, spaces, device: OneHot())
        .environment("FrozenLake-v1", env_config={"desc": ["SH", "FG"], "is_slippery": False})
        .training(lr=0.01, num_epochs=4)
    )
    algo = config.build_algo()
    first = algo.train()["env_runners"]["episode_return_mean"]
    for _ in range(9):
        last = algo.train()["env_runners"]["episode_return_mean"]
    assert last > 0.9 > first
    algo.stop()


def test_cartpole_is_learnt():
    """A small seeded version of the learning runs: returns at least double."""
    torch.set_num_threads(1)
    config = small(num_envs_per_env_runner=4).training(
        train_batch_size=512, minibatch_size=128, num_epochs=8, lr=3e-3, lambda_=0.95
    )
    config.training(vf_clip_param=10_000.0).rl_module(model_config={"fcnet_hiddens": [32]})
    config.reporting(metrics_num_episodes_for_smoothing=10)
    algo = config.build_algo()
    returns = [algo.train()["env_runners"]["episode_return_mean"] for _ in range(10)]
    assert max(returns[-3:]) > 2 * returns[0]
    algo.stop()


def test_a_subclass_may_add_to_a_step():
    """`train()` reports what `step()` gives, an overridden one too."""

    class Counting(PPO):
        def step(self):
            return {**super().step(), "mine": self._iteration}

    algo = Counting(config=small())

    found = [algo.train()["mine"] for _ in range(2)]

    assert found == [0, 1]
    assert algo.get_config() is algo.config
    assert "multi-agent=False" in repr(algo)


def test_an_algorithm_computes_no_actions():
    """Scripts of the old stack are told what to call."""
    algo = small().build_algo()

    with pytest.raises(ConfigError, match="forward_inference"):
        algo.compute_single_action(np.zeros(4))
