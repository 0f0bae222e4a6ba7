"""Observation filters by RLlib's names; Ray's numbers are in the golden scenarios."""

import copy
import pickle
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.arrays.moments import Moments
from rlconnect.core.errors import ConfigError, CorruptCheckpointError, SpaceError
from rlconnect.legacy.observations.filters import (
    ConcurrentMeanStdFilter,
    MeanStdFilter,
    NoFilter,
    get_filter,
)

ROWS = np.random.default_rng(0).normal(3.0, 2.0, (8, 2))
NEST = {"a": None, "b": (np.array([2]),)}


@pytest.mark.parametrize("kind", [MeanStdFilter, ConcurrentMeanStdFilter])
def test_many_at_once_equals_one_by_one(kind):
    """filter_each gives each row what a loop gives it, and learns the same."""
    loop, together = kind((2,)), kind((2,))

    one_by_one = np.array([loop(row) for row in ROWS])
    many = together.filter_each(ROWS)

    np.testing.assert_allclose(many, one_by_one, rtol=1e-9)
    np.testing.assert_allclose(together.running_stats.var, loop.running_stats.var, rtol=1e-9)
    np.testing.assert_allclose(together.buffer.mean, loop.buffer.mean, rtol=1e-9)
    assert together.buffer.n == loop.buffer.n == 8


def test_nests_are_filtered_leaf_by_leaf():
    """Leaves without a shape pass; the others are filtered, in one and in many."""
    one, flat = MeanStdFilter(NEST), MeanStdFilter((2,))

    for row in ROWS:
        nested = one({"a": 7, "b": (row,)})
        wanted = flat(row)
    many = MeanStdFilter(NEST).filter_each({"a": np.arange(8), "b": (ROWS,)})

    assert nested["a"] == 7
    np.testing.assert_array_equal(nested["b"][0], wanted)
    assert many["a"].tolist() == list(range(8))
    assert one.running_stats["a"] is None
    assert one.running_stats["b"][0].n == 8


def test_evaluation_learns_nothing():
    """With update=False neither statistics nor buffer move."""
    one = MeanStdFilter((2,))
    one(ROWS[0])

    one(ROWS[1:], update=False)

    assert (one.running_stats.n, one.buffer.n) == (1, 1)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.floats(-50, 50), min_size=2, max_size=30), st.integers(1, 29))
def test_workers_merge_without_counting_twice(values, cut):
    """Two workers that learn apart and merge their buffers know what one would."""
    cut = min(cut, len(values) - 1)
    alone, main, worker = MeanStdFilter(()), MeanStdFilter(()), MeanStdFilter(())
    for value in values:
        alone(np.float64(value))
    for value in values[:cut]:
        main(np.float64(value))
    worker.sync(main)
    worker.reset_buffer()
    for value in values[cut:]:
        worker(np.float64(value))

    main.apply_changes(worker)

    assert main.running_stats.n == len(values)
    np.testing.assert_allclose(main.running_stats.mean, alone.running_stats.mean, atol=1e-9)
    np.testing.assert_allclose(main.running_stats.var, alone.running_stats.var, atol=1e-7)


def test_long_streams_keep_their_buffer():
    """Rows that wait to be counted are counted in time, all of them."""
    one = MeanStdFilter(())
    values = np.arange(1000.0)
    for value in values:
        one(value)

    assert one.buffer.n == 1000
    np.testing.assert_allclose(one.buffer.mean, values.mean())
    np.testing.assert_allclose(one.buffer.var, values.var(ddof=1))


@pytest.mark.parametrize("shape", [(2,), NEST])
def test_state_round_trip(shape):
    """What to_state wrote gives an equal filter back, statistics and buffer."""
    one = MeanStdFilter(shape, clip=None, demean=False)
    one({"a": 1, "b": (ROWS[0],)} if shape is NEST else ROWS[0])
    state = one.to_state()

    again = MeanStdFilter(shape)
    again.set_state(state)

    assert again.to_state()["running_stats"] == state["running_stats"]
    assert (again.clip, again.demean) == (None, False)
    one({"a": 1, "b": (ROWS[1],)} if shape is NEST else ROWS[1])
    assert one.to_state()["running_stats"][-1]["num_pushes"] == 2


