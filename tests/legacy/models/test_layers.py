"""The small layers keep Ray's arithmetic."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError
from rlconnect.legacy.models.layers import (
    AppendBiasLayer,
    SlimConv2d,
    SlimFC,
    activation,
    normc_initializer,
    same_padding,
)


@given(
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    kernel=st.integers(1, 9),
    stride=st.integers(1, 4),
)
def test_same_padding_gives_a_cell_per_stride(height, width, kernel, stride):
    """A padded convolution gives ceil(size / stride) cells; the odd cell is below and right."""
    (left, right, top, bottom), out = same_padding((height, width), kernel, stride)

    assert out == (-(-height // stride), -(-width // stride))
    for size, before, after, cells in ((height, top, bottom, 0), (width, left, right, 1)):
        assert after - before in (0, 1)
        assert (size + before + after - kernel) // stride + 1 >= out[cells]
        if before + after:
            assert (size + before + after - kernel) // stride + 1 == out[cells]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("relu", torch.nn.ReLU),
        ("ReLU", torch.nn.ReLU),
        ("swish", torch.nn.SiLU),
        ("SILU", torch.nn.SiLU),
        ("GELU", torch.nn.GELU),
        ("linear", None),
        ("Linear", None),
        (None, None),
        (torch.nn.Softsign, torch.nn.Softsign),
    ],
)
def test_activation_names(name, made):
    """Known names go in any case, torch's class names in their own."""
    assert activation(name) is made


@pytest.mark.parametrize("name", ["gelu", "Module", "", 3])
def test_unknown_activations(name):
    """Anything else is an error that lists what there is."""
    with pytest.raises(ConfigError, match="swish, tanh"):
        activation(name)


def test_rows_have_the_norm_asked_for():
    """Every output row starts with the given norm."""
    weight = torch.empty(5, 9)

    normc_initializer(0.3)(weight)

    np.testing.assert_allclose(weight.norm(dim=1).numpy(), 0.3, rtol=1e-5)


def test_dense_layer_options():
    """Bias, initial bias and activation are as asked for, in Ray's order of arguments."""
    layer = SlimFC(2, 3, torch.nn.init.zeros_, "relu", True, -1.0)
    plain = SlimFC(2, 3, use_bias=False)

    assert layer(torch.ones(1, 2)).tolist() == [[0.0, 0.0, 0.0]]
    assert list(layer.state_dict()) == ["_model.0.weight", "_model.0.bias"]
    assert list(plain.state_dict()) == ["_model.0.weight"]


def test_conv_layer_names_count_the_padding():
    """A padding, even of zeros, takes a number; none takes none."""
    padded = SlimConv2d(1, 2, 3, 1, (0, 0, 0, 0), activation_fn=None)
    valid = SlimConv2d(1, 2, (3, 2), [1, 2], None)

    assert list(padded.state_dict()) == ["_model.1.weight", "_model.1.bias"]
    assert list(valid.state_dict()) == ["_model.0.weight", "_model.0.bias"]
    assert valid(torch.ones(1, 1, 5, 6)).shape == (1, 2, 3, 3)
    assert bool((valid(-torch.ones(1, 1, 5, 6)) >= 0).all())


def test_appended_bias():
    """Every row gets the same free numbers, and they learn."""
    layer = AppendBiasLayer(2)

    out = layer(torch.ones(3, 1))
    out.sum().backward()

    assert out.tolist() == [[1.0, 0.0, 0.0]] * 3
    assert layer.log_std.grad.tolist() == [3.0, 3.0]
