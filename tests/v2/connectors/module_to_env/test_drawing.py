"""Actions drawn without a distribution are those that the distribution draws."""

import numpy as np
import pytest
import torch
from rlconnect.v2 import TorchCategorical, TorchDiagGaussian, TorchMultiCategorical
from rlconnect.v2.connectors.module_to_env.drawing import drawn

KINDS = [TorchCategorical, TorchDiagGaussian]
SHAPES = [(1, 2), (7, 6), (64, 4), (5, 1, 8)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_seed_gives_the_distributions_actions(kind, shape, dtype):
    """Actions, log-probabilities and the random numbers that are left are the same."""
    inputs = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(1)
    distribution = kind.from_logits(inputs)
    actions = distribution.sample()
    logp, after = distribution.logp(actions), torch.rand(())

    torch.manual_seed(1)
    own, own_logp = drawn(kind, inputs)
    own_after = torch.rand(())

    assert torch.equal(own, actions)
    assert torch.equal(own_after, after)
    torch.testing.assert_close(own_logp, logp, rtol=1e-6, atol=5e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_same_wherever_rows_lie_in_memory(kind):
    """Inputs whose columns lie next to each other are drawn from as those whose rows do."""
    inputs = torch.randn((6, 40), generator=torch.Generator().manual_seed(0)).T
    torch.manual_seed(1)
    actions = kind.from_logits(inputs).sample()

    torch.manual_seed(1)
    own, _ = drawn(kind, inputs)

    assert torch.equal(own, actions)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_hold_what_tensors_hold(kind):
    """Whoever wants arrays gets them without tensors in between."""
    inputs = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    torch.manual_seed(2)
    tensors = drawn(kind, inputs)

    torch.manual_seed(2)
    arrays = drawn(kind, inputs, as_arrays=True)

    for tensor, array in zip(tensors, arrays, strict=True):
        assert type(array) is np.ndarray
        np.testing.assert_array_equal(tensor.numpy(), array)


def test_impossible_actions_are_not_drawn():
    """A logit of minus infinity leaves the others as they are."""
    inputs = torch.tensor([[0.0, -torch.inf, -1.0]]).expand(200, 3)

    actions, logp = drawn(TorchCategorical, inputs)

    assert set(actions.tolist()) == {0, 2}
    torch.testing.assert_close(logp, TorchCategorical(logits=inputs).logp(actions))


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        (TorchMultiCategorical, torch.zeros(2, 4)),
        (TorchCategorical, torch.zeros(4)),
        (TorchCategorical, torch.zeros(2, 4, dtype=torch.bfloat16)),
        (TorchCategorical, torch.full((2, 4), torch.nan)),
        (TorchCategorical, torch.full((2, 4), -torch.inf)),
        (TorchDiagGaussian, torch.tensor([[0.0, torch.inf]])),
        (TorchDiagGaussian, torch.tensor([[0.0, -torch.inf]])),
    ],
)
def test_all_else_is_left_to_the_distribution(kind, inputs):
    """Other distributions, other inputs and bad numbers are not served, and warn of nothing."""
    assert drawn(kind, inputs) is None
