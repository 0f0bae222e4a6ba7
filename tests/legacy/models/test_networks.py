"""Each network says what is wrong with its settings and inputs, and learns end to end."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import ConfigError, PieceError, SpaceError
from rlconnect.legacy.models.attention import AttentionWrapper, GTrXLNet
from rlconnect.legacy.models.catalog import build_model
from rlconnect.legacy.models.defaults import MODEL_DEFAULTS, get_filter_config, with_defaults
from rlconnect.legacy.models.lstm import LSTMWrapper, RecurrentNetwork, add_time_dimension
from rlconnect.legacy.models.visionnet import VisionNetwork

VECTOR = Box(-1, 1, (4,))
IMAGE = Box(0, 255, (10, 10, 3), np.uint8)
NEST = Dict({"a": Box(-1, 1, (3,)), "b": Discrete(2)})
TWO = Discrete(2)
FILTERS = [[4, [4, 4], 2], [5, [5, 5], 1]]


@pytest.mark.parametrize(
    ("space", "config"),
    [
        (VECTOR, {}),
        (IMAGE, {"conv_filters": FILTERS}),
        (NEST, {"_disable_preprocessor_api": True}),
        (VECTOR, {"use_lstm": True}),
        (VECTOR, {"use_attention": True}),
    ],
)
def test_value_needs_a_forward(space, config):
    """Asking for values first is an error, not the values of nothing."""
    model = build_model(space, TWO, 2, config)

    with pytest.raises(PieceError, match="before forward"):
        model.value_function()


@pytest.mark.parametrize("config", [{}, {"use_lstm": True}, {"use_attention": True}])
def test_gradients_reach_what_forward_uses(config):
    """Training through outputs and values moves the trunk and both heads."""
    config = {"fcnet_hiddens": [8], "attention_dim": 8, "lstm_cell_size": 8, **config}
    model = build_model(VECTOR, TWO, 2, config)
    state = [s.expand(2, *s.shape) for s in model.get_initial_state()]
    if "use_attention" in config:
        state = [s.unsqueeze(1).expand(-1, 50, -1) for s in state]

    outputs, _ = model({"obs": torch.ones(6, 4)}, state, torch.tensor([3, 3]))
    (outputs.square().sum() + model.value_function().square().sum()).backward()

    moved = {name for name, p in model.named_parameters() if p.grad is not None}
    unused = {name for name, _ in model.named_parameters()} - moved
    assert all("_value_branch_separate" in name for name in unused)
    assert any("_hidden_layers" in name for name in moved)


def test_no_final_linear_with_another_value_width():
    """Ray fails on a matrix product when a separate value net ends in another width; we say why."""
    config = {"no_final_linear": True, "vf_share_layers": False, "fcnet_hiddens": [6]}
    model = build_model(VECTOR, TWO, 3, config)
    model({"obs": torch.ones(1, 4)})

    with pytest.raises(ConfigError, match="a last hidden layer of 3"):
        model.value_function()


@pytest.mark.parametrize(
    ("config", "match"),
    [
        ({"conv_filters": [[4, [4, 4], 2], [5, [3, 3], 1]]}, "found 3x3"),
        ({"conv_filters": [[4, [4, 4], 2], [5, [9, 9], 1]]}, "found 0x0"),
        (
            {"conv_filters": FILTERS, "post_fcnet_hiddens": [3], "no_final_linear": True},
            "post_fcnet_hiddens",
        ),
    ],
)
def test_convolutions_that_cannot_work(config, match):
    """Filters that leave no single cell are refused when the network is built."""
    with pytest.raises(ConfigError, match=match):
        build_model(IMAGE, TWO, 2, config)


def test_image_network_without_get_filter_config():
    """An unusual image size needs filters; the error lists the usual ones."""
    with pytest.raises(ConfigError, match="84x84") as caught:
        build_model(Box(0, 255, (20, 30, 3), np.uint8), TWO, 2, {})

    assert "conv_filters" in caught.value.hint


def test_image_network_needs_an_image():
    """A vector is no image."""
    with pytest.raises(ConfigError, match=r"\(H, W, C\)"):
        VisionNetwork(VECTOR, TWO, 2, MODEL_DEFAULTS)


def test_shared_value_branch_after_dense_layers():
    """Outputs work as in Ray; values, which Ray cannot compute here, are refused by name."""
    config = {"conv_filters": FILTERS, "post_fcnet_hiddens": [6], "vf_share_layers": True}
    model = build_model(IMAGE, TWO, 2, config)

    outputs, _ = model({"obs": torch.zeros(2, 10, 10, 3)})

    assert outputs.shape == (2, 2)
    with pytest.raises(ConfigError, match="vf_share_layers=False"):
        model.value_function()


@pytest.mark.parametrize("shape", [(42, 42), (42, 42, 4), (4, 42, 42)])
def test_get_filter_config_by_size(shape):
    """Height and width decide, wherever the channels are."""
    assert get_filter_config(shape)[-1] == [256, [11, 11], 1]


def test_nested_network_with_missing_parts():
    """An observation that lacks a part is counted, not misread."""
    model = build_model(NEST, TWO, 2, {"_disable_preprocessor_api": True})

    with pytest.raises(PieceError, match="2 leaves"):
        model({"obs": {"a": torch.ones(1, 3)}})


def test_discrete_part_out_of_range():
    """A discrete value outside its space is named with the space."""
    model = build_model(NEST, TWO, 2, {"_disable_preprocessor_api": True})

    with pytest.raises(SpaceError, match=r"Discrete\(2\)"):
        model({"obs": {"a": torch.ones(1, 3), "b": torch.tensor([2])}})


def test_lstm_without_state():
    """A recurrent policy called like a stateless one is told what to pass."""
    model = build_model(VECTOR, TWO, 2, {"use_lstm": True})

    with pytest.raises(PieceError, match="get_initial_state"):
        model({"obs": torch.ones(1, 4)}, [], torch.ones(1))


def test_lstm_views_earlier_actions_and_rewards():
    """The columns an LSTM adds look one step back."""
    config = {"use_lstm": True, "lstm_use_prev_action": True, "lstm_use_prev_reward": True}
    model = build_model(VECTOR, TWO, 2, config)

    assert model.view_requirements["prev_actions"] == {
        "data_col": "actions",
        "shift": -1,
        "space": TWO,
    }
    assert model.view_requirements["prev_rewards"] == {"data_col": "rewards", "shift": -1}


def test_lstm_steps_equal_a_sequence():
    """Carrying the state by hand gives what one pass over the sequence gives."""
    torch.manual_seed(0)
    model = build_model(VECTOR, TWO, 2, {"use_lstm": True, "lstm_cell_size": 5})
    obs = torch.randn(8, 4)  # two sequences of four steps
    state = [s.expand(2, -1) for s in model.get_initial_state()]

    with torch.no_grad():
        whole, whole_state = model({"obs": obs}, state, torch.tensor([4, 4]))
        steps = []
        for t in range(4):
            out, state = model({"obs": obs[[t, 4 + t]]}, state, torch.ones(2))
            steps.append(out)

    np.testing.assert_allclose(torch.stack(steps, 1).reshape(8, 2), whole, atol=1e-6)
    for got, want in zip(state, whole_state, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_time_major_swaps_axes():
    """Time-major networks see (T, B, features)."""
    flat = torch.arange(6.0).reshape(6, 1)

    assert add_time_dimension(flat, [3, 3]).shape == (2, 3, 1)
    assert add_time_dimension(flat, [3, 3], time_major=True)[0].tolist() == [[0.0], [3.0]]
    assert add_time_dimension(flat, None).shape == (6, 1, 1)
    with pytest.raises(PieceError, match="4 sequences"):
        add_time_dimension(flat, [1] * 4)


def test_own_recurrent_model():
    """A user's recurrent model writes forward_rnn and sees a time axis."""

    class Summing(RecurrentNetwork, torch.nn.Module):
        def __init__(self, *positional):
            torch.nn.Module.__init__(self)
            super().__init__(*positional)

        def get_initial_state(self):
            return [torch.zeros(4)]

        def forward_rnn(self, inputs, state, seq_lens):
            sums = state[0][:, None] + inputs.cumsum(1)
            return sums, [sums[:, -1]]

    model = Summing(VECTOR, TWO, 4, {}, "")
    outputs, state = model({"obs": torch.ones(6, 4)}, [torch.zeros(2, 4)], torch.tensor([3, 3]))

    assert outputs[:, 0].tolist() == [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    assert state[0][:, 0].tolist() == [3.0, 3.0]
    with pytest.raises(NotImplementedError, match="forward_rnn"):
        RecurrentNetwork(VECTOR, TWO, 2, {}).forward_rnn(torch.ones(1, 1, 4), [], None)


def test_attention_views_its_memories():
    """Each unit's memory is a window of what the unit gave out before."""
    config = {"use_attention": True, "attention_memory_inference": 7, "max_seq_len": 9}
    model = build_model(VECTOR, TWO, 2, {**config, "attention_use_n_prev_actions": 3})

    view = model.view_requirements["state_in_0"]

    assert isinstance(model, AttentionWrapper)
    assert view["data_col"] == "state_out_0"
    assert view["shift"] == "-7:-1"
    assert view["batch_repeat_value"] == 9
    assert view["space"].shape == (64,)
    assert model.view_requirements["prev_actions"]["shift"] == "-3:-1"
    assert model.view_requirements["obs"]["space"] is VECTOR


def test_attention_without_memories():
    """The number and shape of the memories is said."""
    model = build_model(VECTOR, TWO, 2, {"use_attention": True})

    with pytest.raises(PieceError, match=r"\(B, M, 64\)"):
        model({"obs": torch.ones(1, 4)}, [], torch.ones(1))


def test_attention_never_looks_ahead():
    """Changing a later step of a segment leaves earlier outputs alone."""
    torch.manual_seed(0)
    net = GTrXLNet(VECTOR, TWO, 3, with_defaults({}), attention_dim=8, memory_inference=4)
    obs = torch.randn(5, 4)
    changed = obs.clone()
    changed[3] += 1
    memory = [torch.randn(1, 4, 8)]

    with torch.no_grad():
        first, _ = net({"obs": obs}, memory, torch.tensor([5]))
        first_value = net.value_function()
        second, _ = net({"obs": changed}, memory, torch.tensor([5]))

    assert torch.equal(first[:3], second[:3])
    assert not torch.equal(first[3:], second[3:])
    assert first_value.shape == (5,)


@pytest.mark.parametrize("wrapper", [LSTMWrapper, AttentionWrapper])
def test_wrapping_a_model_of_unknown_width(wrapper):
    """A custom model that leaves num_outputs open cannot be wrapped, and is named."""
    key = "use_lstm" if wrapper is LSTMWrapper else "use_attention"

    class Vague(build_model(VECTOR, TWO, 2, {}).__class__):
        def __init__(self, *positional):
            super().__init__(*positional)
            self.num_outputs = None

    with pytest.raises(ConfigError, match=f"Vague_as_{wrapper.__name__}"):
        build_model(VECTOR, TWO, 2, {"custom_model": "v", key: True}, custom_models={"v": Vague})


def test_old_switch_for_earlier_actions_and_rewards():
    """One setting of very old configs turns both on."""
    config = with_defaults({"lstm_use_prev_action_reward": True})

    assert config["lstm_use_prev_action"] is True
    assert config["lstm_use_prev_reward"] is True
    assert with_defaults({})["lstm_use_prev_action"] is False
    assert MODEL_DEFAULTS["lstm_use_prev_action"] is False
    assert isinstance(VECTOR, gym.Space)
