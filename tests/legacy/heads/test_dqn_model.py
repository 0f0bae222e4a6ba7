"""Q networks can be built around a user's own trunk, and masks survive the value branch."""

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.core.nets.layer_formulas import dueling_q, support
from rlconnect.legacy.heads.dqn_model import DQNTorchModel
from rlconnect.legacy.heads.registry import build_head

OBS = Box(-1, 1, (4,))


class MaskedNet(DQNTorchModel):
    """A user's network in the manner of RLlib's parametric actions: the obs holds the mask."""

    def __init__(self, obs_space, action_space, num_outputs, model_config, name, **settings):
        super().__init__(obs_space, action_space, num_outputs, model_config, name, **settings)
        self.layer = torch.nn.Linear(4, num_outputs)

    def forward(self, input_dict, state, seq_lens):
        obs = input_dict["obs"]
        mask = torch.where(obs[:, :3] > 0, 0.0, float("-inf"))
        return self.layer(obs) + mask, state


def test_a_custom_q_network_acts():
    """A subclass of DQNTorchModel is built with DQN's settings; masked actions stay masked."""
    config = {"model": {"custom_model": "masked"}, "hiddens": [], "dueling": False}
    head = build_head("DQN", OBS, Discrete(3), config, custom_models={"masked": MaskedNet})

    with torch.no_grad():
        values = head.policy_outputs({"obs": torch.tensor([[1.0, -1.0, 1.0, 0.5]])}).dist_inputs

    assert torch.isinf(values[0]).tolist() == [False, True, False]


def test_advantages_of_minus_infinity_do_not_count():
    """The mean that is taken off is over allowed actions, in torch and in numpy."""
    advantages = np.float32([[1.0, -np.inf, 3.0]])
    value = np.float32([[10.0]])

    by_torch = dueling_q(torch.from_numpy(advantages), torch.from_numpy(value))
    by_numpy = dueling_q(advantages, value)

    np.testing.assert_array_equal(by_torch, [[9.0, -np.inf, 11.0]])
    np.testing.assert_array_equal(by_numpy, [[9.0, -np.inf, 11.0]])


def test_atoms_are_evenly_spaced():
    """The support runs from the smallest to the largest return."""
    like = torch.zeros(1)

    np.testing.assert_allclose(support(5, -2.0, 2.0, like=like), [-2, -1, 0, 1, 2])
    np.testing.assert_allclose(support(5, -2.0, 2.0), [-2, -1, 0, 1, 2])
