"""Loading reads what acts, and each file of an old checkpoint once."""

from collections import Counter
from pathlib import Path

import pytest
import rlconnect
from rlconnect.core.vault import decoding

ROOT = Path(__file__).parents[3]
OLD = ROOT / "examples" / "checkpoints" / "ppo-pendulum-ray-2.7"
NEW = ROOT / "tests" / "golden" / "recordings" / "new" / "2.60.0-algo_pkl"


@pytest.fixture
def read(monkeypatch):
    """How often each file was decoded."""
    found = Counter()
    plain = decoding.read_passing

    def counted(path, *args, **kwargs):
        found[Path(path)] += 1
        return plain(path, *args, **kwargs)

    monkeypatch.setattr(decoding, "read_passing", counted)
    return found


def test_an_old_checkpoint_is_read_once(read):
    """Its policies are built of the records by which it was known."""
    rlconnect.load(OLD)

    assert read
    assert set(read.values()) == {1}


def test_of_a_new_algorithm_only_what_acts_is_read(read):
    """Neither its own state nor what its learner keeps beside the modules."""
    rlconnect.load(NEW)

    places = {path.relative_to(NEW).as_posix() for path in read}
    assert "env_runner/state.pkl" in places
    assert not [place for place in places if "/" not in place]
    assert not [place for place in places if place.startswith("learner_group/learner/state")]


def test_records_of_a_checkpoint_become_policies():
    """What `open_checkpoint` gave is as good as its path."""
    of_records = rlconnect.legacy.Policy.from_checkpoint(rlconnect.open_checkpoint(OLD))
    of_path = rlconnect.legacy.Policy.from_checkpoint(OLD)

    assert list(of_records) == list(of_path)
    for name, policy in of_path.items():
        ours, theirs = of_records[name].get_weights(), policy.get_weights()
        assert all((ours[each] == theirs[each]).all() for each in theirs)
