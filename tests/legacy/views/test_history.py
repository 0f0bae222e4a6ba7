"""Rings of the last values, many slots in one array."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.legacy.views.history import HistoryStore


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(1, 4), st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=6), max_size=8)
)
def test_equals_plain_lists(depth, rounds):
    """Slots stepped together in any groups remember what plain lists would."""
    store = HistoryStore(depth)
    slots, lists = {}, {}

    for step, chosen in enumerate(rounds):
        agents = sorted(set(chosen))
        new = [agent for agent in agents if agent not in slots]
        old = [agent for agent in agents if agent in slots]
        for group, write in ((new, store.fill), (old, store.push)):
            if not group:
                continue
            if group is new:
                slots.update(zip(group, store.open(len(group)), strict=True))
            values = np.array([agent * 100.0 + step for agent in group])
            write("x", np.array([slots[agent] for agent in group]), {"v": values})
            for agent, value in zip(group, values, strict=True):
                lists[agent] = [value] * depth if group is new else [*lists[agent], value]

    for agent, slot in slots.items():
        found = store.look("x", np.array([slot]), np.arange(1 - depth, 1))
        assert found["v"][0].tolist() == lists[agent][-depth:]


def test_closed_slots_are_used_again():
    """A store does not grow while as many slots close as open."""
    store = HistoryStore(2)
    first = store.open(8)
    store.close(first.tolist())

    assert sorted(store.open(8)) == sorted(first)


def test_wider_values_widen_the_ring():
    """An integer history that gets a float keeps both."""
    store = HistoryStore(2)
    slots = store.open(1)

    store.fill("x", slots, np.array([1]))
    store.push("x", slots, np.array([0.5]))

    assert store.state_of(slots)["x"].tolist() == [[1.0, 0.5]]
