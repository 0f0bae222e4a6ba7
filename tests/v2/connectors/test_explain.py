"""A pipeline tells which of its pieces run together, which alone, and why."""

import numpy as np
import pytest
from rlconnect.v2 import (
    ConnectorV2,
    EnvToModulePipeline,
    MeanStdFilter,
    ModuleToEnvPipeline,
    NumpyToTensor,
)

from .planning import scenes
from .planning.test_planned_is_one_by_one import after_module, before_module


class Mine(ConnectorV2):
    """A user's piece."""

    def __call__(self, *, batch, **kwargs):
        return batch


def test_runs_and_pieces_alone():
    """Built-in pieces around the one that makes arrays run together; others say why not."""
    pieces = before_module(False)
    pipeline = EnvToModulePipeline(connectors=[MeanStdFilter(), pieces[0], Mine(), *pieces[1:]])

    lines = pipeline.explain().splitlines()

    assert lines[0] == "EnvToModulePipeline"
    assert [line.strip() for line in lines[1:4]] == [
        "MeanStdFilter: alone: it works by itself",
        "AddObservationsFromEpisodesToBatch: alone: no piece beside it makes arrays of items or "
        "items of arrays",
        "Mine: alone: a piece of your own is given dicts and lists",
    ]
    assert lines[4].endswith("BatchIndividualItems, NumpyToTensor: together")


def test_a_batch_that_makes_no_rows_is_told():
    """After a call that went one by one, the run says what stood in its way."""
    pipeline = EnvToModulePipeline(connectors=[*before_module(False)[:-1], NumpyToTensor()])
    episode = scenes.single(0, 1)
    call = {"rl_module": scenes.module(), "shared_data": {}}
    pipeline(episodes=[episode], **call)
    assert "one by one" not in pipeline.explain()

    made = pipeline(episodes=[episode, episode], **call)

    assert len(made["obs"]) == 2
    assert "once one by one: episodes are of several kinds, there twice" in pipeline.explain()


@pytest.mark.parametrize("is_multi", [False, True])
def test_the_default_way_back_runs_as_one(is_multi):
    """All default pieces are one step."""
    pipeline = ModuleToEnvPipeline(connectors=after_module(is_multi))

    assert pipeline.explain().count("\n") == 1
    assert np.all(["together" in line for line in pipeline.explain().splitlines()[1:]])
