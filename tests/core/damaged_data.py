"""Data with one part of it exchanged, for readers of files that nobody trusts."""

import numpy as np
from hypothesis import strategies as st

WRONG = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.binary(max_size=2),
    st.sampled_from(["list", "set", "deque", "pairs", "items", "kind", 0.5, np.arange(3)]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["long", "number", "pairs", "items", "kind"]), st.integers()),
)


def damaged(data, draw):
    """The data with a value or a key somewhere in it exchanged.

    Args:
        data: Dicts and lists around anything.
        draw: Of hypothesis.
    """
    if not isinstance(data, (dict, list)) or not data or draw(st.integers(0, 8)) == 0:
        return draw(WRONG)
    if isinstance(data, list):
        at = draw(st.integers(0, len(data) - 1))
        return [*data[:at], damaged(data[at], draw), *data[at + 1 :]]
    key = draw(st.sampled_from(sorted(data)))
    if draw(st.integers(0, 3)):
        return {**data, key: damaged(data[key], draw)}
    return {("who" if other == key else other): own for other, own in data.items()}
