"""Steps by the kernel alone are those of torch's Adam, whatever happens between them."""

import copy

import pytest
import torch
from rlconnect.v2.learning.optimizers import AdamStep, adam
from torch import nn


def pair():
    """A network and its optimiser, and equal ones."""
    made = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    return [
        (each, adam(each.parameters(), lr=0.05, eps=1e-7)) for each in (made, copy.deepcopy(made))
    ]


def learn(net, seed):
    """Give a network gradients; gives them."""
    net.zero_grad()
    torch.manual_seed(seed)
    net(torch.randn(5, 3)).square().sum().backward()
    return [param.grad for param in net.parameters()]


@pytest.mark.parametrize("event", ["none", "lr", "state", "cleared", "hook", "missing", "amsgrad"])
def test_steps_are_torchs(event):
    """Other rates, restored and cleared states, hooks and parameters without gradients included."""
    (net, optimizer), (other, by_torch) = pair()
    step, seen = AdamStep(optimizer), []

    for number in range(9):
        if number == 4 and event == "lr":
            optimizer.param_groups[0]["lr"] = by_torch.param_groups[0]["lr"] = 0.2
        if number == 4 and event == "state":
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        if number == 4 and event == "cleared":
            optimizer.state.clear()
            by_torch.state.clear()
        if number == 4 and event == "hook":
            optimizer.register_step_post_hook(lambda *given: seen.append(given))
        if number == 4 and event == "amsgrad":
            for each in (optimizer, by_torch):
                each.param_groups[0]["amsgrad"] = True
                each.state.clear()
        learn(net, number)
        learn(other, number)
        if number >= 4 and event == "missing":
            net[0].weight.grad = other[0].weight.grad = None
        step([param.grad for param in net.parameters()])
        by_torch.step()

    assert len(seen) == (5 if event == "hook" else 0)
    for own, expected in zip(net.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(own, expected, rtol=0, atol=0)
    for own, expected in zip(
        optimizer.state_dict()["state"].values(),
        by_torch.state_dict()["state"].values(),
        strict=True,
    ):
        torch.testing.assert_close(own["step"], expected["step"])
        torch.testing.assert_close(own["exp_avg_sq"], expected["exp_avg_sq"], rtol=0, atol=0)
