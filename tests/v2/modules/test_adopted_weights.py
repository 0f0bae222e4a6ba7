"""Modules that are loaded use the arrays that were read: nothing is drawn, made or copied first."""

import numpy as np
import pytest
import torch
from rlconnect import open_checkpoint
from rlconnect.v2 import RLModule
from rlconnect.v2.modules.torch_rl_module import adopt, built_bare, tensor_over
from torch import nn

from .test_misfits import KINDS, saved


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_module_has_the_saved_weights_and_drew_nothing(tmp_path, kind):
    """Every family comes back whole, and torch's random numbers go on as if nothing was loaded."""
    path = saved(tmp_path / "m", kind)
    expected = RLModule.from_checkpoint(open_checkpoint(path)).get_state()
    before = torch.get_rng_state()

    module = RLModule.from_checkpoint(path)

    assert torch.equal(torch.get_rng_state(), before)
    assert not any(part.is_meta for part in module.state_dict().values())
    assert all(part.requires_grad for part in module.parameters())
    found = module.get_state()
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_training_a_module_leaves_the_checkpoint_it_came_from(tmp_path):
    """Weights that somebody looks at in an opened checkpoint are not the module's own."""
    checkpoint = open_checkpoint(saved(tmp_path / "m", "ppo"))
    weights = next(iter(checkpoint.modules.values())).weights
    before = {name: weights[name].copy() for name in weights}

    module = RLModule.from_checkpoint(checkpoint)
    with torch.no_grad():
        for part in module.parameters():
            part.add_(1.0)

    assert all(np.array_equal(weights[name], before[name]) for name in weights)


def test_one_array_under_two_names_becomes_two_weights():
    """A file may name an array twice; weights of a network never share memory for that."""
    bias = np.ones(4, np.float32)
    weights = {"weight_ih": np.ones((4, 2), np.float32), "weight_hh": np.ones((4, 1), np.float32)}
    layer = built_bare(lambda: nn.LSTMCell(2, 1))

    assert adopt(layer, {**weights, "bias_ih": bias, "bias_hh": bias[:]})
    with torch.no_grad():
        layer.bias_ih.add_(1.0)

    assert layer.bias_hh.tolist() == [1.0, 1.0, 1.0, 1.0]


class Tied(nn.Module):
    """Two names for one weight."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = self.first


class WithConstant(nn.Linear):
    """A tensor that is no weight."""

    def __init__(self):
        super().__init__(2, 2)
        self.scale = torch.ones(2)


class Unsaved(nn.Linear):
    """A buffer that is not saved."""

    def __init__(self):
        super().__init__(2, 2)
        self.register_buffer("scale", torch.ones(2), persistent=False)


@pytest.mark.parametrize("kind", [Tied, WithConstant, Unsaved])
def test_what_is_more_than_its_weights_is_not_adopted(kind):
    """Such modules are built with memory, where their other tensors are what they should be."""
    weights = {name: part.numpy() for name, part in kind().state_dict().items()}

    assert not adopt(built_bare(kind), weights)


def test_a_weight_that_is_missing_is_not_adopted():
    """Nothing stays without memory."""
    assert not adopt(built_bare(lambda: nn.Linear(2, 2)), {"weight": np.ones((2, 2))})


def test_adopted_weights_are_the_arrays_in_the_kind_of_number_of_the_layer():
    """What fits is used where it lies; another kind of number is converted."""
    weights = {"weight": np.ones((2, 3), np.float32), "bias": np.ones(2, np.float64)}
    layer = built_bare(lambda: nn.Linear(3, 2))

    assert adopt(layer, weights)

    assert layer.weight.data_ptr() == weights["weight"].ctypes.data
    assert layer.bias.dtype == torch.float32
    assert layer(torch.ones(3)).tolist() == [4.0, 4.0]


def test_arrays_that_may_not_be_written_are_copied():
    """Training writes to weights; an array of bytes, of a file, or another's stays as it is."""
    array = np.frombuffer(bytes(8), np.float32)

    tensor = tensor_over(array)
    tensor += 1.0

    assert array.tolist() == [0.0, 0.0]
