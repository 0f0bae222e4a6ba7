"""The documents' code blocks on configs run as they are written, with only import lines changed.

Comments are left out, and what a block prints is asserted instead.
"""

import gymnasium as gym
import numpy as np
import pytest
import torch
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import (
    ConnectorV2,
    DefaultModelConfig,
    ObservationPreprocessor,
    PPOConfig,
    SingleAgentEpisode,
    SingleAgentObservationPreprocessor,
)


def _names(pipeline):
    return [type(piece).__name__ for piece in pipeline.connectors]


DEFAULTS = [
    "AddObservationsFromEpisodesToBatch",
    "AddTimeDimToBatchAndZeroPad",
    "AddStatesFromEpisodesToBatch",
    "BatchIndividualItems",
    "NumpyToTensor",
]


class IntObservationToOneHotTensor(SingleAgentObservationPreprocessor):
    """Converts int observations (Discrete) into one-hot tensors (Box)."""

    def recompute_output_observation_space(self, in_obs_space, in_act_space):
        return gym.spaces.Box(0.0, 1.0, (in_obs_space.n,), np.float32)

    def preprocess(self, observation, episode):
        new_obs = np.zeros(shape=self.observation_space.shape, dtype=np.float32)
        new_obs[observation] = 1.0
        return new_obs


class OneHot(ObservationPreprocessor):
    # The document's space has a shape of `(self.input_observation_space.n)`, an int, which
    # gymnasium refuses; the comma is ours.
    def recompute_observation_space_from_input_spaces(self):
        return gym.spaces.Box(0.0, 1.0, (self.input_observation_space.n,), np.float32)

    def preprocess(self, observation):
        new_obs = np.zeros(shape=(self.input_observation_space.n,), dtype=np.float32)
        new_obs[observation] = 1.0
        return new_obs


class AddPastThreeRewards(SingleAgentObservationPreprocessor):
    """Extracts last three rewards from episode and concatenates them to the observation tensor."""

    def recompute_output_observation_space(self, in_obs_space, in_act_space):
        assert isinstance(in_obs_space, gym.spaces.Box) and len(in_obs_space.shape) == 1  # noqa: PT018
        return gym.spaces.Box(-100.0, 100.0, (in_obs_space.shape[0] + 3,), np.float32)

    def preprocess(self, observation, episode):
        past_3_rewards = episode.get_rewards(indices=slice(-3, None))
        new_observation = np.concatenate([observation, np.array(past_3_rewards, np.float32)])
        return new_observation


class _Noop(ConnectorV2):
    def __call__(self, *, batch, **kwargs):
        return batch


class MyEnvToModuleConnector(_Noop):
    pass


class MyOtherEnvToModuleConnector(_Noop):
    pass


class AndOneMoreConnector(_Noop):
    pass


def test_constructing_a_pipeline_and_calling_it():
    """Document 001, "Constructing an env-to-module connector", all of its blocks in a row."""
    config = PPOConfig().environment("CartPole-v1")
    env = gym.make("CartPole-v1")
    env_to_module = config.build_env_to_module_connector(env=env, spaces=None)
    assert _names(env_to_module) == DEFAULTS

    env_to_module = config.build_env_to_module_connector(
        env=None,
        spaces={
            "__env_single__": (env.observation_space, env.action_space),
        },
    )
    episode1 = SingleAgentEpisode()
    episode2 = SingleAgentEpisode()
    obs, _ = env.reset()
    episode1.add_env_reset(observation=obs)
    action = 0
    obs, _, _, _, _ = env.step(action)
    episode1.add_env_step(observation=obs, action=action, reward=1.0)
    obs, _ = env.reset()
    episode2.add_env_reset(observation=obs)
    batch = {}
    batch = env_to_module(
        episodes=[episode1, episode2],
        batch=batch,
        rl_module=None,
        explore=True,
    )
    assert np.asarray(batch["obs"]).shape == (2, 4)

    config.rl_module(model_config=DefaultModelConfig(use_lstm=True))
    rl_module_spec = config.get_rl_module_spec(env=env)
    rl_module = rl_module_spec.build()
    episode = SingleAgentEpisode()
    obs, _ = env.reset()
    episode.add_env_reset(observation=obs)
    batch = {}
    batch = env_to_module(
        episodes=[episode],
        batch=batch,
        rl_module=rl_module,
        explore=True,
    )
    assert torch.equal(batch["obs"], torch.from_numpy(obs)[None, None])
    assert {key: tuple(state.shape) for key, state in batch["state_in"].items()} == {
        "h": (1, 1, 256),
        "c": (1, 1, 256),
    }


