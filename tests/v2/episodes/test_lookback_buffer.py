"""One column of an episode, held to a list that does the same in the plainest way."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import EpisodeError
from rlconnect.v2 import InfiniteLookbackBuffer
from rlconnect.v2.episodes.errors import EpisodeIndexError, EpisodeStateError

STEPS = st.integers(-12, 12)
BOUNDS = st.none() | STEPS
NUMBERS = st.lists(st.integers(0, 50), min_size=1, max_size=9)


class PlainBuffer:
    """What a buffer means: a list, an offset, and loops."""

    def __init__(self, data, lookback):
        self.data, self.lookback = list(data), min(lookback, len(data))

    def place(self, step, neg):
        if step >= 0 or neg:
            return self.lookback + step
        return len(self.data) + step

    def one(self, step, neg, fill):
        place = self.place(step, neg)
        if 0 <= place < len(self.data):
            return self.data[place]
        if fill is None:
            raise IndexError
        return fill

    def many(self, start, stop, neg, fill):
        first = self.lookback if start is None else self.place(start, neg)
        end = len(self.data) if stop is None else self.place(stop, neg)
        found = []
        for place in range(first, end):
            if 0 <= place < len(self.data):
                found.append(self.data[place])
            elif fill is not None:
                found.append(fill)
        return found


def outcome(call):
    try:
        return np.asarray(call()).tolist()
    except IndexError:
        return "IndexError"


@given(NUMBERS, st.integers(0, 5), STEPS, st.booleans(), st.none() | st.integers(-3, 3))
def test_one_step_is_what_a_list_would_give(data, lookback, step, neg, fill):
    """A single step is the same item, fill or error in list form, in array form and in a list."""
    plain, listed = PlainBuffer(data, lookback), InfiniteLookbackBuffer(data.copy(), lookback)
    arrays = InfiniteLookbackBuffer(np.array(data), lookback)

    expected = outcome(lambda: plain.one(step, neg, fill))

    for buffer in (listed, arrays):
        got = outcome(lambda b=buffer: b.get(step, neg_index_as_lookback=neg, fill=fill))
        assert got == expected


@given(NUMBERS, st.integers(0, 5), BOUNDS, BOUNDS, st.booleans(), st.none() | st.integers(-3, 3))
def test_a_slice_is_what_a_list_would_give(data, lookback, start, stop, neg, fill):
    """Slices end where the data ends, or are filled on both sides, in both forms."""
    plain, listed = PlainBuffer(data, lookback), InfiniteLookbackBuffer(data.copy(), lookback)
    arrays = InfiniteLookbackBuffer(np.array(data), lookback)

    expected = plain.many(start, stop, neg, fill)

    for buffer in (listed, arrays):
        got = buffer.get(slice(start, stop), neg_index_as_lookback=neg, fill=fill)
        assert isinstance(got, list) is (buffer is listed)
        assert list(got) == expected


@given(NUMBERS, st.integers(0, 5), st.lists(STEPS, max_size=4), st.booleans())
def test_a_list_of_steps_is_each_step(data, lookback, steps, neg):
    """Many steps are the same as one after the other; arrays come as one array."""
    plain, arrays = PlainBuffer(data, lookback), InfiniteLookbackBuffer(np.array(data), lookback)

    got = arrays.get(steps, neg_index_as_lookback=neg, fill=-1)

    assert isinstance(got, np.ndarray)
    assert got.tolist() == [plain.one(step, neg, -1) for step in steps]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (slice(None, None, 2), [13, 15]),
        (slice(None, None, -1), [16, 15, 14, 13]),
        (slice(3, 0, -1), [16, 15, 14]),
        (slice(9, -9, -3), [16, 13, 10]),
    ],
)
def test_slices_with_a_stride_follow_lists(steps, expected):
    """A stride means what it means for a list, also backwards."""
    data = [10, 11, 12, 13, 14, 15, 16]

    for form in (data, np.array(data)):
        assert list(InfiniteLookbackBuffer(form, 3).get(steps)) == expected


@st.composite
def programs(draw):
    kinds = st.sampled_from(["append", "extend", "pop", "set", "set_many", "finalize", "slice"])
    return draw(st.lists(st.tuples(kinds, st.integers(-6, 6), st.integers(0, 90)), max_size=14))


@given(NUMBERS, st.integers(0, 4), programs())
def test_any_sequence_of_changes_is_that_of_a_list(data, lookback, program):
    """Changed in any order and form, a buffer holds what a list holds; slices stay as they were."""
    plain, buffer = list(data), InfiniteLookbackBuffer(data.copy(), lookback)
    slices = []

    for kind, step, value in program:
        if kind == "append":
            plain.append(value)
            buffer.append(value)
        elif kind == "extend":
            plain += [value, value + 1]
            buffer.extend([value, value + 1])
        elif kind == "pop" and len(plain) > buffer.lookback + 1:
            plain.pop()
            buffer.pop()
        elif kind == "set" and 0 <= (step if step >= 0 else len(buffer) + step) < len(buffer):
            plain[buffer.lookback + step if step >= 0 else step] = value
            buffer[step] = value
        elif kind == "set_many" and len(buffer) >= 2:
            plain[buffer.lookback : buffer.lookback + 2] = [value, value]
            buffer.set([value, value], at_indices=slice(0, 2))
        elif kind == "finalize":
            buffer.finalize()
        elif kind == "slice":
            state = buffer.get_state()
            slices.append((InfiniteLookbackBuffer.from_state(state), plain.copy()))

    assert list(buffer.data) == plain
    assert list(buffer) == plain[buffer.lookback :]
    assert len(buffer) == len(plain) - buffer.lookback
    for taken, then in slices:
        assert list(taken.data) == then


def test_data_is_the_live_list():
    """What strangers write through `.data` is in the buffer, in both forms."""
    buffer = InfiniteLookbackBuffer([1, 2, 3])

    buffer.data[0] = 9
    buffer.data.append(4)
    listed = buffer.get()
    buffer.finalize()
    buffer.data[1] = 8

    assert listed == [9, 2, 3, 4]
    assert buffer.get().tolist() == [9, 8, 3, 4]
    assert 8 in buffer
    assert list(reversed(buffer)) == [4, 3, 8, 9]


def test_items_come_back_as_they_were():
    """Before finalisation getters give the very objects that were added."""
    added = [1, 2.5, np.float32(0.5), True, np.arange(2)]
    buffer = InfiniteLookbackBuffer()

    for item in added:
        buffer.append(item)

    assert all(got is item for got, item in zip(buffer.get(), added, strict=True))


@pytest.mark.parametrize(
    ("items", "dtype"),
    [
        ([1, 2], np.int64),
        ([1.0, 2], np.float64),
        ([1, 2.5], np.float64),
        ([True, False], np.bool_),
        ([np.float32(1), np.float32(2)], np.float32),
        ([np.float32(1), np.float64(2)], np.float64),
        ([np.int8(1), 300], np.int64),
        ([2**70, 1], np.object_),
    ],
)
def test_columns_have_the_dtype_of_all_their_numbers(items, dtype):
    """No number is cut to fit the first one's type."""
    buffer = InfiniteLookbackBuffer(items)

    buffer.finalize()

    assert buffer.data.dtype == dtype
    assert buffer.data.tolist() == items


