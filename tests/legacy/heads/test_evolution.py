"""ES and ARS keep their weights in one vector, in sorted order of the names."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import WeightsError
from rlconnect.legacy.heads.registry import build_head

SPACES = Box(-1, 1, (3,)), Discrete(2)
CONFIG = {"model": {"fcnet_hiddens": [4]}}


@pytest.mark.parametrize("algorithm", ["ES", "ARS"])
def test_a_flat_vector_is_cut_into_weights(algorithm):
    """Sorted by name, one after another, every number has its place."""
    named = build_head(algorithm, *SPACES, CONFIG).model.state_dict()
    vector = np.arange(sum(value.numel() for value in named.values()), dtype=np.float32)

    head = build_head(algorithm, *SPACES, CONFIG, weights=vector)

    loaded = head.model.state_dict()
    again = np.concatenate([loaded[name].numpy().ravel() for name in sorted(loaded)])
    np.testing.assert_array_equal(again, vector)


def test_named_weights_work_as_well():
    """A dict of weights loads as in every other algorithm."""
    fresh = build_head("ES", *SPACES, CONFIG).model.state_dict()

    head = build_head("ES", *SPACES, CONFIG, weights=fresh)

    np.testing.assert_array_equal(
        head.model.state_dict()["_logits._model.0.weight"], fresh["_logits._model.0.weight"]
    )


def test_a_vector_of_another_length_is_refused():
    """Too few numbers are an error that says how many were expected."""
    with pytest.raises(WeightsError, match="expected 31 numbers"):
        build_head("ES", *SPACES, CONFIG, weights=np.zeros(30, np.float32))
