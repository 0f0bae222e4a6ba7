"""Sets of agents iterate in order and are sets in everything else."""

import copy
import pickle

from rlconnect.v2.episodes.agent_columns import AgentIds


def test_they_are_sets_in_order():
    """Order of appearance, equality and operations of sets, changes too."""
    ids = AgentIds(["z", "a", "m"])

    assert list(ids) == ["z", "a", "m"]
    assert ids == {"a", "m", "z"}
    assert ids - {"a"} == {"m", "z"}
    assert repr(ids) == "{'z', 'a', 'm'}"
    assert repr(AgentIds()) == "set()"


def test_changed_ones_stay_true():
    """An id that was removed is gone, one that was added comes last, a swap is seen."""
    ids = AgentIds(["z", "a"])

    ids.discard("z")
    ids.add("b")

    assert list(ids) == ["a", "b"]


def test_copies_keep_the_order():
    """Pickled and copied."""
    ids = AgentIds(["z", "a"])

    for twin in (pickle.loads(pickle.dumps(ids)), copy.deepcopy(ids)):
        assert list(twin) == ["z", "a"]
        assert type(twin) is AgentIds
