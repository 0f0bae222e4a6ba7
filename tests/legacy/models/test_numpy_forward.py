"""The numpy networks equal real Ray and our torch networks, without torch, from any thread."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError, PieceError, SpaceError, WeightsError
from rlconnect.core.nets.binding import shapes_of
from rlconnect.legacy.distributions.choice import DistributionChoice
from rlconnect.legacy.heads.array_head import head_of
from rlconnect.legacy.heads.family import Blueprint
from rlconnect.legacy.models.as_data import catalog_network
from rlconnect.legacy.models.catalog import build_model

GOLDEN = Path(__file__).parents[2] / "golden" / "models"
CASES = json.loads((GOLDEN / "cases.json").read_text(encoding="utf-8"))
RECORDED = json.loads((GOLDEN / "recorded.json").read_text(encoding="utf-8"))["cases"]
VECTOR = gym.spaces.Box(-1, 1, (4,))
TWO = gym.spaces.Discrete(2)


def names_that_fit():
    """Cases with vectors and dense layers, plain or under an LSTM; the rest is torch's."""
    torch_only = ("GELU", "SELU", "Mish", "trunk", "novalue", "vision", "image", "matrix", "4d")
    starts = ("fc_", "lstm", "nest_prep", "ordered_flat_prep", "obs_discrete_prep")
    starts += ("obs_vector", "obs_multidiscrete_prep")
    return [
        name
        for name in CASES
        if name.startswith(starts)
        and not any(word in name for word in torch_only)
        and name != "lstm_nest"
    ]


def head_with(weights, model_config, obs_space, action_space, num_outputs):
    """The numpy head of a network of the catalog with so many outputs, its value told as well."""
    drawn = DistributionChoice("categorical", num_outputs, action_space)
    plan = Blueprint("PPO", obs_space, action_space, {"model": model_config}, drawn)
    return head_of(plan, catalog_network(shapes_of(weights), model_config, value="value"), weights)


def outputs_of(head, obs, state=(), seq_lens=None, **columns):
    """Outputs, values and the state afterwards."""
    found = head.run({"obs": obs, **columns}, state, seq_lens)
    return found.dist_inputs, found.extra.get("vf_preds"), found.state_out


def fits(weights, config):
    try:
        catalog_network(shapes_of(weights), config)
    except ConfigError:
        return False
    return True


def weights_of(model):
    return {key: value.numpy() for key, value in model.state_dict().items()}


@pytest.mark.parametrize("name", names_that_fit())
def test_same_numbers_as_ray(name, formula, catalog):
    """Outputs, values and states equal Ray's, step by step and on padded sequences."""
    case = CASES[name]
    shapes = catalog.facts[name]["weights"]
    weights = {key: formula.weight(key, tuple(shape)) for key, shape in shapes.items()}
    space, action = formula.policy_space(case), formula.space(case["action"])
    net = head_with(weights, case["config"], space, action, case["outputs"])

    for i, (columns, state, seq_lens) in enumerate(formula.runs(case)):
        outputs, value, after = outputs_of(net, **columns, state=state, seq_lens=seq_lens)

        got = {"outputs": outputs, "value": value}
        got |= {f"state{j}": s for j, s in enumerate(after)}
        for key, array in got.items():
            want = catalog.arrays[f"{name}|{i}|{key}"]
            assert array.dtype == np.float32
            np.testing.assert_allclose(array, want, rtol=1e-6, atol=1e-6 * np.abs(want).max())


def test_every_other_case_is_left_to_torch(formula, catalog):
    """`fits` says no to images, nested inputs, attention and activations numpy lacks."""
    fitting = set(names_that_fit())

    for name, case in CASES.items():
        shapes = catalog.facts[name]["weights"]
        weights = {key: np.zeros(shape, np.float32) for key, shape in shapes.items()}
        if case["outputs"] and not case.get("no_value"):
            assert fits(weights, case["config"]) is (name in fitting), name


