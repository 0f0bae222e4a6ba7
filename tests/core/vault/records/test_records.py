"""Records are frozen, and derive what can be derived from what was read."""

import dataclasses

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.vault import (
    Checkpoint,
    ConnectorRecord,
    FilterRecord,
    PolicyRecord,
    Problem,
    WeightTable,
)
from rlconnect.core.vault.decode.standins import GlobalRef

from tests.core.vault.recorded import RECORDINGS, WORKER, open_once

WEIGHTS = WeightTable({"encoder.net.weight": np.zeros((2, 2))})


def test_records_cannot_be_changed():
    """What a file said stays what it said."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        open_once(RECORDINGS / WORKER).algorithm = "PPO"


def test_a_filters_deviation_is_rays():
    """The deviation is sqrt(S / (n - 1)); before two observations it is the mean's magnitude."""
    mean, sums = np.array([-3.0, 2.0]), np.array([8.0, 2.0])

    several = FilterRecord("MeanStdFilter", (3,), (mean,), (sums,))
    single = FilterRecord("MeanStdFilter", (1,), (mean,), (np.zeros(2),))

    np.testing.assert_array_equal(several.std[0], [2.0, 1.0])
    np.testing.assert_array_equal(single.std[0], [3.0, 2.0])


def test_the_environments_space_is_the_one_before_preprocessing():
    """A preprocessed space remembers the original; without one it is its own."""
    flat = Box(0, 1, (4,))
    assert PolicyRecord("a", observation_space=flat).environment_space is flat

    flat.original_space = Discrete(4)
    assert PolicyRecord("a", observation_space=flat).environment_space == Discrete(4)
    assert PolicyRecord("a").environment_space is None


def test_a_custom_model_is_named():
    """By registered name or by class; RLlib's own models have none."""
    named = PolicyRecord("a", config={"model": {"custom_model": "my_net"}})
    classed = PolicyRecord("a", config={"model": {"custom_model": GlobalRef("shop.nets", "Net")}})

    assert (named.custom_model, classed.custom_model) == ("my_net", "shop.nets.Net")
    assert PolicyRecord("a", config={"model": None}).custom_model == ""
    assert PolicyRecord("a", config={"model": [1]}).model_config == {}


def test_module_weights_are_known_by_their_names():
    """An RLModule's weights start at its encoder."""
    assert PolicyRecord("a", weights=WEIGHTS).holds_module_weights
    assert not PolicyRecord("a").holds_module_weights


def test_a_pipeline_is_known_by_its_name_or_its_pieces():
    """An empty pipeline is still a pipeline."""
    assert ConnectorRecord("AgentConnectorPipeline").is_pipeline
    assert ConnectorRecord("Own", children=(ConnectorRecord("A"),)).is_pipeline
    assert not ConnectorRecord("A").is_pipeline


def test_what_acts_is_policies_or_modules():
    """`acting` is whichever the checkpoint holds; weights may be anywhere in it."""
    whole = Checkpoint(
        "p", "policy", "old", "1.0", policies={"a": PolicyRecord("a", weights=WEIGHTS)}
    )
    lost = Checkpoint("p", "policy", "old", "1.0", policies={"a": PolicyRecord("a")})

    assert list(whole.acting) == ["a"]
    assert (whole.has_weights, lost.has_weights) == (True, False)


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("a/b.pkl", "is cut"), "a/b.pkl: is cut"),
        (Problem("a/b.json", "b.json is not valid"), "b.json is not valid"),
        (Problem("", "is odd"), "is odd"),
    ],
)
def test_a_problem_is_told_in_one_line(problem, text):
    """A problem names its place once."""
    assert str(problem) == text
