"""Settings that a checkpoint holds are made live one by one."""

from rlconnect.core.trust import Names, Trust
from rlconnect.v2.config.saved_config import restored_config

PPO = "ray.rllib.algorithms.ppo.ppo.PPOConfig"


def test_settings_of_no_environment_are_nobodys():
    """Where no environment is named, words of gymnasium's steer nothing and are kept."""
    held = {"class": PPO, "framework_str": "torch", "env": None, "env_config": {"id": "x"}}

    config = restored_config(held, Names(Trust.of(None)))

    assert config.env is None
    assert config.env_config == {"id": "x"}
