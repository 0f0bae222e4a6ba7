"""The metrics logger: what values come to, and what is handed on."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError, DuplicateNameError
from rlconnect.v2.metrics.metrics_logger import MetricsLogger, UnknownMetricError


def _logged(values, **how):
    logger = MetricsLogger()
    for value in values:
        logger.log_value("x", value, **how)
    return logger


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"reduce": "mean"}, 2.5),
        ({"reduce": "mean", "window": 3}, 3.0),
        ({"window": 3}, 3.0),
        ({}, 1.059601),
        ({"reduce": "ema", "ema_coeff": 0.5}, 3.125),
        ({"reduce": "sum"}, 10),
        ({"reduce": "sum", "window": 2}, 7),
        ({"reduce": "sum", "clear_on_reduce": False}, 10),
        ({"reduce": "lifetime_sum"}, 10),
        ({"reduce": "min"}, 1),
        ({"reduce": "max", "window": 2}, 4),
        ({"reduce": "item"}, 4),
        ({"reduce": "item_series"}, [1, 2, 3, 4]),
    ],
)
def test_a_value_is_what_rllib_makes_of_the_same_calls(how, expected):
    """Ray 2.60 answered `peek` with these for 1, 2, 3, 4 logged in turn."""
    logger = _logged([1, 2, 3, 4], **how)

    assert logger.peek("x") == pytest.approx(expected)


def test_percentiles():
    """Percentiles interpolate, as in Ray 2.60."""
    found = _logged([1, 2, 3, 4], reduce="percentiles", window=10).peek("x")

    assert found == pytest.approx({0: 1, 50: 2.5, 75: 3.25, 90: 3.7, 95: 3.85, 99: 3.97, 100: 4})


def test_the_first_call_decides_how_a_key_reduces():
    """Later calls with other settings change nothing."""
    logger = _logged([1, 2], reduce="sum")

    logger.log_value("x", 1, reduce="max")

    assert logger.peek("x") == 4


def test_a_key_and_a_tuple_of_one_are_the_same():
    """`"a"` and `("a",)` name one metric."""
    logger = MetricsLogger()

    logger.log_value("a", 1, reduce="sum")
    logger.log_value(("a",), 2)

    assert logger.peek() == {"a": 3}


def test_tensors_reduce_like_numbers():
    """Tensors wait as they are and need no gradient when they reduce."""
    torch = pytest.importorskip("torch")
    logger = _logged([torch.tensor(1.0, requires_grad=True), torch.tensor(3.0)], reduce="mean")

    assert logger.peek("x") == 2.0


def test_nested_results_and_dicts():
    """A dict is logged leaf by leaf, and peeking above them gives it back."""
    logger = MetricsLogger()

    logger.log_dict({"p": 1, "q": {"r": 2}}, key="d")

    assert logger.peek("d") == {"p": 1, "q": {"r": 2}}


def test_unknown_keys_raise_or_take_the_default():
    """A key nobody has logged is a KeyError with the closest one named."""
    logger = _logged([1])

    assert logger.peek("xx", default=5) == 5
    with pytest.raises(UnknownMetricError, match="did you mean 'x'"):
        logger.peek("xx")
    with pytest.raises(KeyError):
        logger.delete("y")


def test_a_key_is_a_value_or_a_branch():
    """A value cannot have keys below it."""
    logger = _logged([1])

    with pytest.raises(DuplicateNameError, match="x/y"):
        logger.log_value(("x", "y"), 1)


def test_unknown_reductions_name_the_nearest():
    """A misspelt reduction says what was meant."""
    with pytest.raises(ConfigError, match="did you mean 'mean'"):
        MetricsLogger().log_value("x", 1, reduce="maen")


def test_handed_over_values_count_once():
    """What was handed over is not handed over again; the root keeps lifetime sums."""
    worker, root = MetricsLogger(), MetricsLogger(root=True)

    reports = []
    for _ in range(2):
        worker.log_value("steps", 5, reduce="sum")
        worker.log_value("all", 5, reduce="lifetime_sum")
        root.aggregate([worker.reduce()], key="env_runners")
        reports.append(root.reduce(compile=True)["env_runners"])

    assert reports == [{"steps": 5, "all": 5}, {"steps": 5, "all": 10}]


@pytest.mark.parametrize("is_compiled", [False, True])
def test_the_root_keeps_lifetime_sums(is_compiled):
    """As in Ray 2.60: whichever form `reduce` returns, the sum of all values goes on."""
    root = MetricsLogger(root=True)
    root.log_value("all", 8, reduce="lifetime_sum")
    reduced = root.reduce(compile=is_compiled)["all"]

    root.log_value("all", 7)

    assert (reduced if is_compiled else reduced.peek()) == 8
    assert root.peek("all") == 15


def test_a_series_without_items_is_nan():
    """As in Ray 2.60."""
    logger = MetricsLogger()
    logger.log_value("seen", 1, reduce="item_series", window=3)
    logger.reduce()

    assert np.isnan(logger.peek("seen"))


def test_an_average_that_did_not_move_is_not_merged():
    """A moving average goes on where it is, and only news of it reach the root."""
    worker, root = MetricsLogger(), MetricsLogger(root=True)
    worker.log_value("t", 4.0)
    root.aggregate([worker.reduce()])
    root.set_value("t", 1.0)

    root.aggregate([worker.reduce()])

    assert (worker.peek("t"), root.peek("t")) == (4.0, 1.0)


def test_windows_outlast_reports_at_the_root():
    """The root's mean over a window looks back over reports; without a window it begins anew."""
    root = MetricsLogger(root=True)
    for value in (1, 3):
        root.log_value("w", value, reduce="mean", window=10)
        root.log_value("m", value, reduce="mean")
        report = root.reduce(compile=True)

    assert report == {"w": 2.0, "m": 3.0}
    assert math.isnan(root.peek("m"))


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.integers(-99, 99), min_size=1, max_size=8), min_size=1, max_size=4),
    st.sampled_from(["mean", "min", "max", "sum", "lifetime_sum"]),
)
def test_merging_workers_is_logging_in_one_place(lists, kind):
    """However values are spread over workers, the merged result is that of all of them."""
    root = MetricsLogger(root=True)
    reference = _logged([v for values in lists for v in values], reduce=kind)

    root.aggregate([_logged(values, reduce=kind).reduce() for values in lists])

    assert root.peek("x") == pytest.approx(reference.peek("x"))


