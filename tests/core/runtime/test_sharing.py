import copy
import pickle
import threading

import pytest
from rlconnect.core.runtime.sharing import PerThread, Turn


class Holder:
    one = PerThread()
    other = PerThread()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_have_a_lock_and_values_of_their_own(copied):
    """What holds a lock and values of threads copies and pickles; a copy is unlocked and empty."""
    holder = Holder()
    holder.turn, holder.one = Turn(), 1
    with holder.turn:
        twin = copied(holder)

    assert twin.turn is not holder.turn
    assert twin.one is None
    free = []
    thread = threading.Thread(target=lambda: free.append(twin.turn.acquire(blocking=False)))
    thread.start()
    thread.join()
    assert free == [True]


def test_each_thread_sees_its_own_value():
    """A value set by one thread is None to another, and attributes do not mix."""
    holder = Holder()
    holder.one, holder.other = 1, 2
    seen = []

    def run():
        seen.append(holder.one)
        holder.one = 3
        seen.append(holder.one)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert seen == [None, 3]
    assert (holder.one, holder.other) == (1, 2)
