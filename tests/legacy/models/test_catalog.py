"""The catalog chooses, names and computes as real Ray does, for 114 settings and saved policies."""

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from rlconnect.core.errors import ConfigError
from rlconnect.legacy.heads.head import load_weights
from rlconnect.legacy.models.attention import AttentionWrapper
from rlconnect.legacy.models.base import LegacyModel, TorchModelV2
from rlconnect.legacy.models.catalog import build_model, default_class
from rlconnect.legacy.models.complex import ComplexInputNetwork
from rlconnect.legacy.models.fcnet import FullyConnectedNetwork
from rlconnect.legacy.models.lstm import LSTMWrapper
from rlconnect.legacy.models.visionnet import VisionNetwork

GOLDEN = Path(__file__).parents[2] / "golden" / "models"
CASES = json.loads((GOLDEN / "cases.json").read_text(encoding="utf-8"))
RECORDED = [
    name
    for name in json.loads((GOLDEN / "recorded.json").read_text(encoding="utf-8"))["cases"]
    if name != "2.7.2/ppo_rlmodule"
]
VECTOR = gym.spaces.Box(-1, 1, (4,))
TWO = gym.spaces.Discrete(2)


def tensors(value):
    if isinstance(value, dict):
        return {key: tensors(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(tensors(part) for part in value)
    return torch.from_numpy(np.array(value))


def built(formula, case):
    space, action = formula.policy_space(case), formula.space(case["action"])
    return build_model(space, action, case["outputs"], case["config"])


@pytest.mark.parametrize("name", CASES)
def test_same_network_as_ray(name, formula, catalog):
    """Class, parameter names, shapes, width and views are those of Ray's catalog."""
    facts = catalog.facts[name]

    model = built(formula, CASES[name])

    assert type(model).__name__ == facts["class"]
    assert model.num_outputs == facts["num_outputs"]
    shapes = {key: list(value.shape) for key, value in model.state_dict().items()}
    assert shapes == facts["weights"]
    views = {
        key: [
            view.get("data_col"),
            view.get("shift", 0),
            view.get("batch_repeat_value", 1),
            view.get("used_for_training", True),
        ]
        for key, view in model.view_requirements.items()
    }
    assert views == facts["views"]


@pytest.mark.parametrize("name", CASES)
def test_same_numbers_as_ray(name, formula, catalog):
    """Outputs, values and states equal Ray's, step by step and on padded sequences."""
    case = CASES[name]
    model = built(formula, case)
    weights = {
        key: formula.weight(key, tuple(value.shape))
        for key, value in model.state_dict().items()
        if not key.endswith("inverse_freq")
    }
    load_weights(model, weights)

    for i, (columns, state, seq_lens) in enumerate(formula.runs(case)):
        lens = None if seq_lens is None else torch.tensor(seq_lens)
        with torch.no_grad():
            outputs, after = model(tensors(columns), [tensors(s) for s in state], lens)
            got = {"outputs": outputs, **{f"state{j}": s for j, s in enumerate(after)}}
            if f"{name}|{i}|value" in catalog.arrays:
                got["value"] = model.value_function()

        want = {k.split("|")[2] for k in catalog.arrays if k.startswith(f"{name}|{i}|")}
        assert set(got) == want
        for key, value in got.items():
            np.testing.assert_allclose(
                value.numpy(), catalog.arrays[f"{name}|{i}|{key}"], rtol=2e-6, atol=2e-6
            )


@pytest.mark.parametrize("name", RECORDED)
def test_same_numbers_as_a_saved_policy(name, formula, recorded):
    """A policy saved by Ray gives its recorded outputs from its own weights and settings."""
    case = recorded[name]
    model = build_model(
        formula.space(case["obs"]),
        formula.space(case["action"]),
        case["out"]["logits"].shape[1],
        case["config"],
    )
    load_weights(model, case["weights"])
    columns = tensors(formula.nested(case["in"]))
    state = [columns.pop(f"state_in_{i}") for i in range(8) if f"state_in_{i}" in columns]
    rows = case["out"]["logits"].shape[0]

    with torch.no_grad():
        outputs, after = model(columns, state, torch.ones(rows) if state else None)
        got = {"logits": outputs, **{f"state_out.#{i}": s for i, s in enumerate(after)}}
        if "value" in case["out"]:
            got["value"] = model.value_function()

    assert set(got) == set(case["out"])
    for key, value in got.items():
        want = case["out"][key]
        np.testing.assert_allclose(value.numpy(), want, rtol=2e-6, atol=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("name", [n for n in RECORDED if "lstm_prev" in n])
def test_same_numbers_on_padded_sequences(name, formula, recorded):
    """Three padded sequences of five steps give the recorded outputs, padding included."""
    case = recorded[name]
    model = build_model(
        formula.space(case["obs"]),
        formula.space(case["action"]),
        case["out"]["logits"].shape[1],
        case["config"],
    )
    load_weights(model, case["weights"])
    columns = tensors(formula.nested(case["in"]))
    state = [columns.pop(f"state_in_{i}")[:3] for i in range(8) if f"state_in_{i}" in columns]

    with torch.no_grad():
        outputs, after = model(columns, state, torch.tensor([5, 3, 4]))
        got = {"logits": outputs, "value": model.value_function()}
        got |= {f"state_out.#{i}": s for i, s in enumerate(after)}

    for key in set(case["seq"]) & set(got):
        np.testing.assert_allclose(got[key].numpy(), case["seq"][key], rtol=2e-6, atol=2e-6)
    assert "logits" in case["seq"]


def test_default_class_follows_the_space():
    """Images get convolutions, vectors dense layers, everything else one trunk per component."""
    image = gym.spaces.Box(0, 255, (10, 10, 3), np.uint8)
    flat = gym.spaces.Box(-1, 1, (6,))
    flat.original_space = gym.spaces.Dict({"m": gym.spaces.Box(-1, 1, (2, 3))})

    assert default_class(image) is VisionNetwork
    assert default_class(VECTOR) is FullyConnectedNetwork
    assert default_class(gym.spaces.Box(-1, 1, (2, 3))) is ComplexInputNetwork
    assert default_class(gym.spaces.Discrete(3)) is ComplexInputNetwork
    assert default_class(flat) is ComplexInputNetwork


@pytest.mark.parametrize(("algorithm", "shares"), [("PPO", False), ("IMPALA", True), ("", True)])
def test_value_net_defaults_by_algorithm(algorithm, shares):
    """Only PPO gives the value branch layers of its own when nothing is said."""
    model = build_model(VECTOR, TWO, 2, {}, algorithm=algorithm)

    assert model.vf_share_layers is shares


@pytest.mark.parametrize(
    ("config", "action", "match"),
    [
        ({"use_lstm": True, "use_attention": True}, TWO, "not both"),
        (
            {"use_lstm": True, "lstm_use_prev_action": True},
            gym.spaces.Tuple((TWO, TWO)),
            "_disable_action_flattening",
        ),
        ({"free_log_std": True, "no_final_linear": True}, TWO, "free_log_std"),
        ({"free_log_std": True, "use_lstm": True}, TWO, "free_log_std"),
        ({"fcnet_activation": "tanhh"}, TWO, "tanhh"),
        ({"use_attention": True, "attention_dim": 7}, TWO, "even attention_dim"),
    ],
)
def test_contradicting_settings_are_refused(config, action, match):
    """Settings that Ray fails on somewhere inside are named when the network is built."""
    with pytest.raises(ConfigError, match=match):
        build_model(VECTOR, action, 2, config)


class Custom(TorchModelV2, torch.nn.Module):
    """A user's model, as the old documents write it."""

    def __init__(self, obs_space, action_space, num_outputs, model_config, name, size=8):
        TorchModelV2.__init__(self, obs_space, action_space, num_outputs, model_config, name)
        torch.nn.Module.__init__(self)
        self.num_outputs = num_outputs or size
        self.layer = torch.nn.Linear(4, self.num_outputs)

    def forward(self, input_dict, state, seq_lens):
        return self.layer(input_dict["obs"].float()), state


class Frugal(Custom):
    """A user's model that reads its settings from the config itself."""

    def __init__(self, obs_space, action_space, num_outputs, model_config, name):
        super().__init__(obs_space, action_space, num_outputs, model_config, name)


def test_custom_model_that_nobody_supplied():
    """The error names the model and says how to supply it."""
    with pytest.raises(ConfigError, match="my_net") as caught:
        build_model(VECTOR, TWO, 2, {"custom_model": "my_net"}, custom_models={"my_nt": Custom})

    assert caught.value.model == "my_net"
    assert "did you mean 'my_nt'" in str(caught.value)
    with pytest.raises(ConfigError, match=r'custom_models=\{"my_net": cls\}'):
        build_model(VECTOR, TWO, 2, {"custom_model": "my_net"})


@pytest.mark.parametrize("model_class", [Custom, Frugal])
def test_custom_model_gets_its_settings(model_class):
    """A supplied class is built with its custom settings, or without if it takes none."""
    config = {"custom_model": "net", "custom_model_config": {"size": 3}}

    model = build_model(VECTOR, TWO, None, config, custom_models={"net": model_class})

    assert model.num_outputs == (3 if model_class is Custom else 8)


def test_custom_factory():
    """A function that makes the model serves as well as a class."""
    model = build_model(VECTOR, TWO, 2, {"custom_model": "net"}, custom_models={"net": Custom})
    made = build_model(
        VECTOR, TWO, 2, {"custom_model": "net"}, custom_models={"net": lambda *a: model}
    )

    assert made is model


@pytest.mark.torch
@pytest.mark.parametrize("wrapper", [LSTMWrapper, AttentionWrapper])
def test_custom_model_can_be_wrapped(wrapper):
    """LSTM and attention go around a user's model, whose own settings Ray then drops."""
    key = "use_lstm" if wrapper is LSTMWrapper else "use_attention"
    config = {"custom_model": "net", "custom_model_config": {"size": 3}, key: True}
    model = build_model(VECTOR, TWO, 2, config, custom_models={"net": Custom})
    state = [s.expand(3, *s.shape) for s in model.get_initial_state()]
    if wrapper is AttentionWrapper:
        state = [s.unsqueeze(1).expand(-1, 50, -1) for s in state]

    outputs, _ = model({"obs": torch.ones(3, 4)}, state, torch.ones(3))

    assert isinstance(model, wrapper)
    assert isinstance(model, Custom)
    assert outputs.shape == (3, 2)
    assert model.is_recurrent
    assert model.layer.out_features == 8


def test_interface_is_mixed_in_front():
    """What an algorithm adds keeps the trunk's parameter names and gets its own settings."""

    class Heads(LegacyModel):
        def __init__(self, *positional, extra=0):
            super().__init__(*positional)
            self.extra = torch.nn.Linear(self.num_outputs, extra)

    model = build_model(VECTOR, TWO, 5, {"no_final_linear": True}, interface=Heads, extra=7)

    assert type(model).__name__ == "FullyConnectedNetwork_as_Heads"
    assert model.extra.weight.shape == (7, 5)
    assert "_hidden_layers.0._model.0.weight" in model.state_dict()


def test_given_config_is_left_alone():
    """Building fills defaults into a copy."""
    config = {"fcnet_hiddens": [3]}

    build_model(VECTOR, TWO, 2, config)

    assert config == {"fcnet_hiddens": [3]}
