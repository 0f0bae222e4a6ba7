"""Whose rows they are: as a list of them, whichever way a train batch was made."""

import numpy as np
import pytest
from rlconnect.v2 import (
    AddObservationsFromEpisodesToBatch,
    BatchIndividualItems,
    ConnectorV2,
    LearnerConnectorPipeline,
    SingleAgentEpisode,
)
from rlconnect.v2.connectors.learner.train_columns import RowIds


def test_row_ids_are_read_like_a_list():
    """Length, places from both ends, slices and equality are those of the list they stand for."""
    ids, listed = RowIds(["x", "y", "z"], [2, 0, 3]), ["x", "x", "z", "z", "z"]

    read = [ids[place] for place in range(-5, 5)]

    assert (ids, len(ids), ids[1:4]) == (listed, 5, listed[1:4])
    assert read == listed * 2
    with pytest.raises(IndexError):
        ids[5]


@pytest.mark.parametrize("is_planned", [True, False])
def test_a_train_batch_tells_whose_every_row_is(is_planned):
    """As recorded from Ray 2.60: an id a row, for the pieces behind and in what is left."""
    seen = []

    class Look(ConnectorV2):
        def __call__(self, *, batch, shared_data, **kwargs):
            seen.extend(shared_data["memorized_map_structure"])
            return batch

    episodes = [
        SingleAgentEpisode(
            id_=name,
            observations=np.zeros((steps + 1, 2), np.float32),
            actions=np.zeros(steps, int),
            rewards=np.zeros(steps),
            terminated=True,
            len_lookback_buffer=0,
        ).to_numpy()
        for name, steps in (("e0", 3), ("e1", 2))
    ]
    pieces = [AddObservationsFromEpisodesToBatch(as_learner_connector=True), BatchIndividualItems()]
    shared = {}
    given = {"rl_module": None, "episodes": episodes, "explore": False, "shared_data": shared}

    if is_planned:
        LearnerConnectorPipeline(connectors=[*pieces, Look()])(batch={}, **given)
    else:
        batch = {}
        for piece in (*pieces, Look()):
            batch = piece(batch=batch, **given)

    assert seen == ["e0_0", "e0_0", "e0_0", "e1_1", "e1_1"]
    assert shared["memorized_map_structure"] == seen
    assert type(shared["memorized_map_structure"]) is list
