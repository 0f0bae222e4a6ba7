"""A flattened observation gives its nest back."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Tuple
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import SpaceError
from rlconnect.legacy.models.flat_layout import RepeatedValues, flat_layout, restore


class Repeated(Space):
    """A list of up to `max_len` items, as old environments declare it."""

    def __init__(self, child_space, max_len):
        super().__init__()
        self.child_space, self.max_len = child_space, max_len


LEAVES = st.one_of(
    st.integers(1, 4).map(Discrete),
    st.lists(st.integers(1, 3), min_size=1, max_size=3).map(MultiDiscrete),
    st.lists(st.integers(1, 3), max_size=3).map(lambda shape: Box(-1, 1, tuple(shape))),
)
SPACES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("zyxab"), inner, min_size=1, max_size=3).map(Dict),
        st.lists(inner, min_size=1, max_size=3).map(Tuple),
    ),
    max_leaves=6,
)


def joined(value, rows):
    """Concatenate the leaves of a restored value in the order of its containers."""
    if isinstance(value, dict):
        return np.concatenate([joined(part, rows) for part in value.values()], axis=1)
    if isinstance(value, list):
        return np.concatenate([joined(part, rows) for part in value], axis=1)
    return value.reshape(rows, -1)


@given(space=SPACES, rows=st.integers(1, 3))
def test_restore_keeps_every_number_in_order(space, rows):
    """Joining the parts again gives the vector, for any nesting."""
    layout = flat_layout(space)
    flat = np.arange(rows * layout.size, dtype=np.float32).reshape(rows, layout.size)

    value = restore(flat, layout)

    np.testing.assert_array_equal(joined(value, rows), flat)


def test_order_is_that_of_the_space():
    """Entries lie in the order of the space, not of sorted keys."""
    space = Dict([("z", Box(-1, 1, (1,))), ("a", Discrete(2))])

    value = restore(np.array([[7.0, 0.0, 1.0]]), flat_layout(space))

    assert value["z"].tolist() == [[7.0]]
    assert value["a"].tolist() == [[0.0, 1.0]]


def test_full_size_frames_are_resized():
    """An Atari frame takes the size its preprocessor gives it."""
    frame = Box(0, 255, (210, 160, 3), np.uint8)

    assert flat_layout(frame).shape == (84, 84, 3)
    assert flat_layout(frame, dim=42, grayscale=True).shape == (42, 42, 1)


def test_time_axis_is_kept():
    """Observations (B, T, size) give parts (B, T, *shape)."""
    layout = flat_layout(Dict({"a": Box(-1, 1, (2, 2))}))

    assert restore(np.zeros((3, 5, 4)), layout)["a"].shape == (3, 5, 2, 2)


def test_repeated_values():
    """Lists carry their lengths in front and are padded to one length."""
    layout = flat_layout(Tuple((Repeated(Box(-1, 1, (2,)), 3), Discrete(2))))
    flat = np.array([[2.0, 1, 2, 3, 4, 0, 0, 0, 1]])

    values, one_hot = restore(flat, layout)

    assert isinstance(values, RepeatedValues)
    assert values.lengths.tolist() == [2.0]
    assert values.values.tolist() == [[[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]]]
    assert values.max_len == 3
    assert one_hot.tolist() == [[0.0, 1.0]]


def test_a_nest_is_left_alone():
    """What is restored already stays as it is."""
    value = {"a": np.zeros((1, 2))}

    assert restore(value, flat_layout(Dict({"a": Box(-1, 1, (2,))}))) is value


def test_wrong_width():
    """A vector of another length is an error that says both."""
    with pytest.raises(SpaceError, match=r"\(\.\.\., 2\)"):
        restore(np.zeros((1, 3)), flat_layout(Dict({"a": Box(-1, 1, (2,))})))


def test_space_without_shape():
    """A part that is no array cannot be laid out."""
    with pytest.raises(SpaceError, match="no shape"):
        flat_layout(Dict({"a": Space()}))
