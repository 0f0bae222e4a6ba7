"""Any torch module acts as an old-stack network, under the names its weights have."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError
from rlconnect.legacy import Policy
from rlconnect.legacy.models.catalog import PlainModule
from torch import nn

OBS, ACT = Box(-1, 1, (3,), np.float32), Discrete(2)
CONFIG = {"model": {"custom_model": "mine", "custom_model_config": {"width": 5}}}


class Net(nn.Module):
    """A network of a user who has never heard of TorchModelV2."""

    def __init__(self, width=4, with_value=False):
        super().__init__()
        self.body = nn.Linear(3, width)
        self.head = nn.Linear(width, 2)
        self.with_value = with_value

    def forward(self, x):
        found = self.head(torch.relu(self.body(x)))
        return (found, found.sum(1, keepdim=True)) if self.with_value else found


class Cell(nn.Module):
    """A recurrent network, called as RLlib calls one."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 2)

    def get_initial_state(self):
        return [torch.zeros(2)]

    def forward(self, input_dict, state, seq_lens):
        after = self.cell(input_dict["obs"], state[0])
        return after, [after]


def policy_with(factory, **options):
    return Policy(OBS, ACT, {**CONFIG, "seed": 0}, custom_models={"mine": factory}, **options)


@pytest.mark.parametrize(
    ("factory", "width"),
    [
        (Net, 5),
        (lambda: Net(7), 7),
        (lambda width: Net(width), 5),
        (lambda obs_space, action_space, num_outputs, config, name, width: Net(width + 1), 6),
        (lambda *given, **settings: Net(), 4),
    ],
    ids=["class", "no arguments", "settings", "as a model class", "anything"],
)
def test_factories_of_every_kind_make_the_network(factory, width):
    """A class, or a function of nothing, of the settings, or of all a model is built from."""
    policy = policy_with(factory)

    weights = policy.get_weights()

    assert list(weights) == ["body.weight", "body.bias", "head.weight", "head.bias"]
    assert weights["body.weight"].shape == (width, 3)


def test_its_outputs_are_the_modules():
    """Distribution inputs are what the module gives for the observations."""
    policy = policy_with(Net)
    obs = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    net = Net(5)
    net.load_state_dict({k: torch.from_numpy(v) for k, v in policy.get_weights().items()})

    _, _, fetches = policy.compute_actions(obs, explore=False)

    want = net(torch.from_numpy(obs)).detach().numpy()
    np.testing.assert_allclose(fetches["action_dist_inputs"], want, atol=1e-6)
    assert np.isnan(fetches["vf_preds"]).all()


def test_values_are_reported_where_it_gives_some():
    """A pair of outputs and values fills `vf_preds`."""
    policy = policy_with(lambda: Net(with_value=True))

    _, _, fetches = policy.compute_actions(np.ones((2, 3), np.float32), explore=False)

    np.testing.assert_allclose(fetches["vf_preds"], fetches["action_dist_inputs"].sum(1), atol=1e-6)


def test_states_are_carried():
    """A module with states is asked with them, and its next ones are given out."""
    policy = policy_with(lambda: Cell())
    obs = np.ones((1, 3), np.float32)

    _, first, _ = policy.compute_actions(obs, policy_state(policy), explore=False)
    _, second, _ = policy.compute_actions(obs, first, explore=False)

    assert policy.is_recurrent()
    assert not np.array_equal(first[0], second[0])


def policy_state(policy):
    return [part[None] for part in policy.get_initial_state()]


def test_weights_go_in_and_out_by_the_modules_names():
    """Weights set are those it computes with."""
    policy = policy_with(Net)
    obs = np.ones((2, 3), np.float32)

    policy.set_weights({name: part * 0 for name, part in policy.get_weights().items()})

    assert not policy.compute_actions(obs, explore=False)[2]["action_dist_inputs"].any()


def test_modes_reach_the_module():
    """Evaluation switches what the module itself looks at."""
    module = Net()
    model = PlainModule(module, OBS, ACT, 2, {})

    model.eval()

    assert not module.training
    assert not module.body.training


def test_what_is_no_network_is_refused():
    """A factory that makes something else is named."""
    with pytest.raises(ConfigError, match=r"made no network.*a int"):
        policy_with(lambda: 3)
