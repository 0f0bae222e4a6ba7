"""DQN: settings, steps of training, and runs that go on."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError
from rlconnect.core.limits.asking import AskedTooMuchError
from rlconnect.v2 import (
    DQN,
    DefaultCallbacks,
    DQNConfig,
    EpisodeReplayBuffer,
    PrioritizedEpisodeReplayBuffer,
    RLModuleSpec,
    SingleAgentEpisode,
)
from rlconnect.v2.algorithms.off_policy import samples_and_updates
from rlconnect.v2.modules.dqn import DefaultDQNTorchRLModule
from rlconnect.v2.replay.held_episodes import HeldEpisodes


def small(**training):
    """DQN on CartPole, 40 steps an iteration."""
    settings = {
        "num_steps_sampled_before_learning_starts": 20,
        "target_network_update_freq": 10,
        "train_batch_size": 8,
        "lr": 1e-3,
        **training,
    }
    return (
        DQNConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(**settings)
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .reporting(min_sample_timesteps_per_iteration=40)
        .debugging(seed=5)
    )


def curve(algo, iterations=2):
    """What equal runs have in common."""
    found = []
    for _ in range(iterations):
        result = algo.train()
        learner = result["learners"]["default_policy"]
        found.append(
            [result["num_env_steps_sampled_lifetime"], result["env_runners"]["num_episodes"]]
            + [learner[name] for name in ("qf_loss", "qf_mean", "num_target_updates")]
        )
    return found


@pytest.mark.parametrize(
    ("training", "updates"),
    [({}, 21), ({"n_step": 4}, 6), ({"training_intensity": 16.0}, 42)],
    ids=["every step", "n steps", "twice"],
)
def test_an_iteration_samples_keeps_and_learns(training, updates):
    """Steps are sampled, kept and learnt from as often as the settings say; results say so."""
    algo = small(**training).build_algo()

    result = algo.train()

    assert result["num_env_steps_sampled_lifetime"] == 40
    assert result["learners"]["__all_modules__"]["num_env_steps_trained_lifetime"] == 8 * updates
    assert result["replay_buffer"]["num_env_steps_added"] == 40
    assert result["replay_buffer"]["num_env_steps_sampled_lifetime"] == 8 * updates
    assert len(algo.local_replay_buffer) == 40
    learner = result["learners"]["default_policy"]
    assert 30 <= learner["last_target_update_ts"] <= 40
    assert {"qf_loss", "qf_mean", "qf_max", "qf_min", "td_error_mean"} <= set(learner)
    assert "td_error" not in learner
    timers = set(result["timers"])
    assert {"replay_buffer_add_data_timer", "replay_buffer_sampling_timer"} <= timers
    algo.stop()


def test_errors_become_priorities():
    """Each update leaves the steps it learnt from with other priorities."""
    algo = small(num_steps_sampled_before_learning_starts=30).build_algo()

    algo.train()

    buffer = algo.local_replay_buffer
    held = buffer._priorities.get(np.flatnonzero(buffer._rows.after >= 0))
    assert type(buffer) is PrioritizedEpisodeReplayBuffer
    assert len(np.unique(held.round(6))) > 8
    algo.stop()


def test_target_networks_follow():
    """Between two moves they stay; with `tau` they go a part of the way."""
    algo = small(target_network_update_freq=40, tau=0.25).build_algo()
    module = algo.learner_group._learner.module["default_policy"]
    before = module._target_af.net.mlp[0].weight.clone()

    algo.train()

    now = module.af.net.mlp[0].weight
    moved = module._target_af.net.mlp[0].weight
    np.testing.assert_allclose(moved, (0.75 * before + 0.25 * now).detach(), rtol=1e-5, atol=1e-7)
    assert not np.allclose(moved, before)
    algo.stop()


@pytest.mark.parametrize(
    "training",
    [
        {"n_step": (1, 4), "num_atoms": 5, "v_min": 0.0, "v_max": 50.0},
        {"double_q": False, "dueling": False, "td_error_loss_fn": "mse"},
        {"replay_buffer_config": {"type": "EpisodeReplayBuffer", "capacity": 100}},
        {"replay_buffer_config": {"type": EpisodeReplayBuffer, "capacity": 100}, "tau": 0.1},
    ],
    ids=["atoms", "plain", "uniform", "by class"],
)
def test_a_saved_run_goes_on_exactly(tmp_path, training):
    """With its buffer saved, a run that is taken up again gives what the unbroken one does."""
    algo = small(store_buffer_in_checkpoints=True, **training).build_algo()
    algo.train()
    algo.save_to_path(tmp_path)
    unbroken = curve(algo, 1)
    algo.stop()

    resumed = DQN.from_checkpoint(tmp_path)
    found = curve(resumed, 1)

    assert found == unbroken
    resumed.stop()


def test_a_buffer_that_is_not_saved_begins_empty(tmp_path):
    """By default checkpoints are small; where the settings expected more, it is told."""
    algo = small().build_algo()
    algo.train()
    algo.save_to_path(tmp_path)
    algo.stop()

    resumed = DQN.from_checkpoint(tmp_path)
    with pytest.warns(UserWarning, match="has no replay buffer"):
        other = DQN.from_checkpoint(tmp_path, settings={"store_buffer_in_checkpoints": True})

    assert len(resumed.local_replay_buffer) == len(other.local_replay_buffer) == 0
    resumed.train()
    for each in (resumed, other):
        each.stop()


@pytest.mark.parametrize("name", ["capacity", "batch_length_T"])
def test_a_file_cannot_ask_for_a_buffer_of_any_size(tmp_path, name):
    """Memory is laid out for the capacity, so a file's is held to a bound."""
    algo = small().build_algo()
    settings = algo.config.replay_buffer_config
    vars(algo.config)["replay_buffer_config"] = {**settings, name: 10**12}
    algo.save_to_path(tmp_path)
    algo.stop()

    with pytest.raises(AskedTooMuchError, match=f"replay_buffer_config: {name}"):
        DQN.from_checkpoint(tmp_path)


