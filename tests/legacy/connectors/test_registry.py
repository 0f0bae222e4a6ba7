"""The durable names of connectors."""

import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import DuplicateNameError
from rlconnect.legacy.connectors import registry
from rlconnect.legacy.connectors.connector import AgentConnector
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.legacy.connectors.pipeline import AgentConnectorPipeline


@pytest.fixture(autouse=True)
def _fresh_names(monkeypatch):
    monkeypatch.setattr(registry, "_ADDED", {})


CTX = ConnectorContext({}, [], Box(-1, 1, (2,)), Discrete(2), {})


class Kept(AgentConnector):
    def __init__(self, ctx, params=None):
        super().__init__(ctx)
        self.params = params

    @staticmethod
    def from_state(ctx, params):
        return Kept(ctx, params)


class Other(AgentConnector):
    pass


@pytest.mark.parametrize("name", sorted(registry.BUILT_INS))
def test_every_built_in_is_built_by_name(name):
    """Each name of the table leads to a class of that name that builds from its own state."""
    params = {"sign": True} if name == "ClipRewardAgentConnector" else None
    params = [] if name.endswith("Pipeline") else params

    connector = registry.get_connector(name, CTX, params)

    assert type(connector).__name__ in (name, name.replace("Concurrent", ""))


def test_both_orders_of_arguments_work():
    """Ray 2.0 to 2.2 put the context first."""
    registry.register_connector("Kept", Kept)

    new = registry.get_connector("Kept", CTX, [1])
    old = registry.get_connector(CTX, "Kept", [1])

    assert (new.params, old.params) == ([1], [1])


def test_unknown_names_suggest_the_nearest():
    """The error is a NameError, as in Ray, and a LookupError; it tells of one's own, too."""
    with pytest.raises(NameError, match="did you mean 'ClipActionsConnector'") as caught:
        registry.get_connector("ClipActionConnector", CTX)

    assert isinstance(caught.value, LookupError)
    assert "register_lambda_agent_connector" in str(caught.value)


def test_one_name_stands_for_one_class():
    """The same class again is harmless, another one is refused, a built-in's name too."""
    registry.register_connector("Kept", Kept)
    registry.register_connector("Kept", Kept)

    with pytest.raises(DuplicateNameError, match="taken"):
        registry.register_connector("Kept", Other)
    with pytest.raises(DuplicateNameError):
        registry.register_connector("AgentConnectorPipeline", Other)
    assert registry.registered_class("AgentConnectorPipeline") is AgentConnectorPipeline


@pytest.mark.parametrize("thing", [int, "Kept", object()])
def test_only_connector_classes_register(thing):
    """Anything else is a TypeError, as in Ray."""
    with pytest.raises(TypeError, match="cannot be registered"):
        registry.register_connector("Thing", thing)