def test_columns_of_arrays():
    """Arrays of one shape make one array, whatever their strides and dtypes."""
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    items = [rows[0], rows[::-1][0], rows[:, ::-1][1], np.arange(4.0)]

    buffer = InfiniteLookbackBuffer(items.copy())
    buffer.finalize()

    np.testing.assert_array_equal(buffer.data, np.stack(items))
    assert buffer.data.dtype == np.float64
    assert buffer.data.flags.writeable


@pytest.mark.parametrize(
    "items",
    [
        [np.zeros(2), np.zeros(3)],
        [np.zeros((2, 3)), np.zeros((3, 2))],
        [{"a": 1}, {"b": 1}],
        [np.zeros(2), np.zeros(1), np.zeros(3)],
        [(1, 2), (1,)],
    ],
)
def test_items_that_are_not_alike_make_no_column(items):
    """An error says so, and the items stay as they were."""
    buffer = InfiniteLookbackBuffer(items.copy())

    with pytest.raises(EpisodeError, match="make no column"):
        buffer.finalize()

    assert buffer.data == items or len(buffer.data) == len(items)
    assert not buffer.finalized


def nested(step):
    return {"a": step % 3, "b": (np.array([step, -step], np.float32), step % 2)}


def test_nested_items_become_nested_columns():
    """A nest is one array per leaf, and reads like a flat column."""
    space = Dict(a=Discrete(3), b=Tuple([Box(-9, 9, (2,), np.float32), Discrete(2)]))
    buffer = InfiniteLookbackBuffer([nested(t) for t in range(4)], 1, space)

    buffer.finalize()
    buffer.append(nested(4))
    buffer[0] = nested(2)
    filled = buffer.get(slice(3, 5), fill=0)

    assert buffer.data["a"].tolist() == [0, 2, 2, 0, 1]
    assert buffer.get(-1)["b"][0].tolist() == [4.0, -4.0]
    assert filled["a"].tolist() == [1, 0]
    assert filled["b"][0].tolist() == [[4.0, -4.0], [0.0, 0.0]]
    assert len(buffer) == 4


