"""Checkpoints of algorithms: where things lie, and that a run goes on as if it had not stopped."""

import json

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.core.errors import (
    CheckpointNotFoundError,
    ConfigError,
    UnknownClassError,
)
from rlconnect.v2 import (
    BC,
    PPO,
    Algorithm,
    MeanStdFilter,
    RLlibCallback,
    RLModule,
    make_multi_agent,
)

from tests.v2.algorithms.algorithm_cases import Countdown, curve, small


def scheduled(**env_runners):
    """Everything that moves: rates, entropy, divergence."""
    return small(**env_runners).training(
        lr=[[0, 1e-3], [1000, 1e-5]], entropy_coeff=[[0, 0.1], [1000, 0.0]]
    )


def piece(env, spaces, device):
    """A connector with a state."""
    return MeanStdFilter()


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({"batch_mode": "complete_episodes"}, {}),
        ({"env_to_module_connector": piece}, {}),
        ({"gym_env_vectorize_mode": "async"}, {}),
        ({}, {"use_lstm": True, "max_seq_len": 5}),
    ],
    ids=["complete", "truncated", "async", "lstm"],
)
def test_a_resumed_run_goes_on_exactly(tmp_path, settings, model):
    """What a fresh process would do is what the first one does, to the bit: mid-episode, too."""
    config = scheduled(**settings).rl_module(model_config={"fcnet_hiddens": [8], **model})
    algo = config.build_algo()
    algo.train()
    algo.save_to_path(tmp_path / "saved", use_msgpack=bool(model))
    expected = [curve(algo.train()) for _ in range(2)]
    algo.stop()

    resumed = Algorithm.from_checkpoint(tmp_path / "saved", trust=[piece])

    assert isinstance(resumed, PPO)
    assert [curve(resumed.train()) for _ in range(2)] == expected
    assert resumed.train()["iterations_since_restore"] == 3
    resumed.stop()


def test_several_agents_go_on_exactly(tmp_path):
    """Agents, their modules and what each waits for come back in the middle of episodes."""
    config = (
        scheduled()
        .environment(make_multi_agent("CartPole-v1"), env_config={"num_agents": 3})
        .multi_agent(
            policies={"p", "default_policy"},
            policy_mapping_fn=lambda agent, *_, **__: "p" if agent else "default_policy",
        )
    )
    algo = config.build_algo()
    algo.train()
    algo.save_to_path(tmp_path / "at one")
    expected = [curve(algo.train()) for _ in range(2)]

    resumed = Algorithm.from_checkpoint(tmp_path / "at one", config=config)

    assert [curve(resumed.train()) for _ in range(2)] == expected
    resumed.stop()
    algo.stop()


class Simulated(gym.Wrapper):
    """Holds what cannot be written down."""

    def __init__(self, config=None):
        super().__init__(gym.make("CartPole-v1"))
        self.simulator = object()


def test_a_simulator_begins_with_a_reset(tmp_path):
    """An environment that is no data is reset; nothing else is lost."""
    config = small().environment(Simulated)
    algo = config.build_algo()
    algo.train()
    algo.save_to_path(tmp_path / "one")

    resumed = Algorithm.from_checkpoint(tmp_path / "one", config=config)
    runner = resumed.env_runner_group.local_env_runner

    assert runner._needs_initial_reset
    assert resumed.train()["num_env_steps_sampled_lifetime"] >= 256
    resumed.stop()
    algo.stop()


def test_restoring_takes_an_algorithm_back(tmp_path):
    """Into the same object, an older state comes back as well, weights and all."""
    algo = scheduled(batch_mode="complete_episodes").build_algo()
    algo.train()
    path = algo.save(tmp_path / "saved")
    expected = [curve(algo.train()) for _ in range(2)]

    algo.restore(path)

    assert algo.iteration == 1
    assert [curve(algo.train()) for _ in range(2)] == expected
    algo.stop()


def test_a_save_takes_the_place_of_the_one_before(tmp_path):
    """Beside a user's file, too: no older state stays in the other encoding."""
    algo = small().build_algo()
    algo.save_to_path(tmp_path / "a")
    (tmp_path / "a" / "notes.txt").write_text("mine", encoding="utf-8")
    algo.train()
    weights = algo.get_module().get_state()

    algo.save_to_path(tmp_path / "a", use_msgpack=True)
    algo.stop()

    assert list((tmp_path / "a").rglob("*state.pkl")) == []
    assert (tmp_path / "a" / "notes.txt").read_text(encoding="utf-8") == "mine"
    again = Algorithm.from_checkpoint(tmp_path / "a")
    assert again.iteration == 1
    for name, value in again.get_module().get_state().items():
        np.testing.assert_array_equal(value, weights[name])
    again.stop()