def test_a_merged_window_holds_the_latest_of_each():
    """A window smaller than what comes takes the last values of all workers alike."""
    root = MetricsLogger(root=True)

    root.aggregate([_logged([k] * 9, reduce="mean", window=4).reduce() for k in (0, 10)])

    assert root.peek("x") == 5.0


def test_times_nest():
    """One timer inside another of the same key measures both blocks."""
    logger = MetricsLogger()

    with logger.log_time("t", reduce="item_series"), logger.log_time("t"):
        sum(range(1000))

    inner, outer = logger.peek("t")
    assert 0 < inner <= outer


@pytest.mark.parametrize("kind", ["mean", "ema", "sum", "lifetime_sum", "item", "percentiles"])
def test_state_goes_round(kind):
    """A logger that took another's state answers alike, also through a pickle."""
    logger, other = _logged([1.0, 2.0], reduce=kind, window=5), MetricsLogger()

    other.set_state(pickle.loads(pickle.dumps(logger.get_state())))

    other.log_value("x", 6.0)
    logger.log_value("x", 6.0)
    assert other.peek() == logger.peek()


def test_a_logger_nobody_reads_stays_small():
    """Values fold together before they pile up."""
    logger = _logged(np.ones(20_000), reduce="sum")

    assert len(pickle.dumps(logger)) < 100_000
    assert logger.peek("x") == 20_000


def test_delete_and_set():
    """A deleted key begins anew, and a set value replaces all before."""
    logger = _logged([1, 2], reduce="sum")

    logger.set_value("x", 7)
    assert logger.peek("x") == 7

    logger.delete("x")
    logger.log_value("x", 4, reduce="max")
    assert logger.peek() == {"x": 4}


def test_sums_know_their_rate():
    """`peek(throughput=True)` gives a sum per second."""
    logger = _logged([1, 2], reduce="sum", with_throughput=True)

    assert logger.peek("x", throughput=True) > 0


@pytest.mark.parametrize(
    "how",
    [
        {"reduce": "mean"},
        {"window": 5},
        {"reduce": "sum"},
        {"reduce": "lifetime_sum"},
        {"reduce": "max"},
        {"reduce": "max", "window": 5},
        {"reduce": "min"},
        {"ema_coeff": 0.5},
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_nan_says_nothing(how, place):
    """A value that is no number changes no result, wherever it comes."""
    values = [2.0, 4.0]
    values.insert(place, math.nan)

    assert _logged(values, **how).peek("x") == _logged([2.0, 4.0], **how).peek("x")


def test_a_window_of_nan_alone_is_nan():
    """In a window NaN takes a place, so the last value may be unknown."""
    assert math.isnan(_logged([1.0, math.nan], window=1).peek("x"))


@pytest.mark.parametrize(
    ("how", "kept"),
    [
        ({"reduce": "item_series"}, [1, 2]),
        ({"reduce": "percentiles", "window": 5}, [1, 2]),
        ({"reduce": "sum"}, [3]),
        ({"reduce": "item"}, [2]),
    ],
)
def test_what_a_result_is_made_of(how, kept):
    """`peek(compile=False)` gives lists: a series' items, else the result alone."""
    assert _logged([1, 2], **how).peek("x", compile=False) == kept


def test_series_are_joined_one_after_the_other():
    """Items of one source stay together."""
    parts = [_logged(items, reduce="item_series").reduce() for items in ([1, 2], [3])]
    logger = MetricsLogger(root=True)

    logger.aggregate(parts)

    assert logger.peek("x") == [1, 2, 3]


def test_a_list_is_a_key_too():
    """A path may be given as a list."""
    logger = MetricsLogger()

    logger.log_value(["a", "b"], 1, reduce="sum")

    assert logger.peek(["a", "b"]) == logger.peek(("a", "b")) == 1
