"""The adapter as connectors of the old stack: one agent, many agents, saved and restored."""

import json

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.core.adapters import AdapterChain, Clip, DropFeatures, ExtendAction, StackFrames
from rlconnect.core.errors import PieceError, SpaceError
from rlconnect.legacy import (
    ActionConnectorDataType,
    AdaptActionsConnector,
    AdaptObservationsAgentConnector,
    AgentConnectorDataType,
    AgentConnectorPipeline,
    ConnectorContext,
    get_connector,
)

NEW = spaces.Box(-9, 9, (3,), np.float32)
OLD = spaces.Box(-9, 9, (2,), np.float32)
DROP = AdapterChain(obs=[DropFeatures([1])], reward=[Clip(-1, 1)], agents={"blue": "red"})


def context(space=OLD, action=None):
    return ConnectorContext(observation_space=space, action_space=action or spaces.Discrete(2))


def records(count, **extra):
    return [
        AgentConnectorDataType(
            n, "blue", {"new_obs": np.float32([n, 8, -n]), "rewards": 3.0 * n, **extra}
        )
        for n in range(count)
    ]


def test_one_record_is_adapted_and_its_input_left_alone():
    """Observation, reward and agent are what the policy knows; other columns pass."""
    connector = AdaptObservationsAgentConnector(context(), chain=DROP, observation_space=NEW)
    given = records(2, t=5)[1]

    (adapted,) = connector([given])

    assert adapted.agent_id == "red"
    assert adapted.data["new_obs"].tolist() == [1.0, -1.0]
    assert float(adapted.data["rewards"]) == 1.0
    assert adapted.data["t"] == 5
    assert given.data["new_obs"].tolist() == [1.0, 8.0, -1.0]
    assert given.agent_id == "blue"


@pytest.mark.parametrize("extra", [{}, {"obs": np.float32([1, 2, 3])}], ids=["plain", "obs"])
def test_many_records_go_as_they_would_alone(extra):
    """All agents at once give what each gives by itself, dtypes included."""
    connector = AdaptObservationsAgentConnector(context(), chain=DROP, observation_space=NEW)

    together = AgentConnectorPipeline(context(), [connector])(records(5, **extra))

    for one, given in zip(together, records(5, **extra), strict=True):
        alone = connector.transform(given)
        assert (one.env_id, one.agent_id) == (alone.env_id, alone.agent_id)
        assert one.data.keys() == alone.data.keys()
        for name in one.data:
            np.testing.assert_array_equal(one.data[name], alone.data[name])
            assert np.asarray(one.data[name]).dtype == np.asarray(alone.data[name]).dtype


def test_frames_are_kept_for_each_agent_until_its_environment_resets():
    """Each slot has a memory of its own; reset forgets that of one environment."""
    chain = AdapterChain(obs=[StackFrames(2)])
    space = spaces.Box(-9, 9, (6,), np.float32)
    connector = AdaptObservationsAgentConnector(context(space), chain=chain, observation_space=NEW)

    first = [each.data["new_obs"].tolist() for each in connector(records(2))]
    connector.reset(0)
    second = [each.data["new_obs"].tolist() for each in connector(records(2))]

    assert first == [[0, 8, 0, 0, 8, 0], [1, 8, -1, 1, 8, -1]]
    assert second == first
    moved = AgentConnectorDataType(1, "blue", {"new_obs": np.float32([5, 5, 5])})
    assert connector([moved])[0].data["new_obs"].tolist() == [1, 8, -1, 5, 5, 5]


def test_state_is_plain_and_restores():
    """Steps and spaces go through JSON; the restored connectors do the same."""
    observe = AdaptObservationsAgentConnector(context(), chain=DROP, observation_space=NEW)
    act = AdaptActionsConnector(context(), chain=AdapterChain(action=[ExtendAction([0])]))

    for connector in (observe, act):
        name, params = json.loads(json.dumps(connector.to_state()))
        again = get_connector(name, context(), params)

        assert again.to_state() == connector.to_state()


def test_actions_are_adapted_one_by_one_and_all_at_once():
    """A batch of actions gives the rows that single ones give."""
    connector = AdaptActionsConnector(context(), chain=AdapterChain(action=[ExtendAction([0])]))

    one = connector(ActionConnectorDataType("e", "a", {}, (np.int64(1), [], {}))).output[0]
    many = connector.transform_all((np.array([1, 0]), [], {}))[0]

    assert one.tolist() == [1, 0]
    assert many.tolist() == [[1, 0], [0, 0]]
    assert connector.action_space == spaces.MultiDiscrete([2, 1])


def test_an_adapter_that_leads_elsewhere_is_refused():
    """The mistake is told when the connector meets its policy, with both spaces."""
    with pytest.raises(SpaceError, match=r"\(2,\).*\(3,\)"):
        AdaptObservationsAgentConnector(context(), chain=AdapterChain(), observation_space=NEW)


def test_missing_facts_are_named():
    """No context, no action space, no dict: each is told by name."""
    with pytest.raises(PieceError, match="no context"):
        AdaptActionsConnector(chain=AdapterChain()).transform_all((1, [], {}))
    with pytest.raises(PieceError, match="action space"):
        AdaptActionsConnector(ConnectorContext(), chain=AdapterChain())
    connector = AdaptObservationsAgentConnector(context(), chain=DROP, observation_space=NEW)
    with pytest.raises(PieceError, match="dict of columns"):
        connector([AgentConnectorDataType("e", "a", 3)])
