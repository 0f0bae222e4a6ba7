"""Numpy's dense layers and activations equal torch's."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError, SpaceError
from rlconnect.core.nets.numpy_layers import (
    BLOCK,
    BLOCK_LIMIT,
    NARROW,
    ColumnStack,
    Dense,
    Stack,
    beside,
    dense,
    entrance,
    numpy_activation,
    quickest,
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


ACTS = ["tanh", "relu", "swish", "elu", "linear", "LeakyReLU", "Hardtanh"]


def layers(widths, acts, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Dense(
            (rng.normal(size=(a, b)) / np.sqrt(a)).astype(np.float32),
            rng.normal(size=b).astype(np.float32),
            numpy_activation(act),
        )
        for a, b, act in zip(widths, widths[1:], acts, strict=False)
    ]


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=5),
    st.lists(st.sampled_from(ACTS), min_size=4, max_size=4),
    st.lists(st.sampled_from([0, 1, 2, 7, BLOCK, BLOCK + 1]), min_size=1, max_size=3),
)
def test_columns_equal_rows(widths, acts, sizes):
    """Up to rounding, for any number of rows in turn; what is given stays as it was."""
    made = layers(widths, acts)
    by_rows, by_columns = Stack(made), ColumnStack(made)

    for rows in sizes:
        x = np.random.default_rng(rows).normal(size=(rows, widths[0])).astype(np.float32)
        kept = x.copy()
        found = by_columns(x)
        assert found.dtype == np.float32
        assert found.shape == by_rows(x).shape
        np.testing.assert_allclose(found, by_rows(x), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(x, kept)


def test_answers_belong_to_who_asked():
    """A later call changes no earlier answer."""
    stack = ColumnStack(layers([3, 5, 2], ACTS))
    first = stack(np.ones((4, 3), np.float32))
    kept = first.copy()

    stack(np.zeros((4, 3), np.float32))

    np.testing.assert_array_equal(first, kept)


def test_threads_share_a_stack():
    """Each thread computes in places of its own."""
    stack = ColumnStack(layers([8, 64, 64, 4], ["tanh", "tanh", "linear"]))
    batches = [np.full((64, 8), number / 50, np.float32) for number in range(50)]
    wanted = [stack(batch) for batch in batches]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(stack, batches * 4))

    for own, want in zip(found, wanted * 4, strict=True):
        np.testing.assert_array_equal(own, want)


def test_a_stack_travels():
    """Layers are all there is to pickle."""
    stack = ColumnStack(layers([3, 5, 2], ["tanh", "linear"]))
    x = np.ones((2, 3), np.float32)

    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stack))(x), stack(x))


def test_another_width_is_refused():
    """One feature is not spread over all."""
    with pytest.raises(SpaceError, match="do not fit"):
        ColumnStack(layers([3, 2], ["linear"]))(np.ones((4, 1), np.float32))


def test_the_quickest_form_follows_the_width():
    """Wide observations are cheaper by rows, and without layers there is nothing to turn."""
    assert isinstance(quickest(layers([NARROW, 2], ["relu"])), ColumnStack)
    assert isinstance(quickest(layers([NARROW + 1, 2], ["relu"])), Stack)
    assert isinstance(quickest([]), Stack)
