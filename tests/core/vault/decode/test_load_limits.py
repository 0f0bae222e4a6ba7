"""A budget refuses before anything is allocated; hostile files unfold no further than it says."""

import gc
import json
import multiprocessing
import os
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Event, Thread

import pytest
from rlconnect.core.errors import LimitExceededError
from rlconnect.core.vault.decode.load_limits import Budget, Limits, no_collection


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


@pytest.mark.parametrize("was_on", [True, False])
def test_overlapping_pauses_leave_collection_as_the_first_found_it(was_on):
    """The first of two loads in threads ends before the second, and collection stays as it was."""
    second_runs, first_ended = Event(), Event()
    seen = []

    def second():
        with no_collection():
            second_runs.set()
            first_ended.wait()
            seen.append(gc.isenabled())

    thread = Thread(target=second)
    try:
        (gc.enable if was_on else gc.disable)()

        with no_collection():
            thread.start()
            second_runs.wait()
        first_ended.set()
        thread.join()

        assert seen == [False]
        assert gc.isenabled() == was_on
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_collects():
    """A process forked while a thread decodes does not inherit the pause, nor the count of it."""
    with no_collection(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
        child = multiprocessing.get_context("fork").Process(target=_exit_collecting)
        child.start()
    child.join()

    assert child.exitcode == 0


def _exit_collecting():
    with no_collection():
        is_paused = not gc.isenabled()
    sys.exit(0 if is_paused and gc.isenabled() else 1)


@pytest.fixture(scope="module")
def peaks():
    """Peak memory of decoding 10 MB files, each in a process of its own."""
    if not sys.platform.startswith("linux"):
        pytest.skip("peak memory is read as Linux tells it")
    script = Path(__file__).parents[1] / "attacks" / "memory.py"
    out = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def test_hostile_files_take_no_more_than_twice_an_honest_one(peaks):
    """No 10 MB file unfolds to more than twice what 10 MB of dense honest data take."""
    honest = peaks.pop("honest")["peak"]

    assert len(peaks) >= 6
    assert not {name: p for name, p in peaks.items() if p["peak"] > 2 * honest}
