"""An RLModule saved in an old policy acts as Ray made it act."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import PieceError, WeightsError
from rlconnect.legacy import Policy
from rlconnect.legacy.models.rlmodule import RLModuleNet, is_rlmodule

CASES = [
    "mlp",
    "mlp_share",
    "mlp_one",
    "mlp_linear",
    "mlp_freelog",
    "lstm",
    "lstm_share",
    "cnn",
    "cnn_fc",
]


def config_of(case):
    return {"conv_activation": "relu", **case["config"]}


@pytest.mark.parametrize("name", CASES)
def test_same_numbers_as_ray(name, formula, rlmodules):
    """Outputs, values and states, for dense, convolutional and recurrent encoders."""
    case, arrays = rlmodules.cases[name], rlmodules.arrays
    weights = {key: arrays[f"{name}|weights|{key}"] for key in case["weights"]}
    space = formula.space(case["obs"])
    want = arrays[f"{name}|outputs"]
    obs = torch.from_numpy(arrays[f"{name}|obs"].reshape(-1, *space.shape))
    states = [key for key in arrays if key.startswith(f"{name}|state")]
    model = RLModuleNet(space, Discrete(3), want.shape[-1], config_of(case), weights=weights)

    with torch.no_grad():
        outputs, after = model(
            {"obs": obs},
            [torch.from_numpy(arrays[key]) for key in states],
            [3, 3] if states else None,
        )
        value = model.value_function()

    np.testing.assert_allclose(outputs, want.reshape(outputs.shape), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(value, arrays[f"{name}|value"].ravel(), rtol=1e-6, atol=1e-6)
    for i, got in enumerate(after):
        np.testing.assert_allclose(got, arrays[f"{name}|after{i}"], rtol=1e-6, atol=1e-6)
    assert set(model.state_dict()) == set(weights)
    starts = model.get_initial_state()
    assert [tuple(s.shape) for s in starts] == [arrays[key].shape[1:] for key in states]


@pytest.mark.parametrize("name", ["2.7.2/ppo_rlmodule"])
def test_same_numbers_as_a_saved_policy(name, formula, recorded):
    """The policy Ray 2.7 saves by default."""
    case = recorded[name]
    model = RLModuleNet(
        formula.space(case["obs"]), Discrete(2), 2, case["config"], weights=case["weights"]
    )

    outputs, _ = model({"obs": torch.from_numpy(case["in"]["obs"])})

    np.testing.assert_allclose(outputs.detach(), case["out"]["logits"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["mlp_share", "lstm_share"])
def test_one_encoder_without_a_name_is_bcs(name, formula, rlmodules):
    """BC's module is one encoder and a policy head: the same numbers, and no values."""
    case, arrays = rlmodules.cases[name], rlmodules.arrays
    weights = {
        key.replace("encoder.encoder.", "encoder."): arrays[f"{name}|weights|{key}"]
        for key in case["weights"]
        if not key.startswith("vf.")
    }
    space, want = formula.space(case["obs"]), arrays[f"{name}|outputs"]
    width = want.shape[-1]
    obs = arrays[f"{name}|obs"].reshape(-1, *space.shape)
    states = [arrays[key] for key in arrays if key.startswith(f"{name}|state")]
    config = {"model": config_of(case)}

    policy = Policy(space, Discrete(width), config, algorithm="BC", weights=weights)
    _, _, fetches = policy.compute_actions_from_input_dict(
        {
            "obs": obs,
            **{f"state_in_{i}": part for i, part in enumerate(states)},
            "seq_lens": [3, 3],
        },
        explore=True,
    )

    got = fetches["action_dist_inputs"]
    np.testing.assert_allclose(got, want.reshape(got.shape), rtol=1e-6, atol=1e-6)
    assert "vf_preds" not in fetches
    assert set(policy.get_weights()) == set(weights)


def dense_weights():
    rng = np.random.default_rng(0)
    shapes = {
        "encoder.encoder.net.mlp.0.weight": (6, 4),
        "encoder.encoder.net.mlp.0.bias": (6,),
        "pi.net.mlp.0.weight": (2, 6),
        "pi.net.mlp.0.bias": (2,),
    }
    return {key: rng.normal(size=shape).astype(np.float32) for key, shape in shapes.items()}


def net(weights, **config):
    config = {"fcnet_activation": "tanh", "post_fcnet_activation": "relu", **config}
    return RLModuleNet(Box(-1, 1, (4,)), Discrete(2), 2, config, weights=weights)


def test_names_tell_an_rlmodule():
    """Encoder and policy head together make one."""
    assert is_rlmodule(dense_weights())
    assert not is_rlmodule({"_hidden_layers.0._model.0.weight": 0})


def test_inference_only_module_has_no_values():
    """A module saved without its critic acts and says that it has no values."""
    model = net(dense_weights())

    outputs, _ = model({"obs": torch.ones(1, 4)})

    assert outputs.shape == (1, 2)
    with pytest.raises(PieceError, match="no critic"):
        model.value_function()


def test_unknown_layers_are_named():
    """Weights that the encoder kinds have no place for are listed."""
    weights = {**dense_weights(), "encoder.encoder.net.4.weight": np.zeros((2, 2), np.float32)}

    with pytest.raises(WeightsError, match=r"encoder\.encoder\.net\.4\.weight"):
        net(weights)


def test_missing_head_layers():
    """A head without layers is an error that names it."""
    weights = dense_weights()
    del weights["pi.net.mlp.0.weight"]

    with pytest.raises(WeightsError, match="pi"):
        net(weights)


def test_width_of_the_head():
    """A head of another width than the actions need is refused."""
    with pytest.raises(WeightsError, match="expected 3, found 2"):
        RLModuleNet(
            Box(-1, 1, (4,)),
            Discrete(3),
            3,
            {"fcnet_activation": "tanh"},
            weights=dense_weights(),
        )


def test_convolutions_that_the_settings_do_not_describe(rlmodules):
    """conv_filters and the saved convolutions must agree in number and place."""
    case, arrays = rlmodules.cases["cnn"], rlmodules.arrays
    weights = {key: arrays[f"cnn|weights|{key}"] for key in case["weights"]}
    image = Box(-1, 1, (10, 10, 3))
    one = {**config_of(case), "conv_filters": case["config"]["conv_filters"][:1]}
    linear = {**config_of(case), "conv_activation": "linear"}

    with pytest.raises(WeightsError, match="number of convolutions"):
        RLModuleNet(image, Discrete(3), 3, one, weights=weights)
    with pytest.raises(WeightsError, match="not where conv_filters"):
        RLModuleNet(image, Discrete(3), 3, linear, weights=weights)


def test_recurrent_module_without_state(rlmodules):
    """Both encoders' states are asked for by number."""
    case, arrays = rlmodules.cases["lstm"], rlmodules.arrays
    weights = {key: arrays[f"lstm|weights|{key}"] for key in case["weights"]}
    model = RLModuleNet(Box(-1, 1, (5,)), Discrete(3), 3, config_of(case), weights=weights)

    assert model.is_recurrent
    with pytest.raises(PieceError, match="4 arrays"):
        model({"obs": torch.ones(1, 5)}, [], [1])
