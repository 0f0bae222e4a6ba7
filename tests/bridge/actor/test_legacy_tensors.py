"""Tensors choose as arrays do."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from rlconnect.bridge import Actor
from rlconnect.core.formulas.categorical import most_probable_of_columns
from rlconnect.legacy import Policy, create_connectors_for_policy

from tests.legacy.distributions.test_most_probable import near_ties


@pytest.mark.parametrize("scale", [1e-3, 0.3, 3.0])
@pytest.mark.parametrize("choices", [2, 5, 18])
def test_near_ties_are_decided_alike(choices, scale, rng):
    """By one formula, wherever the step runs."""
    policy = Policy(spaces.Box(-1, 1, (4,)), spaces.Discrete(choices), {"seed": 0})
    create_connectors_for_policy(policy, policy.config)
    tensors = Actor.from_policy(policy).only.plan.brain.tensor_module()
    logits = near_ties(rng, 10_000, choices, scale)

    chosen = tensors.greedy(torch.from_numpy(logits))

    assert chosen.dtype == torch.int32
    assert np.array_equal(chosen.numpy(), most_probable_of_columns(logits.T.copy()))
