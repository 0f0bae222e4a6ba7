"""Real checkpoints, damaged at random: they open, or say in a typed error why not."""

import pytest

from .fuzz import Fuzzer

MUTATIONS = 600
BATCHES = 2


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutated_checkpoints_end_typed(batch, tmp_path):
    """Flipped, cut, spliced and re-coded files give records or a CheckpointError."""
    fuzzer = Fuzzer(1000 + batch, tmp_path)

    found = [fuzzer.step() for _ in range(MUTATIONS // BATCHES)]

    broken = [(path.name, repr(error)[:300]) for path, _, error in filter(None, found)]
    assert not broken
    # A fuzzer whose files were all whole, or all refused at once, would prove nothing.
    assert len(fuzzer.ends) >= 3
    assert fuzzer.ends["whole"] + fuzzer.ends["problems"] > MUTATIONS // BATCHES // 10
