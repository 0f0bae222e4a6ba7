"""Walking decoded data: how deep and how large it is, where classes are named."""

import numpy as np
import pytest
from rlconnect.core.errors import LimitExceededError
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque, PersistentRef
from rlconnect.core.vault.decode.walk import MAX_PATH, check_depth, named_places

WRAPS = {
    "list": lambda value: [value],
    "tuple": lambda value: (value,),
    "dict": lambda value: {"a": value},
    "arguments": lambda value: Opaque(GlobalRef("a", "B"), (value,)),
    "callable": lambda value: Opaque(value),
    "id": PersistentRef,
}


def chain(length, wrap=WRAPS["list"]):
    value = [0] * 20
    for _ in range(length):
        value = wrap(value)
    return value


@pytest.mark.parametrize("kind", WRAPS)
def test_depth_is_bounded_in_every_container(kind):
    """No kind of container hides depth."""
    check_depth(chain(3, WRAPS[kind]), 20)
    with pytest.raises(LimitExceededError, match="deep"):
        check_depth(chain(21, WRAPS[kind]), 20)


def test_depth_is_exact():
    """A chain of just the allowed length passes, one more does not."""
    check_depth(chain(20), 20)
    with pytest.raises(LimitExceededError):
        check_depth(chain(21), 20)


def test_depth_is_by_the_longest_path():
    """Parts met first by a short cut are as deep as their longest way."""
    links = [[0] * 20]
    for _ in range(50):
        links.append([links[-1], [0] * 20])

    for order in (links, links[::-1]):
        with pytest.raises(LimitExceededError, match="deep"):
            check_depth(list(order), 30)


def test_shared_parts_are_counted_as_written_out():
    """A few lists that mean 2 ** 60 are refused; the same shared a few times pass."""
    value = [0] * 20
    for _ in range(60):
        value = [value, value]

    with pytest.raises(LimitExceededError, match="written out"):
        check_depth(value, 200)
    check_depth([[0] * 20] * 1000, 200)


def test_shared_text_is_counted_by_length():
    """One long string a hundred thousand times would fill the disk as JSON."""
    with pytest.raises(LimitExceededError, match="written out"):
        check_depth(["x" * 100_000] * 100_000, 200)


@pytest.mark.parametrize(
    "make", [lambda held: held.append(held), lambda held: held.append({1: held})]
)
def test_containers_in_themselves_are_refused(make):
    """A list that contains itself has no end."""
    held = []
    make(held)

    with pytest.raises(LimitExceededError, match="contains itself"):
        check_depth(held, 200)


def test_objects_may_form_circles():
    """Functions by value refer to themselves; that is honest."""
    function = Opaque(GlobalRef("cloudpickle", "_make_function"))
    function.state = {"__globals__": {"f": function}}

    check_depth(function, 200)


def test_budget_is_given_back():
    """Remembering parts is paid for and refunded."""
    budget = Budget(Limits(), 1000)
    before = budget.left

    check_depth(chain(10), 50, budget)

    assert budget.left == before
    with pytest.raises(LimitExceededError):
        check_depth(chain(10), 50, Budget(Limits(base_memory=300, memory_factor=0), 0))


def test_named_places_tell_where():
    """Each stand-in once, with the keys that lead to it."""
    mapping = GlobalRef("user", "mapping")
    held = Opaque(GlobalRef("user", "Model"), (mapping,))
    array = np.array([GlobalRef("user", "inside"), None], object)

    found = [
        (path, repr(part)) for path, part in named_places({"config": [1, {"m": held}], 5: array})
    ]

    assert found == [
        ("config/1/m", "<user.Model object>"),
        ("config/1/m", "<user.Model>"),
        ("config/1/m/0", "<user.mapping>"),
        ("5/0", "<user.inside>"),
    ]


def test_places_are_short():
    """Long keys and deep nests do not make long paths."""
    value = GlobalRef("user", "f")
    for _ in range(100):
        value = {"k" * 10_000: value}

    [(path, _)] = named_places(value)

    assert len(path) < MAX_PATH + 100
    assert path.startswith(".../")
