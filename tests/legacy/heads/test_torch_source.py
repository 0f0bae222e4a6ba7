"""A user's own distribution acts through torch, repeatably and with a policy's dtypes."""

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.legacy import TorchCategorical, TorchDiagGaussian
from rlconnect.legacy.exploration.config import exploration_for
from rlconnect.legacy.exploration.tensors import TorchSource
from rlconnect.legacy.heads.registry import build_head

from tests.legacy.heads.acted import compute_actions


class Cautious(TorchCategorical):
    """Never takes the first choice when it does not explore."""

    def deterministic_sample(self):
        return self.inputs[:, 1:].argmax(dim=1) + 1


def test_custom_distributions_choose_the_action():
    """`custom_action_dist` decides the greedy action; samples follow the given generator."""
    config = {"model": {"custom_action_dist": "cautious", "fcnet_hiddens": [4]}}
    spaces = Box(-1, 1, (3,)), Discrete(4)
    head = build_head("PPO", *spaces, config, custom_distributions={"cautious": Cautious})
    columns = {"obs": torch.rand(200, 3)}

    def act(explore, seed):
        how = {"exploration": exploration_for(spaces[1]), "explore": explore, "timestep": 0}
        return compute_actions(head, columns, rng=np.random.default_rng(seed), **how)

    calm, _, fetches = act(False, 0)
    assert calm.min() >= 1
    assert calm.dtype == np.int32
    assert not fetches["action_logp"].any()
    np.testing.assert_array_equal(act(True, 1)[0], act(True, 1)[0])
    assert (act(True, 1)[0] != act(True, 2)[0]).any()


def test_drawing_leaves_torchs_own_generator_alone():
    """The global generator goes on as if nothing had been drawn."""
    torch.manual_seed(5)
    want = torch.rand(3)
    inputs = np.zeros((4, 6), np.float32)
    net = torch.nn.Linear(1, 1)
    torch.manual_seed(5)

    actions, logp = TorchSource(TorchDiagGaussian, net, inputs, np.random.default_rng(0)).sample()

    assert actions.shape == (4, 3)
    assert logp.shape == (4,)
    torch.testing.assert_close(torch.rand(3), want)
