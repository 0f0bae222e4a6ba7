"""Keys that would make dicts slow are refused, all others pass."""

import numpy as np
import pytest
from rlconnect.core.data.keys import MAX_EQUAL_HASHES, MAX_NUMBER_KEYS, KeyGuard
from rlconnect.core.errors import CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault.decode.load_limits import Budget, Limits


def kind_of(value):
    return type(value).__name__


@pytest.fixture
def guard():
    return KeyGuard(Budget(Limits(), 0))


@pytest.mark.parametrize(
    "key",
    ["a", b"a", 5, -5, 2**80, 1.5, None, True, (1, "a"), ((1, 2), 3), frozenset({1}), np.int64(3)],
    ids=repr,
)
def test_honest_keys_pass(key, guard):
    """Whatever honest dicts are keyed by comes back as it is."""
    assert guard.check(key) is key


@pytest.mark.parametrize("key", [[], {}, set(), ([],), memoryview(b"a"), np.zeros(2)], ids=kind_of)
def test_unhashable_keys_are_corrupt(key, guard):
    """What Python cannot hash ends as a typed error."""
    with pytest.raises(CorruptCheckpointError, match="key"):
        guard.check(key)


def test_consecutive_numbers_are_free(guard):
    """A long honest table by index passes."""
    for number in range(3 * MAX_NUMBER_KEYS):
        guard.check(number)


def test_scattered_numbers_are_counted(guard):
    """Numbers can be chosen to collide, so there may only be so many."""
    numbers = [number << 20 for number in range(1, MAX_NUMBER_KEYS + 2)]

    with pytest.raises(LimitExceededError, match="no text"):
        list(map(guard.check, numbers))


def test_equal_hashes_are_counted(guard):
    """Different keys of one hash are refused; the same key again is not."""
    colliding = [(2**61 - 1) * i + 7 + 2**63 for i in range(MAX_EQUAL_HASHES)]
    assert len({hash(key) for key in colliding}) == 1

    for key in colliding * 3:
        guard.check(key)
    with pytest.raises(LimitExceededError, match="collide"):
        guard.check(colliding[-1] + 2**61 - 1)


def test_deep_keys_are_refused(guard):
    """Hashing recurses; shared parts are hashed again each time."""
    key = ()
    for _ in range(70):
        key = (key, key)

    with pytest.raises(LimitExceededError, match="parts"):
        guard.check(key)
