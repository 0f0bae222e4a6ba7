"""Weights go in whole or not at all."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import WeightsError
from rlconnect.legacy.heads.head import load_weights
from rlconnect.legacy.models.catalog import build_model

NEST = Dict({"a": Box(-1, 1, (3,)), "b": Discrete(2)})


def model_and_weights(**config):
    config = {"fcnet_hiddens": [4], **config}
    space = NEST if config.get("_disable_preprocessor_api") else Box(-1, 1, (3,))
    model = build_model(space, Discrete(2), 2, config)
    rng = np.random.default_rng(0)
    weights = {
        name: rng.normal(size=tuple(value.shape)).astype(np.float32)
        for name, value in model.state_dict().items()
    }
    for name in weights:
        for kind in ("one_hot", "flatten"):
            if name.startswith(f"{kind}."):
                weights[name] = weights[name.replace(f"{kind}.", f"{kind}_", 1)]
    return model, weights


def test_weights_are_copied_in():
    """Every tensor holds the saved numbers and shares no memory with them."""
    model, weights = model_and_weights()
    kept = {name: value.copy() for name, value in weights.items()}
    for value in weights.values():
        value.flags.writeable = False

    load_weights(model, weights)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)

    for name, value in kept.items():
        np.testing.assert_array_equal(weights[name], value)
        np.testing.assert_allclose(model.state_dict()[name].numpy(), value + 1, rtol=1e-6)


def test_everything_wrong_is_listed_and_nothing_changes():
    """One error lists missing, unexpected and mis-shaped names; the model stays as it was."""
    model, weights = model_and_weights()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    del weights["_logits._model.0.bias"]
    weights["strange"] = np.zeros(1)
    weights["_value_branch._model.0.bias"] = np.zeros(2, np.float32)

    with pytest.raises(WeightsError) as caught:
        load_weights(model, weights)

    assert caught.value.missing == ["_logits._model.0.bias"]
    assert caught.value.unexpected == ["strange"]
    assert len(caught.value.misshaped) == 1
    assert "expected (1,), found (2,)" in str(caught.value)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.parametrize("dropped", ["flatten.", "flatten_", "post_fc_stack._value_branch"])
def test_second_names_and_unused_weights_may_be_missing(dropped):
    """Trunks are saved under two names and one is enough; what forward never reads is optional."""
    model, weights = model_and_weights(_disable_preprocessor_api=True)
    weights = {name: value for name, value in weights.items() if not name.startswith(dropped)}

    load_weights(model, weights)

    for name, value in weights.items():
        np.testing.assert_array_equal(model.state_dict()[name].numpy(), value)


def test_trunks_that_were_never_saved():
    """Ray 2.0 forgot the trunks of nested inputs: an error, never random numbers."""
    model, weights = model_and_weights(_disable_preprocessor_api=True)
    weights = {name: v for name, v in weights.items() if not name.startswith(("flatten", "one_h"))}

    with pytest.raises(WeightsError, match="flatten"):
        load_weights(model, weights)


def test_constant_buffers_may_be_missing():
    """The frequencies of the position embedding follow from the settings."""
    model, weights = model_and_weights(use_attention=True, attention_dim=4)
    frequencies = [name for name in weights if name.endswith("inverse_freq")]
    for name in frequencies:
        del weights[name]

    load_weights(model, weights)

    assert len(frequencies) == 1


def test_tensors_load_too():
    """Weights may be torch tensors, as an optimizer state or a module file holds them."""
    model, weights = model_and_weights()

    load_weights(model, {name: torch.from_numpy(value) for name, value in weights.items()})

    name = "_logits._model.0.weight"
    np.testing.assert_array_equal(model.state_dict()[name].numpy(), weights[name])


def test_components_that_old_releases_did_not_save_are_told_as_lost():
    """Ray up to 2.0 left the networks of an observation's components out of its checkpoints."""
    model, weights = model_and_weights(_disable_preprocessor_api=True)
    kept = {n: value for n, value in weights.items() if not n.startswith(("one_hot", "flatten"))}

    with pytest.raises(WeightsError, match="they are lost"):
        load_weights(model, kept)
    with pytest.raises(WeightsError, match="settings and spaces"):
        load_weights(model, {**kept, "strange": np.zeros(1)})