def test_one_hot_parts():
    """Discrete and MultiDiscrete leaves come as one-hot vectors, the others as they are."""
    space = Dict(a=Discrete(3), m=MultiDiscrete([2, 2]), x=Box(-1, 1, (1,), np.float32))
    item = {"a": 2, "m": np.array([1, 0]), "x": np.zeros(1, np.float32)}
    buffer = InfiniteLookbackBuffer([item, item], space=space)

    one = buffer.get(0, one_hot_discrete=True)
    buffer.finalize()
    many = buffer.get(slice(1, 3), one_hot_discrete=True, fill=0.0)

    assert one["a"].tolist() == [0, 0, 1]
    assert one["m"].tolist() == [0, 1, 1, 0]
    assert many["a"].tolist() == [[0, 0, 1], [0, 0, 0]]
    assert many["x"].shape == (2, 1)


def test_empty_slices_are_not_one_hot():
    """As in Ray 2.60: the column as it is, without rows."""
    buffer = InfiniteLookbackBuffer([2, 0], space=Discrete(3))
    buffer.finalize()

    empty = buffer.get(slice(1, 1), one_hot_discrete=True)

    assert (empty.shape, empty.dtype) == ((0,), np.int64)


def test_one_hot_actions_of_a_space_that_starts_elsewhere():
    """Modules return 0 to n - 1, which are the places in the row, as in Ray 2.60."""
    buffer = InfiniteLookbackBuffer([0, 2], space=Discrete(3, start=1))

    assert np.array(buffer.get(one_hot_discrete=True)).tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("steps", [[9, 0], slice(-4, 1)])
def test_gaps_between_one_hot_rows_are_float32_rows(steps):
    """Missing steps stand beside one-hot rows in their form; Ray 2.60 gives the same."""
    space = Tuple([Discrete(3), MultiDiscrete([2, 2])])
    buffer = InfiniteLookbackBuffer([(2, np.array([0, 1]))] * 2, space=space)
    buffer.finalize()

    discrete, multi = buffer.get(steps, fill=0, one_hot_discrete=True)

    assert (discrete.dtype, multi.dtype) == (np.float32, np.float32)
    assert discrete[-1].tolist() == [0.0, 0.0, 1.0]
    assert not discrete[0].any()
    assert multi[-1].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_only_missing_steps_are_one_hot_rows_of_the_fill():
    """Ray 2.60 gives two rows of 1.5."""
    buffer = InfiniteLookbackBuffer([np.array([0, 1])], space=MultiDiscrete([2, 3]))
    buffer.finalize()

    rows = buffer.get([9, 8], fill=1.5, one_hot_discrete=True)

    assert rows.dtype == np.float32
    assert rows.tolist() == [[1.5] * 5] * 2


@pytest.mark.parametrize(("steps", "dtype"), [([9, 0], np.float32), ([0, 9], np.float64)])
def test_a_list_of_steps_has_the_dtype_of_its_first(steps, dtype):
    """A gap has the dtype of the space, an item its own; Ray 2.60 takes that of the first."""
    buffer = InfiniteLookbackBuffer([1.5, 2.5], space=Box(-9, 9, (), np.float32))
    buffer.finalize()

    assert buffer.get(steps, fill=0.0).dtype == dtype


def test_one_hot_needs_a_space():
    """Without a space nobody knows how long a one-hot vector is."""
    with pytest.raises(EpisodeError, match="needs the space"):
        InfiniteLookbackBuffer([1]).get(0, one_hot_discrete=True)


@pytest.mark.parametrize(
    ("column", "item", "dtype", "last"),
    [
        (np.array([1, 2]), 0.5, np.float64, 0.5),
        (np.array([1, 2], np.uint8), 300, np.int64, 300),
        (np.array([1, 2], np.uint8), -1, np.int64, -1),
        (np.array([1.0, 2.0], np.float32), 0.1, np.float32, np.float32(0.1)),
        (np.array(["a", "b"]), "long", np.dtype("<U4"), "long"),
    ],
)
def test_a_number_that_does_not_fit_widens_the_column(column, item, dtype, last):
    """Adding or setting a value never cuts it to the column's type."""
    added, changed = (InfiniteLookbackBuffer(column.copy()) for _ in range(2))

    added.append(item)
    changed[1] = item

    assert added.data.dtype == changed.data.dtype == dtype
    assert added.data[-1] == changed.data[-1] == last


