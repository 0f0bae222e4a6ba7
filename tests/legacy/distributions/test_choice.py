"""Each algorithm of the old stack acts with the distribution Ray gives it."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from rlconnect.core.errors import ConfigError, SpaceError, UnknownNameError
from rlconnect.legacy import (
    ModelCatalog,
    Policy,
    TorchCategorical,
    TorchModelV2,
    register_custom_action_dist,
    register_custom_model,
)
from rlconnect.legacy.distributions import registered
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


OBS, ACT = Box(-1, 1, (3,), np.float32), Discrete(2)
CONFIG = {"model": {"custom_model": "mine"}, "seed": 0}


class Constant(TorchModelV2, torch.nn.Module):
    """Answers one number times the observation's first entry."""

    answer = 1.0

    def __init__(self, *args, **kwargs):
        torch.nn.Module.__init__(self)
        TorchModelV2.__init__(self, *args, **kwargs)
        self.weight = torch.nn.Parameter(torch.tensor([self.answer]))

    def forward(self, input_dict, state, seq_lens):
        return input_dict["obs"][:, :2] * self.weight, state

    def value_function(self):
        return torch.zeros(1)


class Double(Constant):
    """Answers twice as much."""

    answer = 2.0


class Last(TorchCategorical):
    """Always the last choice."""

    def deterministic_sample(self):
        return torch.full((len(self.inputs),), self.inputs.shape[1] - 1)

    @staticmethod
    def required_model_output_shape(action_space, model_config):
        return int(action_space.n)


@pytest.fixture(autouse=True)
def _forget_afterwards():
    yield
    registered.CUSTOM_MODELS.clear()
    registered.CUSTOM_DISTRIBUTIONS.clear()


def inputs_of(policy):
    return policy.compute_actions(np.ones((1, 3), np.float32), explore=False)[2][
        "action_dist_inputs"
    ].tolist()


def test_a_policy_finds_a_registered_model():
    """`custom_model` names it, in the config of a policy built by hand."""
    register_custom_model("mine", Double)

    assert inputs_of(Policy(OBS, ACT, CONFIG)) == [[2.0, 2.0]]


def test_what_is_handed_over_wins():
    """`custom_models=` goes before what was registered under the name."""
    ModelCatalog.register_custom_model("mine", Double)

    assert inputs_of(Policy(OBS, ACT, CONFIG, custom_models={"mine": Constant})) == [[1.0, 1.0]]


def test_the_last_one_registered_counts():
    """A notebook's cell may run again, with a new class of the same name."""
    register_custom_model("mine", Double)
    register_custom_model("mine", Constant)

    assert inputs_of(Policy(OBS, ACT, CONFIG)) == [[1.0, 1.0]]


def test_a_checkpoint_finds_a_registered_model(tmp_path):
    """`from_checkpoint` needs no `custom_models` once the name is registered."""
    Policy(OBS, ACT, CONFIG, custom_models={"mine": Double}).export_checkpoint(tmp_path / "saved")
    with pytest.raises(ConfigError, match="mine"):
        Policy.from_checkpoint(tmp_path / "saved")

    register_custom_model("mine", Constant)

    loaded = Policy.from_checkpoint(tmp_path / "saved")
    assert inputs_of(loaded) == [[2.0, 2.0]]  # the class computes, the saved weight counts


def test_a_distribution_is_found_too():
    """`custom_action_dist` names it; unregistered it is refused with a way out."""
    config = {"model": {"custom_action_dist": "last"}}
    with pytest.raises(UnknownNameError, match="register"):
        Policy(OBS, ACT, config)

    register_custom_action_dist("last", Last)

    policy = Policy(OBS, ACT, config)
    assert policy.compute_actions(np.ones((2, 3), np.float32), explore=False)[0].tolist() == [1, 1]


def test_the_catalog_builds_what_the_config_says():
    """`get_model_v2` gives the registered class, `get_action_dist` the class and its width."""
    register_custom_model("mine", Double)
    register_custom_action_dist("last", Last)

    model = ModelCatalog.get_model_v2(OBS, ACT, 2, {"custom_model": "mine"}, framework="torch")

    assert isinstance(model, Double)
    assert ModelCatalog.get_action_dist(ACT, {"custom_action_dist": "last"}) == (Last, 2)
    assert ModelCatalog.get_action_dist(ACT, {}, "last", framework="torch") == (Last, 2)
