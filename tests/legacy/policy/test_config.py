"""The old-style config builder."""

import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.legacy.policy.config import SETTINGS, AlgorithmConfig


def test_calls_chain_and_read_back():
    """Settings are attributes, items and entries of to_dict() alike."""
    config = (
        AlgorithmConfig()
        .environment("CartPole-v1", clip_rewards=1.0)
        .framework("tf2")
        .rollouts(enable_connectors=True, observation_filter="MeanStdFilter")
        .training(gamma=0.9, model={"use_lstm": True})
        .exploration(explore=False)
        .experimental(_disable_preprocessor_api=True)
    )
    settings = config.to_dict()

    assert config.observation_filter == config["observation_filter"] == "MeanStdFilter"
    assert settings["framework"] == config["framework"] == "tf2"
    assert settings["model"]["use_lstm"] is True
    assert settings["model"]["fcnet_hiddens"] == [256, 256]
    assert (settings["env"], settings["gamma"], settings["explore"]) == ("CartPole-v1", 0.9, False)


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda c: c.rollouts(observation_filtr="x"), "did you mean 'observation_filter'"),
        (lambda c: c.rollouts(clip_actions=True), r"a setting of environment\(\)"),
        (lambda c: c.training(model={"fcnet_hidden": [1]}), "did you mean 'fcnet_hiddens'"),
        (lambda c: c["gama"], "did you mean 'gamma'"),
    ],
)
def test_unknown_settings_are_refused(build, match):
    """A misspelt setting raises at once and names the nearest, or the method it belongs to."""
    with pytest.raises(ConfigError, match=match):
        build(AlgorithmConfig())


def test_later_spellings_work():
    """env_runners() of later releases sets what rollouts() does, and exploration."""
    config = AlgorithmConfig().env_runners(num_env_runners=2, explore=False)

    assert (config.num_rollout_workers, config.explore) == (2, False)


def test_dicts_of_checkpoints_are_taken_whole():
    """Unknown settings of a saved config are kept; copies are independent."""
    config = AlgorithmConfig.from_dict({"sgd_minibatch_size": 5, "model": {"dim": 42}})
    twin = config.copy()
    twin["lr"] = 0.5

    assert config.get("sgd_minibatch_size") == 5
    assert config["model"]["dim"] == 42
    assert (config["lr"], twin["lr"]) == (0.001, 0.5)
    assert "lr" in config
    assert set(config.keys()) == set(config)


def test_defaults_are_not_shared():
    """Changing one config's dicts changes no other's."""
    AlgorithmConfig().env_config["a"] = 1

    assert AlgorithmConfig().env_config == {}
    assert SETTINGS["environment"]["env_config"] == {}