def test_adding_to_arrays_moves_them_seldom():
    """Spare rows take new items: a hundred of them copy a column a few times, not a hundred."""
    buffer = InfiniteLookbackBuffer(np.zeros((4, 3)))
    stores = set()

    for step in range(100):
        buffer.append(np.full(3, step))
        stores.add(id(buffer.store))

    assert buffer.data.shape == (104, 3)
    assert buffer.data[-1].tolist() == [99.0, 99.0, 99.0]
    assert len(stores) <= 5


def test_new_items_must_be_built_like_the_others():
    """A wrong shape or structure is refused, and nothing is changed."""
    flat, nest = InfiniteLookbackBuffer(np.zeros((2, 3))), InfiniteLookbackBuffer([{"a": 1}] * 2)
    nest.finalize()

    with pytest.raises(EpisodeError, match="does not fit the items"):
        flat.append(np.zeros(4))
    with pytest.raises(EpisodeError, match="not built like"):
        nest.append({"b": 1})

    assert (len(flat), len(nest)) == (2, 2)


def test_values_must_fit_the_space_of_arrays():
    """One value for one step of arrays is checked against the space, leaf by leaf."""
    flat = InfiniteLookbackBuffer(np.array([1, 2]), space=Discrete(5))
    deep = InfiniteLookbackBuffer({"a": np.array([1, 2])}, space=Dict(a=Discrete(5)))

    deep[0] = {"a": 4}

    assert deep.data["a"].tolist() == [4, 2]
    with pytest.raises(EpisodeError, match="does not fit its space"):
        flat[0] = 7
    with pytest.raises(EpisodeError, match=r"value\['a'\]"):
        deep[0] = {"a": 7}


@pytest.mark.parametrize("form", [list, np.array])
def test_errors_name_the_step_and_the_sizes(form):
    """A step that does not exist, and too few values, say which."""
    buffer = InfiniteLookbackBuffer(form([1, 2, 3]))

    with pytest.raises(EpisodeIndexError, match="77"):
        buffer.set(1, at_indices=77)
    with pytest.raises(EpisodeIndexError, match="size"):
        buffer.set([1], at_indices=slice(0, 3))
    with pytest.raises(EpisodeIndexError, match="size"):
        buffer.set([1, 2, 3], at_indices=[0, 1])
    with pytest.raises(IndexError, match="50"):
        buffer.get(50)
    with pytest.raises(EpisodeIndexError, match="no integer"):
        buffer.get(["a"])


def test_sums():
    """Lists, buffers and numbers can be added to a buffer, unless it is finalized."""
    buffer, final = InfiniteLookbackBuffer([0, 1, 2], 1), InfiniteLookbackBuffer(np.arange(3))

    assert (buffer + [9]).get() == [1, 2, 9]  # noqa: RUF005
    assert (buffer + buffer).get() == [1, 2, 1, 2]
    assert (buffer + 10).data == [10, 11, 12]
    with pytest.raises(TypeError, match="cannot be added"):
        buffer + "x"
    with pytest.raises(EpisodeStateError, match="finalized"):
        final + [1]  # noqa: RUF005


@pytest.mark.parametrize("form", [list, np.array])
def test_copies_are_independent(form):
    """Deep copies, pickles and states go on by themselves."""
    buffer = InfiniteLookbackBuffer(form([1, 2, 3]), 1, Discrete(9))

    copies = [
        copy.deepcopy(buffer),
        pickle.loads(pickle.dumps(buffer)),
        InfiniteLookbackBuffer.from_state(buffer.get_state()),
    ]
    equal = [one == buffer for one in copies]
    for one in copies:
        one.append(4)
        one[0] = 7
    buffer[1] = 5

    assert equal == [True] * 3
    assert list(buffer.data) == [1, 2, 5]
    assert [list(one.data) for one in copies] == [[1, 7, 3, 4]] * 3
    assert all(one.space == Discrete(9) for one in copies)


def test_an_empty_buffer():
    """There is nothing to finalize, and nothing to read but fill."""
    buffer = InfiniteLookbackBuffer()

    buffer.finalize()

    assert not buffer.finalized
    assert not buffer
    assert buffer.get() == []
    assert buffer.get(slice(-2, 1), fill=0) == [0, 0, 0]
    with pytest.raises(IndexError):
        buffer.get(-1)