@pytest.mark.parametrize("use_msgpack", [False, True])
def test_layout_is_rllibs(tmp_path, use_msgpack):
    """Folders and files are those that RLlib writes; a module can be taken out of them."""
    algo = small().evaluation(evaluation_interval=5).build_algo()
    algo.train()
    algo.save_to_path(tmp_path / "a", use_msgpack=use_msgpack)

    ending = "msgpack" if use_msgpack else "pkl"
    found = {str(file.relative_to(tmp_path / "a")) for file in (tmp_path / "a").rglob("*.*")}
    for name in (
        "rllib_checkpoint.json",
        "class_and_ctor_args.pkl",
        f"algorithm_state.{ending}",
        f"env_runner/state.{ending}",
        "env_runner/env_to_module_connector/metadata.json",
        "eval_env_runner/module_to_env_connector/metadata.json",
        f"learner_group/learner/state.{ending}",
        f"learner_group/learner/rl_module/default_policy/module_state.{ending}",
    ):
        assert name in found
    assert not any(name.startswith("env_runner/rl_module") for name in found)
    assert json.loads((tmp_path / "a" / "rllib_checkpoint.json").read_text(encoding="utf-8"))
    module = RLModule.from_checkpoint(tmp_path / "a/learner_group/learner/rl_module")
    held = module["default_policy"].get_state()
    for name, value in algo.get_module().get_state().items():
        np.testing.assert_array_equal(held[name], value)
    resumed = Algorithm.from_checkpoint(tmp_path / "a")
    assert resumed.iteration == 1
    resumed.stop()
    algo.stop()


@pytest.mark.parametrize("from_its_own_folder", [False, True])
def test_one_module_comes_back_alone(tmp_path, from_its_own_folder):
    """By its component name: from the whole checkpoint, or from its own folder as RLlib has it."""
    component = "learner_group/learner/rl_module/default_policy"
    algo = small().build_algo()
    algo.train()
    algo.save_to_path(tmp_path / "a")
    other = small().debugging(seed=99).build_algo()

    folder = tmp_path / "a" / component if from_its_own_folder else tmp_path / "a"
    other.restore_from_path(folder, component=component)

    assert other.iteration == 0
    for name, value in algo.get_module().get_state().items():
        np.testing.assert_array_equal(other.get_module().get_state()[name], value)
    algo.stop()
    other.stop()


def test_callback_after_loading(tmp_path):
    """`on_checkpoint_loaded` is told when all of it is there."""
    told = []

    class Telling(RLlibCallback):
        def on_checkpoint_loaded(self, *, algorithm, **kwargs):
            told.append(algorithm.iteration)

    algo = small().callbacks(Telling).build_algo()
    algo.train()
    path = algo.save_to_path(tmp_path / "a")
    algo.restore_from_path(path)
    assert told == [1]
    algo.stop()


def test_unknown_functions_are_named_and_can_be_given(tmp_path):
    """One error names a lambda, its setting and an environment; either way to give them works."""
    config = small(env_to_module_connector=lambda env, spaces, device: MeanStdFilter())
    algo = config.environment(Countdown).build_algo()
    algo.train()
    path = algo.save_to_path(tmp_path / "a")
    algo.stop()

    with pytest.raises(UnknownClassError, match="_env_to_module_connector") as caught:
        Algorithm.from_checkpoint(path)
    env, builder = caught.value.missing
    assert env.endswith(".Countdown")
    assert builder.endswith(".<lambda>")
    by_name = Algorithm.from_checkpoint(path, trust={env: Countdown, builder: piece})
    by_config = Algorithm.from_checkpoint(path, config=config)
    for made in (by_name, by_config):
        assert made.iteration == 1
        assert made.env_runner_group.connector_state()["MeanStdFilter"]
        made.stop()


def test_what_is_not_there_or_something_else(tmp_path):
    """A wrong path and a wrong class are told at once."""
    with pytest.raises(CheckpointNotFoundError):
        Algorithm.from_checkpoint(tmp_path / "nothing")
    algo = small().build_algo()
    path = algo.save_to_path(tmp_path / "a")
    algo.stop()
    with pytest.raises(ConfigError, match="another class"):
        BC.from_checkpoint(path)
