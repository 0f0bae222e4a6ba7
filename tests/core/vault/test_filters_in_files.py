"""Observation filters are read from connectors, pickled workers and new-stack states alike."""

import numpy as np
import pytest
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque
from rlconnect.core.vault.decoding import Decoding
from rlconnect.core.vault.readers.filters_in_files import (
    filter_from_object,
    filter_from_params,
    filters_of,
)
from rlconnect.core.vault.records.records import ConnectorRecord

STAT = {"num_pushes": 5, "mean_array": np.array([1.0, 2.0]), "std_array": np.array([4.0, 16.0])}


@pytest.fixture
def decoding(tmp_path):
    """Collects problems."""
    return Decoding(tmp_path, DEFAULT_LIMITS)


def running_stat(**state):
    """A pickled RunningStat."""
    stat = Opaque(GlobalRef("ray.rllib.utils.filter", "RunningStat"))
    stat.state = state
    return stat


@pytest.mark.parametrize("stats", [[STAT], (STAT,), {"": STAT}, STAT, [[STAT]]])
def test_statistics_are_found_in_any_nest(stats, decoding):
    """However the statistics are nested, count, mean and sum of squares come out."""
    found = filter_from_params("MeanStd", {"running_stats": stats}, decoding, "x")

    assert found.count == (5,)
    np.testing.assert_array_equal(found.mean[0], [1.0, 2.0])
    np.testing.assert_array_equal(found.std[0], [1.0, 2.0])
    assert decoding.problems == []


@pytest.mark.parametrize(
    "names", [("num_pushes", "mean_array", "sum_sq_diff_array"), ("_n", "_M", "_S")]
)
def test_every_releases_names_are_known(names, decoding):
    """Ray renamed the fields of its running statistics: all of them are read."""
    stat = running_stat(**dict(zip(names, (5, np.ones(2), np.full(2, 4.0)), strict=True)))

    found = filter_from_params("MeanStd", {"running_stats": [stat]}, decoding, "x")

    np.testing.assert_array_equal(found.std[0], [1.0, 1.0])


def test_settings_of_both_stacks_are_read(decoding):
    """The old stack says demean, destd and clip; the new one spells them out."""
    old = {"running_stats": [STAT], "demean": False, "destd": True, "clip": 5}
    new = {"running_stats": [STAT], "de_mean_to_zero": False, "clip_by_value": 5.0}

    for params in (old, new):
        found = filter_from_params("MeanStdFilter", params, decoding, "x")
        assert (found.demean, found.destd, found.clip) == (False, True, 5.0)


@pytest.mark.parametrize(
    "stats",
    [
        [],
        {},
        5,
        [{"mean_array": "not base64", "num_pushes": 1, "std_array": "x"}],
        [{"mean_array": np.ones(2), "std_array": np.ones(2)}],
        [{"num_pushes": 1, "mean_array": np.array(["a"]), "std_array": np.ones(1)}],
        [{"num_pushes": "many", "mean_array": np.ones(1), "std_array": np.ones(1)}],
        [{"num_pushes": float("nan"), "mean_array": np.ones(1), "std_array": np.ones(1)}],
        [{"num_pushes": float("inf"), "mean_array": np.ones(1), "std_array": np.ones(1)}],
        [{"num_pushes": 1, "mean_array": None, "std_array": None}],
        [{"num_pushes": 1, "mean_array": Opaque(GlobalRef("a", "B")), "std_array": np.ones(1)}],
    ],
)
def test_statistics_that_cannot_be_read_are_a_problem(stats, decoding):
    """Damaged statistics cost the filter, with a note where it lay; nothing is raised."""
    found = filter_from_params("MeanStd", {"running_stats": stats}, decoding, "there")

    assert found is None
    assert [problem.where for problem in decoding.problems] == ["there"]


def test_endless_statistics_end(decoding):
    """A list that holds itself is not walked forever."""
    loop = []
    loop += [loop, loop]

    assert filter_from_params("MeanStd", {"running_stats": loop}, decoding, "x") is None


def test_a_pickled_filter_of_a_worker_is_read(decoding):
    """Ray 2.0 kept filters with the rollout worker, as objects."""
    held = Opaque(GlobalRef("ray.rllib.utils.filter", "ConcurrentMeanStdFilter"))
    held.state = {"rs": running_stat(_n=3, _M=np.ones(2), _S=np.full(2, 8.0)), "clip": None}

    found = filter_from_object(held, decoding, "x")

    assert (found.kind, found.count, found.is_from_worker) == (
        "ConcurrentMeanStdFilter",
        (3,),
        True,
    )
    np.testing.assert_array_equal(found.std[0], [2.0, 2.0])


def test_no_filter_is_a_filter_without_statistics(decoding):
    """`NoFilter` is told as that; what is no filter is not."""
    none = filter_from_object(
        Opaque(GlobalRef("ray.rllib.utils.filter", "NoFilter")), decoding, "x"
    )

    assert (none.kind, none.count) == ("NoFilter", ())
    assert filter_from_object({"a": 1}, decoding, "x") is None
    assert filter_from_object(Opaque(GlobalRef("a", "B")), decoding, "x") is None


def test_filters_are_found_inside_nested_pipelines(decoding):
    """A pipeline inside a pipeline may hold the filter."""
    inner = ConnectorRecord(
        "InnerPipeline", children=(ConnectorRecord("MeanStd", {"running_stats": [STAT]}),)
    )
    outer = ConnectorRecord("Pipeline", children=(ConnectorRecord("A"), inner))

    assert [found.where for found in filters_of(outer, decoding, "file")] == ["file: MeanStd"]
    assert list(filters_of(None, decoding, "file")) == []
