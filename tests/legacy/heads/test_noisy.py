"""Noisy layers act by their mean unless asked to draw as Ray does (numbers: test_registry)."""

import pytest
import torch
from rlconnect.core.errors import ConfigError
from rlconnect.legacy.heads.dqn_model import NoisyLayer, set_noise


def test_the_mean_layer_is_a_dense_layer():
    """Without noise the layer is x w + b, then its activation."""
    layer = NoisyLayer(3, 2, sigma0=0.5)
    x = torch.tensor([[1.0, -2.0, 0.5]])

    torch.testing.assert_close(layer(x), (x @ layer.w + layer.b).relu())


def test_noise_follows_torchs_seed():
    """Ray's noise is drawn at each pass; one seed gives one draw, on both weights and bias."""
    layer = NoisyLayer(3, 2, sigma0=0.5, activation=None)
    set_noise(layer, "ray")
    x = torch.zeros(1, 3)

    torch.manual_seed(1)
    first, second = layer(x), layer(x)
    torch.manual_seed(1)

    torch.testing.assert_close(layer(x), first)
    assert not torch.equal(first, second)


def test_unknown_kinds_of_noise_are_refused():
    """A misspelt choice is an error that lists the right ones."""
    with pytest.raises(ConfigError, match="'mean' or 'ray'"):
        set_noise(NoisyLayer(3, 2, sigma0=0.5), "none")
