"""What may stand in place of a setting."""

import json
from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import PPOConfig, tuning

GOLDEN = Path(__file__).parents[2] / "golden" / "tuning" / "draws.json"
RECORDED = json.loads(GOLDEN.read_text(encoding="utf-8"))
SPACES = {
    "choice": tuning.choice([1, 2, 3]),
    "uniform": tuning.uniform(0, 1),
    "quniform": tuning.quniform(0, 10, 0.5),
    "loguniform": tuning.loguniform(1e-4, 1),
    "qloguniform": tuning.qloguniform(1e-4, 1, 1e-4),
    "randint": tuning.randint(0, 10),
    "qrandint": tuning.qrandint(0, 100, 10),
    "lograndint": tuning.lograndint(1, 1000),
    "qlograndint": tuning.qlograndint(1, 1000, 10),
    "randn": tuning.randn(1, 2),
    "qrandn": tuning.qrandn(0, 2, 0.2),
}


@pytest.mark.parametrize("name", SPACES)
def test_draws_are_ray_s(name):
    """One seed of numpy's gives what Ray draws from each distribution, of the same type."""
    source = np.random.RandomState(0)
    seeded = np.random.default_rng(42)

    drawn = SPACES[name].sample(size=8, random_state=source)
    with_seed = SPACES[name].sample(size=4, random_state=seeded)

    assert drawn == pytest.approx(RECORDED["draws"][name], rel=1e-12)
    assert with_seed == pytest.approx(RECORDED["seeded"][name], rel=1e-12)
    assert [*map(type, drawn)] == [*map(type, RECORDED["draws"][name])]


@pytest.mark.parametrize(
    "make", [lambda: tuning.loguniform(0, 1), lambda: tuning.choice([])], ids=["log of 0", "empty"]
)
def test_impossible_distributions_are_refused(make):
    """Bounds without a logarithm and empty choices are told when they are written."""
    with pytest.raises(ConfigError):
        make()


def test_a_config_takes_what_is_open_and_does_not_run_with_it():
    """Settings to be tried are taken unchecked; a config that still has some is not valid."""
    config = PPOConfig().training(lr=tuning.grid_search([0.1, 0.2]), gamma=tuning.uniform(0.9, 1))

    assert config.lr == {"grid_search": [0.1, 0.2]}
    with pytest.raises(ConfigError, match=r"(lr|gamma)="):
        config.validate()