class Remember(gym.Env):
    """Shows a number at first; ten steps later the action that names it is worth 1."""

    observation_space = Box(-1.0, 1.0, (2,), np.float32)
    action_space = Discrete(2)

    def __init__(self, config=None):
        self.at = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.shown = 0, int(self.np_random.integers(2))
        return np.array([2.0 * self.shown - 1.0, 0.0], np.float32), {}

    def step(self, action):
        self.at += 1
        observation = np.array([0.0, self.at / 10], np.float32)
        return observation, float(self.at == 10 and action == self.shown), self.at == 10, False, {}


def test_modules_with_a_state_learn_from_sequences():
    """Sequences with look-back and burn-in reach the losses; the rest is as for single steps."""
    config = small(
        replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 1000},
        burn_in_len=2,
        train_batch_size=24,
    ).environment(Remember)
    config.rl_module(
        model_config={
            "fcnet_hiddens": [8],
            "use_lstm": True,
            "lstm_cell_size": 8,
            "max_seq_len": 6,
        }
    )
    algo = config.build_algo()
    seen = []
    learner = algo.learner_group._learner
    plain = learner.compute_loss_for_module

    def noted(**given):
        seen.append(given["batch"])
        return plain(**given)

    learner.compute_loss_for_module = noted

    result = algo.train()

    assert np.isfinite(result["learners"]["default_policy"]["qf_loss"])
    for batch in seen:
        assert batch["obs"].shape[1:] == batch["new_obs"].shape[1:] == (6, 2)
        assert (batch["seq_lens"] > 2).all()
        assert batch["state_in"]["h"].shape == batch["next_state_in"]["h"].shape
        assert float(batch["loss_mask"].sum()) >= 24
    algo.stop()


def test_the_settings_of_a_buffer_add_up():
    """Of one type they add to what is there, of another they begin anew, as in RLlib."""
    config = DQNConfig().training(replay_buffer_config={"capacity": 10})
    other = DQNConfig().training(replay_buffer_config={"type": "EpisodeReplayBuffer"})

    assert config.replay_buffer_config == {
        "type": "PrioritizedEpisodeReplayBuffer",
        "capacity": 10,
        "alpha": 0.6,
        "beta": 0.4,
    }
    assert other.replay_buffer_config == {"type": "EpisodeReplayBuffer"}
    assert DQNConfig().epsilon == [(0, 1.0), (10000, 0.05)]


