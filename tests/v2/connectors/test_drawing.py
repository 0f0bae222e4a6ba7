"""Drawings of pipelines of the new stack."""

from gymnasium.spaces import Box, Discrete
from rlconnect.v2 import (
    AddObservationsFromEpisodesToBatch,
    BatchIndividualItems,
    EnvToModulePipeline,
    FlattenObservations,
)


def test_spaces_change_behind_the_piece_that_changes_them():
    """An image is a row behind FlattenObservations; pieces that run as one say so."""
    pipeline = EnvToModulePipeline(
        input_observation_space=Box(-1.0, 1.0, (2, 3)),
        input_action_space=Discrete(2),
        connectors=[
            FlattenObservations(),
            AddObservationsFromEpisodesToBatch(),
            BatchIndividualItems(),
        ],
    )

    figure = pipeline.draw()

    assert figure.between[0] == "Box(6,) float32"
    assert ("AddObservationsFromEpisodesToBatch", "together") in figure.boxes
    assert "BatchIndividualItems" in pipeline._repr_html_()
    assert figure.page().startswith("<!doctype html>")
