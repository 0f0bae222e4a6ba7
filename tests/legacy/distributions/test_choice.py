"""Each algorithm of the old stack acts with the distribution Ray gives it."""

import subprocess
import sys

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from rlconnect.core.errors import SpaceError, UnknownNameError
from rlconnect.legacy import TorchCategorical
from rlconnect.legacy.distributions.choice import distribution_for
from rlconnect.legacy.heads.family import policy_distribution

BOX = Box(-1, 1, (2,))


@pytest.mark.parametrize(
    ("space", "algorithm", "config", "kind", "size"),
    [
        (Discrete(3), "PPO", {}, "categorical", 3),
        (Discrete(3, start=2), "PPO", {}, "categorical", 3),
        (MultiDiscrete([3, 2, 5]), "PPO", {}, "multi_categorical", 10),
        (BOX, "PPO", {}, "diag_gaussian", 4),
        (Box(-1, 1, ()), "PPO", {}, "diag_gaussian", 2),
        (Box(0, 3, (2, 2), np.int32), "PPO", {}, "multi_categorical", 16),
        (Box(0, 3, (2,), np.uint8), "PPO", {}, "diag_gaussian", 4),
        (Tuple([Discrete(3), BOX]), "IMPALA", {}, "multi_action", 7),
        (Dict(a=Discrete(3), b=Tuple([BOX])), "A2C", {}, "multi_action", 7),
        (Discrete(3), "DQN", {}, "categorical", 3),
        (Discrete(3), "SAC", {}, "categorical", 3),
        (BOX, "SAC", {}, "squashed_gaussian", 4),
        (BOX, "CQL", {"normalize_actions": False}, "diag_gaussian", 4),
        (BOX, "SAC", {"_use_beta_distribution": True}, "beta", 4),
        (BOX, "DDPG", {}, "deterministic", 2),
        (BOX, "TD3", {}, "deterministic", 2),
        (BOX, "ES", {}, "deterministic", 2),
        (Discrete(4), "ARS", {}, "categorical", 4),
    ],
)
def test_space_and_algorithm_decide(space, algorithm, config, kind, size):
    """Kind and width of the distribution inputs follow from space, algorithm and settings."""
    choice = policy_distribution(algorithm, space, config)

    assert (choice.kind, choice.size) == (kind, size)
    assert choice.arrays().size == size


@pytest.mark.parametrize(
    ("space", "algorithm"),
    [
        (MultiBinary(3), "PPO"),
        (Box(-1, 1, (2, 2)), "PPO"),
        (BOX, "DQN"),
        (Discrete(2), "DDPG"),
        (Tuple([BOX]), "SAC"),
    ],
)
def test_spaces_ray_cannot_act_in_are_refused(space, algorithm):
    """A space without a distribution is refused with both named."""
    with pytest.raises(SpaceError, match="action space"):
        policy_distribution(algorithm, space, {})


@pytest.mark.torch
def test_a_custom_distribution_comes_from_the_caller():
    """`custom_action_dist` takes the class given for its name and names it when it is missing."""

    class Mine(TorchCategorical):
        pass

    config = {"custom_action_dist": "mine"}

    choice = distribution_for(Discrete(3), config, custom_distributions={"mine": Mine})

    assert (choice.kind, choice.size, choice.torch_class()) == ("custom", 3, Mine)
    with pytest.raises(UnknownNameError, match="'mine'"):
        distribution_for(Discrete(3), config)
    with pytest.raises(UnknownNameError, match="no numpy form"):
        choice.arrays()


def test_numpy_distributions_do_not_load_torch():
    """Choosing and acting with arrays never imports torch."""
    code = (
        "import sys, numpy as np, gymnasium as gym\n"
        "from rlconnect.legacy.distributions.choice import distribution_for\n"
        "space = gym.spaces.Tuple([gym.spaces.Discrete(2), gym.spaces.Box(-1, 1, (2,))])\n"
        "distribution_for(space).arrays().deterministic(np.zeros((1, 6), np.float32))\n"
        "sys.exit('torch' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
