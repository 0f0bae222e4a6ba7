"""Numpy's dense layers and activations equal torch's."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError
from rlconnect.core.nets.numpy_layers import (
    BLOCK_LIMIT,
    Stack,
    beside,
    dense,
    entrance,
    numpy_activation,
)

OF_TORCH = {
    "relu": "ReLU",
    "tanh": "Tanh",
    "swish": "SiLU",
    "silu": "SiLU",
    "elu": "ELU",
    "Sigmoid": "Sigmoid",
    "LeakyReLU": "LeakyReLU",
    "ReLU6": "ReLU6",
    "Hardtanh": "Hardtanh",
}


@pytest.mark.parametrize("name", OF_TORCH)
def test_activations_equal_torch(name):
    """From deep saturation to zero, without a warning."""
    x = np.concatenate([np.linspace(-200, 200, 801), [0.0, -0.0, 1e-6]]).astype(np.float32)
    want = getattr(torch.nn, OF_TORCH[name])()(torch.from_numpy(x.copy())).numpy()

    numpy_activation(name)(x)

    np.testing.assert_allclose(x, want, rtol=1e-6, atol=2e-7)


@pytest.mark.parametrize("name", [None, "linear", "Linear"])
def test_linear_is_no_step(name):
    """A linear layer has nothing to do after the product."""
    assert numpy_activation(name) is None


@pytest.mark.parametrize("name", ["GELU", "sigmoid", 3])
def test_unknown_activations(name):
    """What numpy lacks is an error that lists what it has."""
    with pytest.raises(ConfigError, match="LeakyReLU"):
        numpy_activation(name)


def stack(rng, sizes, act="tanh"):
    acts = [numpy_activation(act)] * (len(sizes) - 2) + [None]
    pairs = zip(sizes, sizes[1:], acts, strict=False)
    return Stack([dense(rng.normal(size=(o, i)), rng.normal(size=o), a) for i, o, a in pairs])


@given(
    widths=st.lists(st.integers(1, 20), min_size=0, max_size=3),
    others=st.lists(st.integers(1, 20), min_size=0, max_size=3),
)
def test_side_by_side_equals_one_by_one(widths, others):
    """Two stacks joined give both outputs; stacks of another depth are not joined."""
    rng = np.random.default_rng(0)
    first, second = stack(rng, [4, *widths, 3]), stack(rng, [4, *others, 1])
    x = rng.normal(size=(5, 4)).astype(np.float32)

    joint = beside(first, second)

    if len(widths) != len(others):
        assert joint is None
    else:
        both = joint(x)
        np.testing.assert_allclose(both[:, :3], first(x), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(both[:, 3:], second(x), rtol=1e-5, atol=1e-5)


def test_large_or_different_layers_stay_apart():
    """Joining ends where multiplying by zero costs more than a call, or activations differ."""
    rng = np.random.default_rng(0)
    wide = int(BLOCK_LIMIT**0.5)

    assert beside(stack(rng, [4, wide, wide, 1]), stack(rng, [4, wide, wide, 1])) is None
    assert beside(stack(rng, [4, 8, 1], "relu"), stack(rng, [4, 8, 1])) is None
    assert beside(Stack([]), Stack([])) is None


@pytest.mark.parametrize("rows", [1, 5])
def test_stacks_that_stay_apart_share_an_entrance(rows):
    """Their first layers run as one, whose halves are what each would have made alone."""
    rng = np.random.default_rng(0)
    first, second = stack(rng, [4, 8, 3]), stack(rng, [4, 6, 2, 1])
    x = rng.normal(size=(rows, 4)).astype(np.float32)

    both = entrance(first, second)(x)

    np.testing.assert_allclose(Stack(first.layers[1:])(both[:, :8]), first(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        Stack(second.layers[1:])(both[:, 8:]), second(x), rtol=1e-5, atol=1e-6
    )
    assert entrance(stack(rng, [4, 1]), second) is None
    assert entrance(stack(rng, [4, 8, 1], "relu"), second) is None


def test_an_empty_stack_gives_its_input():
    """Nothing happens where there are no layers."""
    x = np.ones((1, 2), np.float32)

    assert Stack([])(x) is x
