"""Described networks of the old stack become described modules of the new one, or stay wrapped."""

from pathlib import Path

import numpy as np
import pytest
import rlconnect
from rlconnect.bridge import plan_migration
from rlconnect.core.arrays.batching import batch

OLD = Path(__file__).parents[2] / "golden" / "custom_networks" / "old"


@pytest.mark.parametrize("name", ["gauss", "mask", "rnn", "slim"])
def test_a_described_network_moves_whole(name, tmp_path, rng):
    """Native, proven equal, and loaded again without the description; nested parts are cut out."""
    policy = rlconnect.load(OLD / name, model=OLD / f"{name}.toml").only

    plan = rlconnect.migrate(policy, out=tmp_path / "new")

    (network,) = [step for step in plan.steps if step.side == "network"]
    assert network.kind == "native"
    assert rlconnect.verify(policy, tmp_path / "new").is_equal
    again = rlconnect.load(tmp_path / "new").only
    policy.observation_space.seed(int(rng.integers(1000)))
    seen = batch([policy.observation_space.sample() for _ in range(4)])
    for each in (policy, again):
        each.reset()
    np.testing.assert_allclose(
        again.stages(seen)["outputs"], policy.stages(seen)["outputs"], rtol=1e-5, atol=1e-5
    )


def test_q_values_stay_wrapped():
    """V2's described module gives a distribution; a Q network is carried as it is, and told."""
    plan = plan_migration(OLD / "dqn", model=OLD / "dqn.toml").apply()

    (network,) = [step for step in plan.steps if step.side == "network"]
    assert network.kind == "wrapped"
    assert "Q values" in network.twin.reason
