"""Plain functions as connectors; the examples of the connectors document."""

import numpy as np
import pytest
from rlconnect.core.errors import DuplicateNameError, PieceError
from rlconnect.legacy.batches.sample_batch import SampleBatch
from rlconnect.legacy.connectors import registry
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.legacy.connectors.lambdas import (
    register_lambda_action_connector,
    register_lambda_agent_connector,
)
from rlconnect.legacy.connectors.types import ActionConnectorDataType, AgentConnectorDataType

CTX = ConnectorContext()


@pytest.fixture(autouse=True)
def _fresh_names(monkeypatch):
    monkeypatch.setattr(registry, "_ADDED", {})


def test_the_document_filters_infos():
    """`del d.data[...]` works on what the function gets, and the caller's record is unchanged."""

    def filter(d):
        del d.data[SampleBatch.INFOS]
        return d

    cls = register_lambda_agent_connector("FilterInfosColumnAgentConnector", filter)
    record = AgentConnectorDataType("e", "a", {"new_obs": 1, "infos": {}})

    made = cls(CTX)([record])[0]

    assert made.data == {"new_obs": 1}
    assert type(made.data) is dict
    assert record.data == {"new_obs": 1, "infos": {}}
    assert str(cls(CTX)) == "FilterInfosColumnAgentConnector"


def test_the_document_cuts_observations():
    """The function may write into what it gets and return it."""

    def v2_to_v1_obs(data):
        data[SampleBatch.NEXT_OBS] = data[SampleBatch.NEXT_OBS][:-2]
        return data

    cls = register_lambda_agent_connector("V2ToV1ObsAgentConnector", v2_to_v1_obs)

    made = cls(CTX)([AgentConnectorDataType("e", "a", {"new_obs": np.arange(6)})])[0]

    assert made.data["new_obs"].tolist() == [0, 1, 2, 3]


def test_the_document_scales_actions():
    """An action function gets the three parts and returns them."""
    cls = register_lambda_action_connector("ScaleActionConnector", lambda a, s, f: (2 * a, s, f))

    made = cls(CTX)(ActionConnectorDataType("e", "a", {"obs": 1}, (np.array([2.0]), [1], {"x": 2})))

    assert made.output == (4.0, [1], {"x": 2})
    assert made.input_dict == {"obs": 1}


def test_lambdas_are_saved_by_name():
    """A saved lambda is its name; the class registered last under it is built."""
    first = register_lambda_agent_connector("Shout", lambda data: {**data, "v": 1})
    assert first(CTX).to_state() == ("Shout", None)

    register_lambda_agent_connector("Shout", lambda data: {**data, "v": 2})
    again = registry.get_connector("Shout", CTX, None)

    assert again([AgentConnectorDataType("e", "a", {})])[0].data == {"v": 2}


def test_names_of_other_connectors_are_taken():
    """A function replaces neither a built-in nor a connector of the other side."""
    register_lambda_agent_connector("Mine", lambda data: data)

    with pytest.raises(DuplicateNameError):
        register_lambda_agent_connector("AgentConnectorPipeline", lambda data: data)
    with pytest.raises(DuplicateNameError):
        register_lambda_action_connector("Mine", lambda a, s, f: (a, s, f))


@pytest.mark.parametrize("fn", [lambda a, s, f: a, lambda a, s, f: [a, s, f]])
def test_an_action_function_must_return_the_triple(fn):
    """Anything else is refused by the connector's name."""
    cls = register_lambda_action_connector("Bad", fn)

    with pytest.raises(PieceError, match="Bad returned something unusable"):
        cls(CTX)(ActionConnectorDataType("e", "a", {}, (1, [], {})))


def test_an_agent_function_must_return_something():
    """A forgotten return is told, not passed on."""
    cls = register_lambda_agent_connector("Silent", lambda data: None)

    with pytest.raises(PieceError, match="return data"):
        cls(CTX)([AgentConnectorDataType("e", "a", {})])
