"""Classes registered by name serve the configs and checkpoints that name them."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError, UnknownNameError
from rlconnect.legacy import (
    ModelCatalog,
    Policy,
    TorchCategorical,
    TorchModelV2,
    register_custom_action_dist,
    register_custom_model,
)
from rlconnect.legacy.distributions import registered

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
