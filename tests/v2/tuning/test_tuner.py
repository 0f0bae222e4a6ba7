"""`tuning` calls Ray Tune; without it the error names what to install."""

import sys

import pytest
from rlconnect.core.errors import ConfigError, MissingExtraError
from rlconnect.v2 import PPOConfig, tuning


@pytest.mark.parametrize(
    "use",
    [
        lambda: tuning.Tuner("PPO", param_space=PPOConfig()),
        lambda: tuning.Tuner.restore("folder", "PPO"),
        lambda: tuning.run("PPO", config=PPOConfig()),
        lambda: tuning.grid_search([1, 2]),
    ],
    ids=["Tuner", "restore", "run", "grid_search"],
)
def test_without_ray_the_error_says_what_to_install(monkeypatch, use):
    """The extra of Ray, and the page about Optuna."""
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(MissingExtraError, match="needs Ray Tune") as caught:
        use()

    assert 'pip install "ray[tune]"' in caught.value.hint
    assert "optuna" in caught.value.hint


def test_a_config_takes_what_is_open_and_does_not_run_with_it():
    """Search spaces are taken unchecked; a config that still has some is not valid."""
    config = PPOConfig().training(lr={"grid_search": [0.1, 0.2]})

    assert config.lr == {"grid_search": [0.1, 0.2]}
    with pytest.raises(ConfigError, match="lr="):
        config.validate()


def test_settings_come_back_from_a_dict():
    """`to_dict`, which Ray's Tuner reads, is all of a config."""
    config = (
        PPOConfig()
        .environment("CartPole-v1", env_config={"a": 1})
        .training(lr=1e-4, train_batch_size_per_learner=200, lambda_=0.9)
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .multi_agent(policies={"a", "b"}, policy_mapping_fn=lambda agent_id, episode: agent_id)
        .callbacks(on_train_result=print)
    )

    again = PPOConfig().update_from_dict(config.to_dict())

    assert again.to_dict() == config.to_dict()
