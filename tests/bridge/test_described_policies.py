"""What names and shapes tell of RLlib's own networks computes what those compute."""

from pathlib import Path

import numpy as np
import pytest
import rlconnect
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.proposed_networks import proposed_network

SAMPLES = Path(__file__).parents[2] / "examples" / "checkpoints"


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.iterdir() if path.is_dir()))
def test_a_proposed_network_stands_for_the_one_it_was_read_off(name, rng):
    """Torch's, Keras's and an RLModule's layers, SAC's actor: outputs and values are the same."""
    (record,) = open_checkpoint(SAMPLES / name).acting.values()
    own = rlconnect.load(SAMPLES / name).only
    proposal = proposed_network(record)

    described = rlconnect.load(SAMPLES / name, model=proposal.network).only

    own.observation_space.seed(int(rng.integers(1000)))
    seen = np.stack([own.observation_space.sample() for _ in range(5)]).clip(-100, 100)
    wanted, found = own.stages(seen), described.stages(seen)
    for stage in ("outputs", "value", "action"):
        if stage in wanted:
            np.testing.assert_allclose(found[stage], wanted[stage], rtol=1e-5, atol=1e-5)
