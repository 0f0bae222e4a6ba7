"""The aliases with Ray installed. Skips itself if it is not."""

import pytest
from rlconnect.compat import ray_aliases
from rlconnect.v2 import PPOConfig

pytestmark = pytest.mark.ray
tune = pytest.importorskip("ray.tune")


def test_forced_aliases_leave_tune_to_ray():
    """`ray.rllib` is ours under the aliases; `ray.tune` and its search spaces stay Ray's."""
    with ray_aliases.activate(force=True):
        from ray.rllib.algorithms.ppo import PPOConfig as AliasedConfig
        from ray.tune import choice, grid_search

        config = AliasedConfig().training(lr=choice([0.1]))

    assert AliasedConfig is PPOConfig
    assert isinstance(config.lr, tune.search.sample.Domain)
    assert grid_search is tune.grid_search