def test_states_hold_empty_statistics_of_what_passes_through():
    """RLlib 2.7.2 wrote this for `Dict(a=Box(1), b=Discrete(3))`; it comes back to the letter."""
    begin = "eJyb7BfqGxDJyFDGUK2eklqcXKRupaBuk2ahrqOgnpZfVFKUmBefX5SSChJ3"
    begin += "S8wpTgWKF2ckFqQC+Rq"
    mean = f"{begin}GOpo6CrUKFAAuBjD4YA8AMQQciw=="
    squares = f"{begin}GOpo6CrUKFAAuBghwAAAvJRuc"
    zero = f"{begin}aOgq1ChQBLgYoAAAnVhs/"
    stats = [
        {"num_pushes": 3, "mean_array": mean, "std_array": squares},
        {"num_pushes": 0, "mean_array": zero, "std_array": zero},
    ]
    state = {
        "shape": {"a": np.array([1]), "b": None},
        "no_preprocessor": True,
        "demean": True,
        "destd": True,
        "clip": 10.0,
        "running_stats": stats,
        "buffer": stats,
    }
    one = MeanStdFilter((1,))

    one.set_state(state)

    assert one.to_state()["running_stats"] == stats
    filtered = one({"a": np.array([5.0], np.float32), "b": 1}, update=False)
    assert filtered["b"] == 1
    np.testing.assert_allclose(filtered["a"], [3.999996], atol=1e-6)


def test_statistics_that_do_not_fit_are_refused():
    """A state whose arrays have another shape is corrupt."""
    state = MeanStdFilter((3,)).to_state()
    state["shape"] = np.array([2])

    with pytest.raises(CorruptCheckpointError, match="running_stats"):
        MeanStdFilter((2,)).set_state(state)
    with pytest.raises(SpaceError, match="statistics"):
        MeanStdFilter((2,)).set_moments([Moments.zero((3,))])


def test_moments_of_what_passes_through_are_left_out():
    """RLlib's filter objects hold statistics of Discrete parts as well, which count nothing."""
    seen, empty = Moments(3, np.ones(2), np.full(2, 6.0)), Moments.zero(())
    mixed = MeanStdFilter({"a": None, "b": np.array([2])})

    mixed.set_moments([empty, seen])
    alone = MeanStdFilter({"a": None, "b": np.array([2])})
    alone.set_moments([seen])

    obs = {"a": np.int64(1), "b": np.array([2.0, 0.0])}
    np.testing.assert_array_equal(mixed(obs, update=False)["b"], alone(obs, update=False)["b"])
    with pytest.raises(SpaceError, match="do not fit"):
        MeanStdFilter((2,)).set_moments([seen, seen])


@pytest.mark.parametrize("x", [np.zeros(3), np.zeros((2, 3)), np.zeros((2, 2, 2)), np.zeros(())])
def test_observations_of_another_shape_are_refused(x):
    """One observation or a batch of them, of the filter's shape."""
    with pytest.raises(SpaceError, match="shape"):
        MeanStdFilter((2,))(x)


@pytest.mark.parametrize("kind", [MeanStdFilter, ConcurrentMeanStdFilter])
@pytest.mark.parametrize(
    "copier",
    [
        copy.deepcopy,
        lambda f: pickle.loads(pickle.dumps(f)),
        lambda f: f.copy(),
        lambda f: f.as_serializable(),
    ],
)
def test_copies_learn_apart(kind, copier):
    """A twin starts equal and learns on its own."""
    one = kind((2,), clip=5.0)
    one(ROWS[0])

    twin = copier(one)
    twin(ROWS[1])

    assert (one.running_stats.n, twin.running_stats.n) == (1, 2)
    assert twin.clip == 5.0
    assert isinstance(ConcurrentMeanStdFilter(()).as_serializable(), MeanStdFilter)


def test_threads_do_not_lose_observations():
    """A concurrent filter counts every observation of every thread."""
    one = ConcurrentMeanStdFilter(())

    threads = [Thread(target=lambda: [one(np.float64(i)) for i in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert one.running_stats.n == one.buffer.n == 800


def test_filters_by_name():
    """The names an old config uses; made without a clip, as its trainers did."""
    assert isinstance(get_filter("NoFilter", (2,)), NoFilter)
    assert get_filter("MeanStdFilter", (2,)).clip is None
    assert isinstance(get_filter("ConcurrentMeanStdFilter", (2,)), ConcurrentMeanStdFilter)
    assert get_filter(lambda shape: shape, (2,)) == (2,)
    with pytest.raises(ConfigError, match="MeanStdFilter"):
        get_filter("Median", (2,))


def test_no_filter_changes_nothing():
    """It hands values on and syncs with anything."""
    one = NoFilter()
    one.sync(one)
    one.apply_changes(one)
    one.clear_buffer()

    assert one({"a": 1}, update=True) == {"a": 1}
    assert isinstance(one.copy(), NoFilter)
    assert one.as_serializable() is one
