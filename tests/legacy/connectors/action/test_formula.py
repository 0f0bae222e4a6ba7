"""Connectors that are one formula on an answer, and what users make of them."""

import numpy as np
from gymnasium.spaces import Box
from rlconnect.legacy import (
    ActionConnectorDataType,
    ActionConnectorPipeline,
    ConnectorContext,
    ImmutableActionsConnector,
    NormalizeActionsConnector,
)
from rlconnect.legacy.connectors.action.formula import FormulaActionConnector
from rlconnect.legacy.connectors.rows import Rows

CTX = ConnectorContext(action_space=Box(0, 10, (1,)))


class Halved(NormalizeActionsConnector):
    """Overrides what is done to one record."""

    def transform(self, ac_data):
        actions, states, fetches = super().transform(ac_data).output
        return ac_data.with_output((actions / 2, states, fetches))


class Called(NormalizeActionsConnector):
    """Overrides the call."""

    def __call__(self, ac_data):
        actions, states, fetches = super().__call__(ac_data).output
        return ac_data.with_output((actions / 2, states, fetches))


class Shifted(NormalizeActionsConnector):
    """Overrides the formula."""

    def transform_all(self, output):
        actions, states, fetches = super().transform_all(output)
        return actions + 1, states, fetches


def answer(value):
    return ActionConnectorDataType("e", "a", {}, (np.float32([value]), [], {}))


def both_ways(connector, value):
    """What a pipeline gives for one answer, and for it as a batch."""
    pipeline = ActionConnectorPipeline(CTX, [connector, ImmutableActionsConnector(CTX)])
    one = pipeline(answer(value)).output[0]
    rows = Rows.asked([("e", "a")], [{}])
    (many,) = pipeline.transform_answers(rows, (np.float32([[value]]), [], {}))
    return one.tolist(), many[0].tolist()


def test_overriding_any_of_the_three_ways_takes_effect():
    """A subclass's own transform, call or formula counts, with one agent and with many."""
    assert both_ways(NormalizeActionsConnector(CTX), 0.2) == ([6.0], [6.0])
    assert both_ways(Halved(CTX), 0.2) == ([3.0], [3.0])
    assert both_ways(Called(CTX), 0.2) == ([3.0], [3.0])
    assert both_ways(Shifted(CTX), 0.2) == ([7.0], [7.0])
    assert [each.works_on_all for each in (Halved, Called, Shifted)] == [False, False, True]


def test_an_unchanged_answer_stays_the_same_record():
    """A formula that hands its output back makes no new record."""

    class Nothing(FormulaActionConnector):
        def transform_all(self, output):
            return output

    given = answer(0.5)

    assert Nothing()(given) is given
    assert ActionConnectorPipeline(CTX, [Nothing(CTX)])(given) is given
