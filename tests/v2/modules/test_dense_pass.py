"""Acting for many steps by bare layers gives what the networks give."""

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.v2 import DefaultPPOTorchRLModule
from rlconnect.v2.modules.dense_pass import DensePass

CHOICE, BOX = Discrete(2), Box(-1.0, 1.0, (2,))


def made(space, **model_config):
    """A module that acts, and its pass for many steps."""
    torch.manual_seed(0)
    module = DefaultPPOTorchRLModule(
        observation_space=Box(-1.0, 1.0, (3,)), action_space=space, model_config=model_config
    ).eval()
    return module, module._repeated_pass(True)


@pytest.mark.parametrize(
    ("space", "model_config"),
    [
        (CHOICE, {"fcnet_activation": "relu", "head_fcnet_hiddens": [4]}),
        (CHOICE, {"vf_share_layers": False}),
        (BOX, {"log_std_clip_param": 0.01}),
        (BOX, {"free_log_std": True}),
    ],
)
def test_the_same_to_the_last_digit(space, model_config):
    """Choices, bounded and free deviations; shared layers or not."""
    module, repeated = made(space, **model_config)
    batch = {"obs": torch.randn(8, 3)}

    with torch.no_grad():
        found, expected = repeated(batch), module._forward(batch)

    assert type(repeated) is DensePass
    assert torch.equal(found["action_dist_inputs"], expected["action_dist_inputs"])


@pytest.mark.parametrize("change", ["hook", "forward", "layer"])
def test_who_watches_is_called(change):
    """Hooks, exchanged methods and layers of another kind leave it to the networks."""
    module, _ = made(CHOICE, vf_share_layers=False)
    layer = module.encoder.actor_encoder.net.mlp[0]
    if change == "hook":
        layer.register_forward_hook(lambda *given: None)
    elif change == "forward":
        module.pi._forward = lambda inputs: inputs
    else:
        module.pi.net.mlp.append(torch.nn.Softsign())

    assert module._repeated_pass(True) == module._forward_exploration