def test_one_piece_and_several():
    """Document 001, "Writing custom env-to-module connectors": in the order returned, in front."""
    config = PPOConfig().environment("CartPole-v1")
    env = gym.make("CartPole-v1")

    config.env_runners(
        env_to_module_connector=lambda env, spaces, device: MyEnvToModuleConnector(),
    )
    assert _names(config.build_env_to_module_connector(env)) == [
        "MyEnvToModuleConnector",
        *DEFAULTS,
    ]

    config.env_runners(
        env_to_module_connector=lambda env, spaces, device: [
            MyEnvToModuleConnector(),
            MyOtherEnvToModuleConnector(),
            AndOneMoreConnector(),
        ],
    )
    mine = ["MyEnvToModuleConnector", "MyOtherEnvToModuleConnector", "AndOneMoreConnector"]
    assert _names(config.build_env_to_module_connector(env)) == [*mine, *DEFAULTS]

    config.env_runners(add_default_connectors_to_env_to_module_pipeline=False)
    assert _names(config.build_env_to_module_connector(env)) == mine


def test_exploration_has_moved():
    """Document 001 and 002 name a call that current RLlib has replaced; the error says by what."""
    config = PPOConfig()

    with pytest.raises(ConfigError, match=r"config\.env_runners\(explore=\.\.\.\)"):
        config.exploration(explore=True)
    assert config.env_runners(explore=True).explore is True


def _observed(config):
    """What the module would see of a first FrozenLake observation."""
    env = gym.make("FrozenLake-v1", **config.env_config)
    pipeline = config.build_env_to_module_connector(env=env, spaces=None)
    episode = SingleAgentEpisode(observation_space=env.observation_space)
    episode.add_env_reset(observation=env.reset(seed=0)[0])
    batch = pipeline(episodes=[episode], batch={}, rl_module=None, explore=True)
    return pipeline.observation_space, np.asarray(batch["obs"])


def test_frozen_lake_with_one_hot_observations():
    """Document 001, "Observation preprocessors", up to the algorithm, which is another test's."""
    config = (
        PPOConfig()
        .environment("FrozenLake-v1", env_config={"desc": ["SF", "FG"]})
        .env_runners(
            env_to_module_connector=(lambda env, spaces, device: IntObservationToOneHotTensor()),
        )
    )

    space, obs = _observed(config)

    assert space == gym.spaces.Box(0.0, 1.0, (4,), np.float32)
    np.testing.assert_array_equal(obs, [[1.0, 0.0, 0.0, 0.0]])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_frozen_lake_with_the_older_hooks_and_a_builder_of_one_argument():
    """Document 002, "Observation Preprocessors", up to the algorithm, which is another test's."""
    config = (
        PPOConfig()
        .environment("FrozenLake-v1", env_config={"desc": ["SF", "FG"]})
        .env_runners(env_to_module_connector=lambda env: OneHot())
    )

    space, obs = _observed(config)

    assert space.shape == (4,)
    np.testing.assert_array_equal(obs, [[1.0, 0.0, 0.0, 0.0]])


def test_past_rewards_reach_the_module():
    """Document 001, "Adding recent rewards": the spec's space grows with the pipeline's."""
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(env_to_module_connector=lambda env, spaces, device: AddPastThreeRewards())
    )
    env = gym.make("CartPole-v1")

    pipeline = config.build_env_to_module_connector(env=env)
    spaces = {"default_policy": (pipeline.observation_space, env.action_space)}

    assert config.get_rl_module_spec(spaces=spaces).observation_space.shape == (7,)


def test_length_of_padded_sequences():
    """Document 003: `max_seq_len` for modules of one's own and for the default ones."""
    config = PPOConfig()

    config.rl_module(model_config={"max_seq_len": 7})
    assert config.model_config["max_seq_len"] == 7

    config.rl_module(model_config=DefaultModelConfig(max_seq_len=9))
    assert config.model_config["max_seq_len"] == 9
