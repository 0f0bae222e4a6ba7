"""What a user's own model may count on from its base."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from rlconnect.core.errors import PieceError, SpaceError
from rlconnect.legacy.models.base import LegacyModel, TorchModelV2

TWO = Discrete(2)


class ModuleFirst(TorchModelV2, torch.nn.Module):
    """Initializes torch's base first."""

    def __init__(self, *positional):
        torch.nn.Module.__init__(self)
        TorchModelV2.__init__(self, *positional)
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, input_dict, state, seq_lens):
        self.seen = input_dict
        return self.layer(input_dict["obs_flat"].float()), state


class ModelFirst(ModuleFirst):
    """Initializes the model interface first."""

    def __init__(self, *positional):
        TorchModelV2.__init__(self, *positional)
        torch.nn.Module.__init__(self)
        self.layer = torch.nn.Linear(4, 2)


@pytest.mark.parametrize("model_class", [ModuleFirst, ModelFirst])
def test_both_orders_of_initializers(model_class):
    """The documents of Ray call the two initializers in either order."""
    model = model_class(Box(-1, 1, (4,)), TWO, 2, {}, "mine")

    outputs, state = model({"obs": torch.ones(3, 4)})

    assert outputs.shape == (3, 2)
    assert state == []
    assert model.name == "mine"
    assert model.last_output() is outputs
    assert not model.is_recurrent
    assert set(model.trainable_variables(as_dict=True)) == {"layer.weight", "layer.bias"}
    assert len(model.variables()) == 2


def nested_space():
    space = Box(-1, 1, (4,))
    space.original_space = Dict({"b": Box(-1, 1, (1,)), "a": Tuple((Discrete(2), Box(-1, 1, ())))})
    return space


def test_observations_are_restored():
    """forward() finds the nest under `obs` and the vector under `obs_flat`."""
    model = ModuleFirst(nested_space(), TWO, 2, {}, "")
    flat = torch.arange(8.0).reshape(2, 4)
    columns = {"obs": flat}

    model(columns)

    one_hot, scalar = model.seen["obs"]["a"]
    assert one_hot.tolist() == [[0.0, 1.0], [4.0, 5.0]]
    assert scalar.tolist() == [2.0, 6.0]
    assert model.seen["obs"]["b"].tolist() == [[3.0], [7.0]]
    assert model.seen["obs_flat"] is flat
    assert columns == {"obs": flat}


def test_observations_without_preprocessor_are_left_alone():
    """With the preprocessor API off, `obs` and `obs_flat` are what the policy got."""
    model = ModuleFirst(nested_space(), TWO, 2, {"_disable_preprocessor_api": True}, "")
    flat = torch.ones(2, 4)

    model({"obs": flat})

    assert model.seen["obs"] is flat
    assert model.seen["obs_flat"] is flat


def test_images_are_flattened_beside():
    """`obs_flat` of an image has one row per image."""
    model = ModuleFirst(Box(-1, 1, (2, 2, 1)), TWO, 2, {}, "")

    model({"obs": torch.ones(3, 2, 2, 1)})

    assert model.seen["obs"].shape == (3, 2, 2, 1)
    assert model.seen["obs_flat"].shape == (3, 4)


def test_observations_of_another_width():
    """A vector that cannot be the flattened nest is named as such."""
    model = ModuleFirst(nested_space(), TWO, 2, {}, "")

    with pytest.raises(SpaceError, match=r"\(\.\.\., 4\)"):
        model({"obs": torch.ones(3, 5)})


@pytest.mark.parametrize(
    ("result", "match"), [(torch.ones(1), "wrong thing"), ((torch.ones(1), ()), "wrong state")]
)
def test_forward_must_give_outputs_and_a_list(result, match):
    """A model that forgets its state is told so by name."""
    model = ModuleFirst(Box(-1, 1, (4,)), TWO, 2, {}, "")
    model.forward = lambda *_: result

    with pytest.raises(PieceError, match=match):
        model({"obs": torch.ones(1, 4)})


def test_state_is_kept_when_forward_gives_none():
    """A stateless forward hands the caller's state on, as Ray does."""
    model = ModuleFirst(Box(-1, 1, (4,)), TWO, 2, {}, "")
    model.forward = lambda *_: (torch.ones(1), [])
    state = [torch.ones(1)]

    assert model({"obs": torch.ones(1, 4)}, state)[1] is state


def test_unwritten_methods_name_the_class():
    """A base method that must be written says in which class it is missing."""
    model = LegacyModel(Box(-1, 1, (4,)), TWO, 2, {})

    with pytest.raises(NotImplementedError, match="LegacyModel"):
        model({"obs": torch.ones(1, 4)})
    with pytest.raises(NotImplementedError, match="value_function"):
        model.value_function()


def test_column_stores_are_copied_shallowly():
    """A column store other than a dict is asked for a shallow copy, so that its class stays."""

    class Store(dict):
        def copy(self, shallow=False):
            assert shallow
            return Store(self)

    model = ModuleFirst(Box(-1, 1, (4,)), TWO, 2, {}, "")
    store = Store(obs=torch.ones(1, 4))

    model(store)

    assert type(model.seen) is Store
    assert "obs_flat" not in store


def test_views_are_plain_data():
    """A fresh model looks at the present observation only, in words a ViewRequirement takes."""
    space = Box(-1, 1, (4,), np.float32)

    assert LegacyModel(space, TWO, 2, {}).view_requirements == {"obs": {"shift": 0, "space": space}}
