"""Every extra of the project has a test that CI runs with the extra installed."""

import pytest
from rlconnect.v2 import PPOConfig

from tests.house.extras import EXTRAS, ROOT, TESTS, TOOLS


def test_every_extra_has_its_tests():
    """An extra without a line in `tests/house/extras.py` is not tested anywhere."""
    assert TESTS.keys() == EXTRAS.keys() - TOOLS


@pytest.mark.parametrize("test", sorted({test for tests in TESTS.values() for test in tests}))
def test_the_tests_of_extras_exist(test):
    """The named file has the named test."""
    path, _, name = test.partition("::")

    assert f"def {name or 'test_'}" in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # from pygame and Box2D
def test_lunar_lander_is_sampled():
    """The environment of the benchmarks needs the extra `box2d`."""
    pytest.importorskip("Box2D")
    config = PPOConfig().environment("LunarLander-v3").env_runners(num_env_runners=0)
    algorithm = config.build_algo()

    (episode,) = algorithm.env_runner.sample(num_timesteps=8)

    assert len(episode) == 8
    assert episode.get_observations(-1).shape == (8,)
    algorithm.stop()