@pytest.mark.parametrize("name", [n for n in RECORDED if "rlmodule" in n or "cartpole" in n])
def test_same_numbers_as_a_saved_policy(name, formula, recorded):
    """Saved models and saved RLModules give their recorded outputs."""
    case = recorded[name]
    want = case["out"]["logits"]
    space, action = formula.space(case["obs"]), formula.space(case["action"])

    net = head_with(case["weights"], case["config"], space, action, want.shape[1])
    outputs, _, _ = outputs_of(net, case["in"]["obs"])

    np.testing.assert_allclose(outputs, want, rtol=1e-6, atol=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("name", ["mlp", "mlp_share", "mlp_one", "mlp_linear"])
def test_same_numbers_as_rlmodules(name, formula, rlmodules):
    """Dense RLModules, shared or not, with and without hidden layers in the heads."""
    case, arrays = rlmodules.cases[name], rlmodules.arrays
    weights = {key: arrays[f"{name}|weights|{key}"] for key in case["weights"]}
    want = arrays[f"{name}|outputs"]
    space = formula.space(case["obs"])

    net = head_with(weights, case["config"], space, TWO, want.shape[1])
    outputs, value, _ = outputs_of(net, arrays[f"{name}|obs"])

    np.testing.assert_allclose(outputs, want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(value, arrays[f"{name}|value"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["mlp_freelog", "lstm", "cnn"])
def test_other_rlmodules_are_left_to_torch(name, rlmodules):
    """An RLModule with anything but dense layers does not fit."""
    case, arrays = rlmodules.cases[name], rlmodules.arrays
    weights = {key: arrays[f"{name}|weights|{key}"] for key in case["weights"]}

    assert not fits(weights, case["config"])


@given(
    hiddens=st.lists(st.integers(1, 140), max_size=3),
    act=st.sampled_from(["tanh", "relu", "swish", "elu", "linear"]),
    shares=st.booleans(),
    cells=st.sampled_from([0, 1, 7]),
    rows=st.integers(1, 9),
)
@settings(max_examples=40)
def test_same_numbers_as_torch(hiddens, act, shares, cells, rows):
    """For any depth, width (on both sides of the block limit) and batch, torch says the same."""
    config = {
        "fcnet_hiddens": hiddens,
        "fcnet_activation": act,
        "post_fcnet_activation": act,
        "vf_share_layers": shares,
        "use_lstm": cells > 0,
        "lstm_cell_size": cells,
    }
    torch.manual_seed(rows)
    model = build_model(VECTOR, TWO, 3, config)
    net = head_with(weights_of(model), config, VECTOR, TWO, 3)
    rng = np.random.default_rng(rows)
    obs = rng.normal(size=(rows, 4)).astype(np.float32)
    state = [rng.normal(size=(rows, cells)).astype(np.float32) for _ in "hc"] if cells else []

    outputs, value, after = outputs_of(net, obs, state)
    with torch.no_grad():
        want, want_after = model(
            {"obs": torch.from_numpy(obs)},
            [torch.from_numpy(s) for s in state],
            torch.ones(rows) if cells else None,
        )
        want_value = model.value_function().numpy()

    pairs = [(outputs, want.numpy()), (value, want_value)]
    pairs += [(a, b.numpy()) for a, b in zip(after, want_after, strict=True)]
    for got, expected in pairs:
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 * scale)


def test_rows_do_not_touch_each_other():
    """A batch gives what its rows give one by one, and inputs are left alone."""
    model = build_model(VECTOR, TWO, 2, {"vf_share_layers": False, "fcnet_activation": "swish"})
    net = head_with(
        weights_of(model), {"vf_share_layers": False, "fcnet_activation": "swish"}, VECTOR, TWO, 2
    )
    obs = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    before = obs.copy()

    outputs, value, _ = outputs_of(net, obs)

    np.testing.assert_array_equal(obs, before)
    for i in range(64):
        row, row_value, _ = outputs_of(net, obs[i : i + 1])
        np.testing.assert_allclose(row[0], outputs[i], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(row_value[0], value[i], rtol=1e-5, atol=1e-7)


def test_threads_share_one_net():
    """Nothing is kept between calls, so threads do not disturb each other."""
    model = build_model(VECTOR, TWO, 2, {})
    net = head_with(weights_of(model), {}, VECTOR, TWO, 2)
    batches = [np.full((n, 4), 0.1 * n, np.float32) for n in range(1, 33)]
    want = [outputs_of(net, batch)[0].copy() for batch in batches]

    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda batch: outputs_of(net, batch)[0], batches * 8))

    for i, outputs in enumerate(got):
        np.testing.assert_array_equal(outputs, want[i % 32])


def test_torch_is_never_imported():
    """A process that only acts through numpy does not pay for torch."""
    script = (
        "import sys, numpy as np, gymnasium as gym\n"
        "from rlconnect.legacy.heads.array_head import build_array_head\n"
        "w = {'_logits._model.0.weight': np.ones((2, 4)), '_logits._model.0.bias': np.ones(2),\n"
        "     '_value_branch._model.0.weight': np.ones((1, 4)),\n"
        "     '_value_branch._model.0.bias': np.ones(1)}\n"
        "net = build_array_head('PG', gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2),\n"
        "                       {'model': {'fcnet_hiddens': []}}, w)\n"
        "found = net.run({'obs': np.ones((1, 4))}, (), None).dist_inputs\n"
        "assert found.tolist() == [[5.0, 5.0]]\n"
        "assert 'torch' not in sys.modules\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8"
    )

    assert done.returncode == 0, done.stderr


def lstm_net():
    config = {"use_lstm": True, "lstm_cell_size": 3, "lstm_use_prev_reward": True}
    model = build_model(VECTOR, TWO, 2, config)
    return head_with(weights_of(model), config, VECTOR, TWO, 2)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        ({"obs": np.ones((2, 5))}, SpaceError, r"\(B, 4\)"),
        ({"state": []}, PieceError, "needs its state"),
        ({"seq_lens": [1, 1, 1]}, PieceError, "3 sequences"),
    ],
)
def test_calls_that_do_not_fit(call, error, match):
    """What is missing or of another shape is named."""
    zeros = np.zeros((2, 3), np.float32)
    right = {"obs": np.ones((2, 4)), "state": [zeros, zeros], "prev_rewards": np.ones(2)}

    with pytest.raises(error, match=match):
        outputs_of(lstm_net(), **{**right, **call})


def test_initial_state():
    """An LSTM starts from zeros, one row without batch dimension per array."""
    state = lstm_net().initial_state

    assert [s.shape for s in state] == [(3,), (3,)]
    assert not any(s.any() for s in state)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"obs_space": gym.spaces.Box(-1, 1, (5,))}, "4 numbers in"),
        ({"num_outputs": 3}, "another size than the actions need"),
        ({"model_config": {"vf_share_layers": True, "free_log_std": True}}, "log_std"),
    ],
)
def test_weights_that_do_not_fit(change, match):
    """Weights of other spaces or settings are refused when the net is built."""
    model = build_model(VECTOR, TWO, 2, {})
    right = {
        "weights": weights_of(model),
        "model_config": {},
        "obs_space": VECTOR,
        "action_space": TWO,
        "num_outputs": 2,
    }

    with pytest.raises(WeightsError, match=match):
        head_with(**{**right, **change})


def test_custom_models_are_left_to_torch():
    """A user's own model is never run from its weights alone."""
    model = build_model(VECTOR, TWO, 2, {})

    with pytest.raises(ConfigError, match="custom"):
        head_with(weights_of(model), {"custom_model": "net"}, VECTOR, TWO, 2)