@pytest.mark.parametrize(
    ("intensity", "envs", "expected"),
    [(None, 1, (1, 1)), (64.0, 1, (1, 2)), (8.0, 1, (4, 1)), (32.0, 4, (1, 4))],
)
def test_training_intensity(intensity, envs, expected):
    """Steps learnt from in proportion to steps sampled."""
    config = DQNConfig().training(training_intensity=intensity)
    config.env_runners(num_envs_per_env_runner=envs)

    assert samples_and_updates(config) == expected


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"noisy": True}, "noisy"),
        ({"hiddens": [64]}, "head_fcnet_hiddens"),
        ({"lr_schedule": [[0, 1.0]]}, "lr the schedule"),
        ({"before_learn_on_batch": print}, "learner_connector"),
        ({"td_error_loss_fn": "l1"}, "'huber', 'mse'"),
        ({"n_step": 0}, "n_step"),
        ({"n_step": (3, 1)}, "in order"),
    ],
)
def test_settings_that_are_not_supported_are_told(training, message):
    """Nothing is taken in silence that changes nothing."""
    with pytest.raises(ConfigError, match=message):
        DQNConfig().training(**training)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_atoms": 3, "v_min": 2.0, "v_max": 1.0}, "v_min below v_max"),
        ({"replay_buffer_config": {"type": "ReplayBuffer"}}, "EpisodeReplayBuffer"),
        ({"burn_in_len": 20}, "leaves nothing"),
    ],
)
def test_settings_that_contradict_are_told(settings, message):
    """What one setting alone cannot tell is told before anything is built."""
    config = small(**settings).rl_module(model_config={"max_seq_len": 20})

    with pytest.raises(ConfigError, match=message):
        config.validate()


def test_sequences_by_priority_are_refused():
    """RLlib gives a module with a state single steps here, and it unlearns to remember."""
    config = small().rl_module(model_config={"use_lstm": True})

    with pytest.raises(ConfigError, match="EpisodeReplayBuffer"):
        config.build_algo()


def test_a_short_fragment_is_told():
    """A fragment has to hold the steps that become one."""
    config = small(n_step=3).env_runners(rollout_fragment_length=2)

    with pytest.raises(ConfigError, match="smaller than n_step"):
        config.validate()


def test_the_runner_acts_by_what_was_learnt_last():
    """After each step of training its weights are the learner's, and so is their number."""
    algo = small().build_algo()
    for _ in range(3):
        algo.train()

        (learner,) = algo.learner_group.foreach_learner(lambda each: each)
        theirs = learner.get().module["default_policy"].get_state(inference_only=True)
        ours = algo.env_runner.module.get_state()
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            np.testing.assert_array_equal(value, theirs[name])
        assert (
            algo.env_runner.get_state("rl_module")["weights_seq_no"] == learner.get().weights_seq_no
        )


def test_weights_go_by_states_where_a_module_has_its_own(monkeypatch):
    """A module that says itself what its state is hands that over, tensor by tensor or not."""

    class Own(DefaultDQNTorchRLModule):
        given = 0

        def get_state(self, *args, **kwargs):
            type(self).given += 1
            return super().get_state(*args, **kwargs)

    config = small().rl_module(
        rl_module_spec=RLModuleSpec(Own, model_config={"fcnet_hiddens": [8]})
    )
    algo = config.build_algo()
    before = Own.given

    algo.train()

    assert Own.given - before == 21


def test_metrics_asked_for_within_an_iteration_are_those_so_far():
    """What runner and learner keep until somebody asks is there when somebody does."""
    seen = []

    class Asking(DQN):
        def training_step(self):
            super().training_step()
            sampled = self.metrics.peek(("env_runners", "num_env_steps_sampled_lifetime"))
            learnt = self.metrics.peek(
                ("learners", "default_policy", "num_module_steps_trained_lifetime"), default=0
            )
            seen.append((sampled, learnt))

    config = small()
    algo = Asking(config)
    algo.train()

    assert seen == [(step, max(0, step - 19) * 8) for step in range(1, 41)]


def test_asking_for_metrics_changes_no_run():
    """A run whose metrics are looked at in each step has the curve of one that is left alone."""

    class Asking(DQN):
        def training_step(self):
            super().training_step()
            self.metrics.peek()

    assert curve(Asking(small())) == curve(small().build_algo())


class Seeing(DefaultCallbacks):
    """Somebody who looks at what is sampled."""

    def on_sample_end(self, *, samples, **kwargs):
        assert isinstance(samples[0], SingleAgentEpisode)


@pytest.mark.parametrize("kind", ["EpisodeReplayBuffer", "PrioritizedEpisodeReplayBuffer"])
def test_a_run_is_the_same_whether_or_not_somebody_sees_its_episodes(kind, monkeypatch):
    """Steps that go into the buffer past the episodes are learnt from as the others are."""
    added = []
    add = HeldEpisodes.add
    monkeypatch.setattr(HeldEpisodes, "add", lambda self, one: added.append(one) or add(self, one))

    config = small(replay_buffer_config={"type": kind, "capacity": 60})
    unseen = curve(config.build_algo(), 3)
    seldom = len(added)
    seen = curve(config.copy(copy_frozen=False).callbacks(Seeing).build_algo(), 3)

    assert unseen == seen
    assert seldom < 10 < len(added)
