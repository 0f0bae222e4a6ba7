"""A budget refuses before anything is allocated; hostile files unfold no further than it says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rlconnect.core.errors import LimitExceededError
from rlconnect.core.vault.limits import Budget, Limits


def test_memory_is_spent_until_it_is_gone():
    """What is spent is gone; what is too much is refused and costs nothing."""
    budget = Budget(Limits(base_memory=100, memory_factor=2), file_bytes=10)

    budget.spend(70, "an array")
    with pytest.raises(LimitExceededError, match="an array would take 51 bytes"):
        budget.spend(51, "an array")
    budget.spend(50, "an array")

    assert (budget.total, budget.left) == (120, 0)


def test_work_is_spent_until_it_is_gone():
    """The same for steps."""
    budget = Budget(Limits(max_operations=10), file_bytes=0)

    budget.work(10, "the file")
    with pytest.raises(LimitExceededError, match="more than 10 steps"):
        budget.work(1, "the file")


def test_large_files_may_take_more_steps():
    """A file a hundred times as large is not refused for its honest contents."""
    limits = Limits()

    assert Budget(limits, 10**7).operations == limits.max_operations
    assert Budget(limits, 10**9).operations == 10**9 // limits.bytes_per_operation


@pytest.fixture(scope="module")
def peaks():
    """Peak memory of decoding 10 MB files, each in a process of its own."""
    if not sys.platform.startswith("linux"):
        pytest.skip("peak memory is read as Linux tells it")
    script = Path(__file__).parent / "attacks" / "memory.py"
    out = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def test_hostile_files_take_no_more_than_twice_an_honest_one(peaks):
    """No 10 MB file unfolds to more than twice what 10 MB of dense honest data take."""
    honest = peaks.pop("honest")["peak"]

    assert len(peaks) >= 6
    assert not {name: p for name, p in peaks.items() if p["peak"] > 2 * honest}
