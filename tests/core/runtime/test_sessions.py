import pytest
from rlconnect.core.runtime.sessions import Sessions, SessionsEvictedWarning


def test_the_least_recently_used_make_room():
    """Used again, a session outlives older ones; each that goes is counted and given."""
    sessions = Sessions(2, "this")
    sessions.use(["a"])
    sessions.use(["b"])
    sessions.use(["a"])

    with pytest.warns(SessionsEvictedWarning, match="this remembers 2 sessions"):
        gone = sessions.use(["c"])

    assert gone == ["b"]
    assert list(sessions) == ["a", "c"]
    assert sessions.evicted == 1


def test_it_warns_once():
    """The first eviction warns, later ones are counted alone."""
    sessions = Sessions(1, "this")
    sessions.use(["a"])
    with pytest.warns(SessionsEvictedWarning):
        sessions.use(["b"])

    assert sessions.use(["c"]) == ["b"]
    assert sessions.evicted == 2


def test_sessions_of_one_call_stay():
    """A call with more sessions than there is room for keeps all of them, and nothing else."""
    sessions = Sessions(2, "this")
    sessions.use(["old"])

    with pytest.warns(SessionsEvictedWarning):
        gone = sessions.use([1, 2, 3, 3])

    assert gone == ["old"]
    assert list(sessions) == [1, 2, 3]


def test_a_session_that_was_forgotten_is_new():
    """After `forget` the same call notes it anew."""
    sessions = Sessions(2, "this")
    sessions.use(["a"])
    sessions.forget("a")

    sessions.use(["a"])

    assert list(sessions) == ["a"]
