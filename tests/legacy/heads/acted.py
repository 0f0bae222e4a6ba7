"""A head by itself: its forward pass, then the choice of actions."""

import numpy as np
import torch
from rlconnect.core.arrays.tensors import as_array
from rlconnect.legacy.policy.acting import choose_actions
from rlconnect.legacy.policy.networks import TorchNetwork


def compute_actions(head, columns, state=(), lens=None, **how):
    """Actions, next state and fetches of a head, as arrays."""
    network = TorchNetwork(head)
    out = network.run(columns, state, lens)
    how = {"rng": np.random.default_rng(0), "bare_when_greedy": head.bare_when_greedy, **how}
    with torch.no_grad():
        actions, fetches = choose_actions(
            network.chooser(how["rng"]), out.dist_inputs, out.extra, **how
        )
    return actions, [as_array(part) for part in out.state_out], fetches
