"""SAC: steps of training, exploring and not, and runs that go on."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import SAC, PrioritizedEpisodeReplayBuffer, SACConfig


class Near(gym.Env):
    """A number is shown; the nearer the action comes to half of it, the better; twenty steps."""

    observation_space = Box(-1.0, 1.0, (1,), np.float32)
    action_space = Box(-2.0, 2.0, (1,), np.float32)

    def __init__(self, config=None):
        self._steps = 0
        self._shown = np.zeros(1, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._steps = 0
        return self._show(), {}

    def step(self, action):
        assert np.abs(action).max() <= 2.0
        reward = -float(np.square(action - self._shown / 2).sum())
        self._steps += 1
        return self._show(), reward, False, self._steps == 20, {}

    def _show(self):
        self._shown = self.np_random.uniform(-1, 1, 1).astype(np.float32)
        return self._shown


def small(env=Near, **training):
    """SAC with small networks, 40 steps an iteration."""
    settings = {
        "num_steps_sampled_before_learning_starts": 20,
        "train_batch_size_per_learner": 16,
        "actor_lr": 3e-3,
        "critic_lr": 3e-3,
        "alpha_lr": 3e-3,
        **training,
    }
    return (
        SACConfig()
        .environment(env)
        .env_runners(num_env_runners=0)
        .training(**settings)
        .rl_module(model_config={"fcnet_hiddens": [16], "fusionnet_hiddens": [16]})
        .reporting(min_sample_timesteps_per_iteration=40, min_time_s_per_iteration=0)
        .debugging(seed=5)
    )


TOLD = ("policy_loss", "qf_loss", "qf_mean", "alpha_value", "num_target_updates")


def curve(algo, iterations=2):
    """What equal runs have in common."""
    found = []
    for _ in range(iterations):
        result = algo.train()
        learner = result["learners"]["default_policy"]
        found.append([result["num_env_steps_sampled_lifetime"], *(learner[key] for key in TOLD)])
    return found


@pytest.mark.parametrize(
    ("training", "updates"),
    [({}, 21), ({"n_step": 4}, 6), ({"n_step": (2, 4)}, 6), ({"training_intensity": 32.0}, 42)],
    ids=["every step", "n steps", "a few steps", "twice"],
)
def test_an_iteration_samples_keeps_and_learns(training, updates):
    """Steps are sampled, kept and learnt from as often as the settings say; results say so."""
    algo = small(**training).build_algo()

    result = algo.train()

    assert result["num_env_steps_sampled_lifetime"] == 40
    assert result["learners"]["__all_modules__"]["num_env_steps_trained_lifetime"] == 16 * updates
    learner = result["learners"]["default_policy"]
    assert learner["num_target_updates"] == updates
    wanted = {"policy_loss", "qf_loss", "qf_twin_loss", "alpha_loss", "alpha_value", "logps"}
    wanted |= {"log_alpha_value", "target_entropy", "qf_mean", "td_error_mean", "total_loss"}
    assert wanted <= set(learner)
    assert "td_error" not in learner
    rates = {f"{name}_learning_rate" for name in ("policy", "qf", "qf_twin", "alpha")}
    assert rates <= set(learner)
    algo.stop()


def test_errors_become_priorities():
    """Each update leaves the steps it learnt from with other priorities."""
    algo = small().build_algo()

    algo.train()

    buffer = algo.local_replay_buffer
    assert type(buffer) is PrioritizedEpisodeReplayBuffer
    held = buffer._priorities.get(np.flatnonzero(buffer._rows.after >= 0))
    assert len(np.unique(held.round(6))) > 8
    algo.stop()


@pytest.mark.parametrize(
    ("env", "training"),
    [
        (Near, {}),
        (Near, {"twin_q": False, "n_step": 2, "target_network_update_freq": 10}),
        ("CartPole-v1", {"replay_buffer_config": {"type": "EpisodeReplayBuffer"}}),
    ],
    ids=["box", "one network", "discrete"],
)
def test_a_saved_run_goes_on_exactly(tmp_path, env, training):
    """With its buffer saved, a run that is taken up again gives what the unbroken one does."""
    algo = small(env, store_buffer_in_checkpoints=True, **training).build_algo()
    algo.train()
    algo.save_to_path(tmp_path)
    unbroken = curve(algo, 1)
    algo.stop()

    resumed = SAC.from_checkpoint(tmp_path, trust=[Near])
    found = curve(resumed, 1)

    assert found == unbroken
    resumed.stop()


def missed_by(algo):
    """How far the greedy policy is from the best actions, squared; a random one by 1.4."""
    shown = np.linspace(-1, 1, 9, dtype=np.float32)[:, None]
    inputs = algo.get_module().forward_inference({"obs": torch.from_numpy(shown)})
    done = 2 * np.tanh(inputs["action_dist_inputs"][:, :1].numpy())
    return float(np.square(done - shown / 2).mean())


def test_it_learns():
    """In 240 steps the greedy policy comes near the best actions."""
    algo = small(train_batch_size_per_learner=32, critic_lr=1e-2, gamma=0.0).build_algo()

    for _ in range(6):
        algo.train()

    assert missed_by(algo) < 0.08
    algo.stop()


def test_actions_are_drawn_only_where_exploring():
    """Evaluation without exploring gives the same returns again; with it, others."""

    def returns(explore):
        config = small(num_steps_sampled_before_learning_starts=1000).evaluation(
            evaluation_interval=1,
            evaluation_duration=2,
            evaluation_config={"explore": explore, "seed": 3},
        )
        algo = config.build_algo()
        found = [
            algo.evaluate()["env_runners"]["episode_return_mean"],
            algo.get_module().get_inference_action_dist_cls().__name__,
        ]
        algo.stop()
        return found

    assert returns(False) == returns(False)
    assert returns(True) != returns(False)


@pytest.mark.parametrize(
    ("training", "word"),
    [
        ({"lr": 1e-3}, "actor_lr"),
        ({"tau": 2.0}, "tau"),
        ({"initial_alpha": 0.0}, "initial_alpha"),
        ({"target_entropy": "some"}, "target_entropy"),
        ({"n_step": 0}, "n_step"),
        ({"twin_q": "yes"}, "twin_q"),
    ],
)
def test_settings_are_checked(training, word):
    """What makes no sense is told with the name of the setting."""
    with pytest.raises(ConfigError, match=word):
        small(**training)


def test_a_memory_is_refused():
    """SAC has no recurrent default network."""
    config = small(replay_buffer_config={"type": "EpisodeReplayBuffer"})
    config.rl_module(model_config={"use_lstm": True, "fcnet_hiddens": [4], "max_seq_len": 4})
    with pytest.raises(ConfigError, match="recurrent"):
        config.build_algo()
