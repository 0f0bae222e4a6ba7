"""Action connectors one by one."""

import numpy as np
import pytest
import rlconnect.legacy as legacy
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.legacy.connectors.types import ActionConnectorDataType

SPACE = Dict({"a": Box(0, 10, (2,)), "b": Discrete(3), "c": Box(-np.inf, 1, (1,))})
CTX = ConnectorContext(action_space=SPACE)
CLASSES = [
    "ClipActionsConnector",
    "NormalizeActionsConnector",
    "ImmutableActionsConnector",
    "ConvertToNumpyConnector",
]


@pytest.fixture
def cls(name):
    return getattr(legacy, name)


def record(actions, states=(), fetches=None):
    return ActionConnectorDataType("e", "a", {"obs": 1}, (actions, list(states), fetches or {}))


def action():
    return {"a": np.float32([0.5, 3.0]), "b": np.int64(2), "c": np.float32([5.0])}


def test_actions_are_stretched_leaf_by_leaf():
    """Bounded boxes are stretched and clipped; unbounded ones and Discrete leaves stay."""
    made, _, _ = legacy.NormalizeActionsConnector(CTX)(record(action())).output

    assert made["a"].tolist() == [7.5, 10.0]
    assert made["b"] == 2
    assert made["c"].tolist() == [5.0]


def test_actions_are_clipped_leaf_by_leaf():
    """Every box is clipped, half-bounded ones too."""
    made, _, _ = legacy.ClipActionsConnector(CTX)(record(action())).output

    assert made["a"].tolist() == [0.5, 3.0]
    assert made["c"].tolist() == [1.0]


@pytest.mark.parametrize("name", CLASSES[:2])
def test_spaces_without_bounds_pass(cls):
    """Nothing to do for a Discrete space: the record itself goes on."""
    given = record(np.int64(1))

    assert cls(ConnectorContext(action_space=Discrete(2)))(given) is given


def test_everything_is_locked():
    """No array that leaves can be written into; what was given still can."""
    given = {"a": np.zeros(2), "b": (np.zeros(1), np.int64(1)), "c": [np.zeros(1)]}

    actions, states, fetches = legacy.ImmutableActionsConnector(CTX)(
        record(given, [np.zeros(1)], {"q": np.zeros(1)})
    ).output

    for leaf in (actions["a"], actions["b"][0], actions["c"][0], states[0], fetches["q"]):
        with pytest.raises(ValueError, match="read-only"):
            leaf[0] = 1
    assert given["a"].flags.writeable
    assert (type(actions), type(actions["b"]), actions["b"][1]) == (dict, tuple, 1)


def test_tensors_become_arrays():
    """Actions and states leave torch; fetches and plain numbers stay what they are."""
    torch = pytest.importorskip("torch")

    actions, states, fetches = legacy.ConvertToNumpyConnector(CTX)(
        record(
            {"a": torch.zeros(2), "b": (1, 2.5)},
            [torch.zeros(1, requires_grad=True)],
            {"q": torch.zeros(1)},
        )
    ).output

    assert isinstance(actions["a"], np.ndarray)
    assert actions["b"] == (1, 2.5)
    assert isinstance(states[0], np.ndarray)
    assert torch.is_tensor(fetches["q"])


@pytest.mark.parametrize("name", CLASSES)
def test_given_records_are_left_alone(cls):
    """No piece writes into the record or the arrays it is given."""
    given = record(action(), [np.zeros(1)], {"q": np.zeros(1)})
    before = {name: np.array(leaf) for name, leaf in given.output[0].items()}

    made = cls(CTX)(given)

    assert made.input_dict == {"obs": 1}
    for name, leaf in before.items():
        np.testing.assert_array_equal(given.output[0][name], leaf)


@pytest.mark.parametrize("name", CLASSES)
def test_pieces_come_back_from_their_name(cls):
    """Action connectors keep nothing but their name."""
    name, params = cls(CTX).to_state()

    assert (name, params) == (cls.__name__, None)
    assert type(cls.from_state(CTX, params)) is cls
