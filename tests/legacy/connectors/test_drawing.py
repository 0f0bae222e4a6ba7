"""Drawings of pipelines: which connectors, how they run, and what leaves each."""

import numpy as np
from gymnasium.spaces import Box, Discrete
from rlconnect.core.step.part import NOTHING
from rlconnect.legacy.connectors.action.immutable import ImmutableActionsConnector
from rlconnect.legacy.connectors.agent.columns import ColumnsAgentConnector
from rlconnect.legacy.connectors.agent.mean_std_filter import (
    MeanStdObservationFilterAgentConnector,
)
from rlconnect.legacy.connectors.agent.obs_preproc import ObsPreprocessorConnector
from rlconnect.legacy.connectors.connector import AgentConnector
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.legacy.connectors.pipeline import ActionConnectorPipeline, AgentConnectorPipeline


class Passing(ColumnsAgentConnector):
    """A connector that works on columns, and changes none."""

    def transform_all(self, rows):
        pass

    def transform_columns(self, env_id, agent_id, columns):
        return columns

    def part(self):
        return NOTHING


def one_hot_context():
    """Of a policy that takes one of three, as a row of three numbers."""
    space = Box(0.0, 1.0, (3,))
    space.original_space = Discrete(3)
    return ConnectorContext(observation_space=space, action_space=Discrete(4))


def test_shapes_are_those_that_an_observation_has_on_its_way():
    """A number before the preprocessor, a row of three behind it."""
    pipeline = AgentConnectorPipeline(one_hot_context(), [Passing(), ObsPreprocessorConnector()])

    figure = pipeline.draw()

    assert [name for name, _ in figure.boxes] == ["Passing", "ObsPreprocessor"]
    assert [detail for _, detail in figure.boxes] == ["planned; all agents at once"] * 2
    assert figure.between == ["int64", "(3,) float32"]
    assert "int64" in figure.page()


def test_an_action_is_drawn_too():
    """What the environment gets."""
    pipeline = ActionConnectorPipeline(one_hot_context(), [ImmutableActionsConnector()])

    assert pipeline.draw().between == ["int64"]
    assert "Immutable" in pipeline._repr_html_()


def test_what_is_too_large_for_a_filter_is_drawn(rng):
    """A made-up value may be as large as numbers go: no warning, and its shape is told."""
    space = Box(-3e38, 3e38, (4,))
    ctx = ConnectorContext({}, observation_space=space, action_space=Discrete(2))
    filtered = MeanStdObservationFilterAgentConnector(ctx, clip=None)
    pipeline = AgentConnectorPipeline(ctx, [ObsPreprocessorConnector(), filtered])
    for seen in rng.normal(0, 0.01, (5, 4)).astype(np.float32):
        filtered.filter(seen)

    assert pipeline.draw().between == ["(4,) float32", "(4,) float32"]


class Raises(AgentConnector):
    """Does not take what was made up for a drawing."""

    def transform(self, data):
        raise RuntimeError("no such sensor")


def test_connectors_of_ones_own_may_refuse_what_was_made_up():
    """The drawing has no shapes from there on, and the pipeline is as it was."""
    pipeline = AgentConnectorPipeline(one_hot_context(), [Passing(), Raises(), Passing()])
    pipeline.in_training()

    figure = pipeline.draw()

    assert figure.between == ["int64", ""]
    assert [name for name, _ in figure.boxes] == ["Passing", "Raises", "Passing"]
    assert figure.boxes[1][1].startswith("not planned")
    assert pipeline.connectors[0]._is_training
    assert repr(pipeline).startswith("<AgentConnectorPipeline: Passing, Raises")
