"""The base classes and the context they are built from."""

from types import SimpleNamespace

import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import PieceError
from rlconnect.legacy.connectors.connector import ActionConnector, AgentConnector
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.legacy.connectors.types import ActionConnectorDataType, AgentConnectorDataType


def test_a_context_reads_a_policy():
    """Every fact comes from the policy; the raw space is the one before preprocessing."""
    space = Box(-1, 1, (3,))
    space.original_space = Discrete(3)
    policy = SimpleNamespace(
        config={"explore": False},
        get_initial_state=lambda: [1],
        observation_space=space,
        action_space=Discrete(2),
        view_requirements={"obs": 1},
        is_recurrent=lambda: True,
    )

    ctx = ConnectorContext.from_policy(policy)

    assert (ctx.config, ctx.initial_states, ctx.is_policy_recurrent) == (
        {"explore": False},
        [1],
        True,
    )
    assert ctx.raw_observation_space == Discrete(3)
    assert ctx.setting("explore", True) is False


def test_none_becomes_empty():
    """A context of nothing has an empty config and no states; views stay unknown."""
    ctx = ConnectorContext(None, None)

    assert (ctx.config, ctx.initial_states, ctx.view_requirements) == ({}, [], None)


@pytest.mark.parametrize(
    ("connector", "argument"),
    [
        (AgentConnector(), [AgentConnectorDataType("e", "a", {})]),
        (ActionConnector(), ActionConnectorDataType("e", "a", {}, (1, [], {}))),
    ],
)
def test_bare_connectors_say_what_to_override(connector, argument):
    """A class without transform, or without to_state, says which method it lacks."""
    with pytest.raises(PieceError, match="override transform"):
        connector(argument)
    with pytest.raises(PieceError, match="to_state"):
        connector.to_state()
    with pytest.raises(PieceError, match="from_state"):
        connector.from_state(ConnectorContext(), None)
    with pytest.raises(PieceError, match="no context"):
        _ = connector.ctx
