"""Learning goes on where a migrated policy stands."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge import migrate, verify
from rlconnect.core.errors import CheckpointNotFoundError, ConfigError
from rlconnect.v2 import BCConfig, DQNConfig, PPOConfig, SACConfig

from tests.bridge.migrate.networks import POLICIES, REFUSED, policy_of
from tests.legacy.replay import GOLDEN, Recording

SOURCES = [
    "2.7.2/ppo_pendulum_norm_meanstd",
    "2.7.2/ppo_lstm_prev",
    "2.7.2/ppo_free_log_std",
    "2.60.0/ppo_dict_obs_flat",
    "2.3.1/ppo_tuple_act",
]


class Dice(gym.Env):
    """Gives random observations; an episode has five steps."""

    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._seen(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.steps += 1
        return self._seen(), float(self.np_random.normal()), self.steps == 5, False, {}

    def _seen(self):
        return _narrow(self.observation_space.sample())


def _narrow(value):
    if isinstance(value, dict):
        return {key: _narrow(part) for key, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.clip(value, -3, 3)
    return value


def algorithm_of(path, observation_space, action_space):
    """PPO that goes on from a folder, with a small batch."""
    config = (
        PPOConfig()
        .from_migrated(path)
        .environment(lambda config: Dice(observation_space, action_space))
        .training(train_batch_size_per_learner=40, minibatch_size=20, num_epochs=1)
        .debugging(seed=0)
    )
    return config.build_algo()


@pytest.mark.parametrize("name", SOURCES)
def test_the_first_outputs_are_the_policys_and_then_it_learns(name, tmp_path):
    """Native or wrapped: before the first update every stage equals the source's."""
    policy = Recording(GOLDEN / "legacy" / name).load("default_policy")
    plan = migrate(policy, tmp_path / "v2")
    algo = algorithm_of(tmp_path / "v2", plan.observation_space, policy.action_space)
    runner = algo.env_runner
    learning = algo.learner_group._learner.module["default_policy"]
    triple = (runner._env_to_module, learning, runner._module_to_env)

    before = {key: np.copy(each) for key, each in learning.get_state().items()}
    acting = runner.module.get_state()
    verdict = verify(triple, policy, samples=4, length=3)
    result = algo.train()
    after = learning.get_state()

    assert verdict.is_equal, str(verdict)
    assert all(np.array_equal(acting[key], before[key]) for key in acting)
    assert result["num_env_steps_sampled_lifetime"] >= 40
    assert any(not np.array_equal(before[key], after[key]) for key in before)
    algo.stop()


def test_learning_takes_over_what_the_old_config_said(tmp_path):
    """Discounts, rates and sizes, under their new names; rewards are clipped as before."""
    policy = policy_of(POLICIES["own value net"])
    policy.config.update({"gamma": 0.7, "lr": 0.01, "num_sgd_iter": 3, "clip_rewards": True})
    policy.config.update({"sgd_minibatch_size": 16, "lambda": 0.5, "train_batch_size": 64})
    migrate(policy, tmp_path / "v2")

    config = PPOConfig().from_migrated(tmp_path / "v2")

    assert (config.gamma, config.lr, config.num_epochs) == (0.7, 0.01, 3)
    assert (config.minibatch_size, config.lambda_, config.total_train_batch_size) == (16, 0.5, 64)
    assert config.observation_space == policy.observation_space
    names = [type(piece).__name__ for piece in config.build_learner_connector().connectors]
    assert names[0] == "ClipRewards"


def test_each_runner_has_pieces_of_its_own(tmp_path):
    """What one runner's filter counts, another's does not."""
    policy = Recording(GOLDEN / "legacy" / SOURCES[0]).load("default_policy")
    migrate(policy, tmp_path / "v2")
    config = PPOConfig().from_migrated(tmp_path / "v2")
    space = spaces.Box(-1, 1, policy.observation_space.shape)

    first, second = (config.build_env_to_module_connector(Dice(space, None)) for _ in range(2))

    assert {id(each) for each in first.connectors}.isdisjoint(map(id, second.connectors))


@pytest.mark.parametrize("name", ["dueling", "sac"])
def test_what_ppo_cannot_train_is_told(name, tmp_path):
    """Values of actions are no values of states."""
    migrate(policy_of(POLICIES[name]), tmp_path / "v2")

    with pytest.raises(ConfigError, match="cannot continue from this policy"):
        PPOConfig().from_migrated(tmp_path / "v2")


@pytest.mark.parametrize("name", ["2.0.1/sac_cont", "2.7.2/sac_cont"])
def test_old_sac_goes_on_with_its_rates(name, tmp_path):
    """The setting `lr`, which old SAC recorded and never used, is left out."""
    policy = Recording(GOLDEN / "legacy" / name).load("default_policy")
    migrate(policy, tmp_path / "v2")

    config = SACConfig().from_migrated(tmp_path / "v2")

    assert policy.config["lr"] == 1e-3
    rates = policy.config["optimization"]
    assert config.actor_lr == rates["actor_learning_rate"]
    assert config.critic_lr == rates["critic_learning_rate"]
    assert config.alpha_lr == rates["entropy_learning_rate"]
    assert (config.lr, config.tau) == (None, policy.config["tau"])


def test_a_network_without_an_equivalent_is_refused_before_training(tmp_path):
    """DQN needs target networks, which a wrapped network has not."""
    migrate(policy_of(REFUSED["noisy"]), tmp_path / "v2")

    with pytest.raises(ConfigError, match="a module with QNetAPI and TargetNetworkAPI"):
        DQNConfig().from_migrated(tmp_path / "v2")


def test_imitation_goes_on_from_an_actor_alone(tmp_path):
    """BC needs no values."""
    policy = policy_of(POLICIES["bc"])
    migrate(policy, tmp_path / "v2")

    config = BCConfig().from_migrated(tmp_path / "v2")

    assert config.rl_module_spec.load_state_path == str(tmp_path / "v2" / "rl_module")


def test_another_folder_is_told(tmp_path):
    """What to write first."""
    with pytest.raises(CheckpointNotFoundError, match="holds no migrated policy"):
        PPOConfig().from_migrated(tmp_path)
