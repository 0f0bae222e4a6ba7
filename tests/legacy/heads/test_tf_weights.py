"""Weights of TensorFlow policies, renamed and transposed, give the outputs they gave there."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.core import nest
from rlconnect.core.errors import WeightsError
from rlconnect.legacy import Policy, local_policy_inference
from rlconnect.legacy.heads.registry import build_head
from rlconnect.legacy.heads.tf_weights import tf_to_torch_names

GOLDEN = Path(__file__).parents[2] / "golden" / "tf_weights"
RECORDED = GOLDEN / "ray-2.7.2.tar.xz"
OBS = Box(-1, 1, (5,))
ACTIONS = Discrete(2)


def renamed(saved, algorithm, config, obs_space=OBS, action_space=ACTIONS):
    return tf_to_torch_names(
        saved,
        algorithm=algorithm,
        observation_space=obs_space,
        action_space=action_space,
        config=config,
    )


def load(name):
    with np.load(GOLDEN / f"{name}.npz") as file:
        data = {key: file[key] for key in file.files}
    saved = {k.split("|", 1)[1]: v for k, v in data.items() if k.startswith("weights|")}
    meta = json.loads(str(data["meta"]))
    if meta["framework"] == "tf2":
        saved = [saved[str(i)] for i in range(len(saved))]
    return saved, data, meta


def outputs(head, obs):
    with torch.no_grad():
        return head.policy_outputs({"obs": torch.from_numpy(np.float32(obs))})


@pytest.mark.parametrize("name", ["ppo-tf-v1_0", "ppo-tf2-v1_0"])
def test_saved_policies_give_the_recorded_outputs(name):
    """Logits and values of upstream's own TensorFlow checkpoints, by name and by order."""
    saved, data, meta = load(name)
    config = {"model": meta["model"]}

    named = renamed(saved, "PPO", config, Box(-1, 1, (16,)), Discrete(4))

    head = build_head("PPO", Box(-1, 1, (16,)), Discrete(4), config, weights=named)
    out = outputs(head, data["flat"])
    for got, want in ((out.dist_inputs, data["logits"]), (out.extra["vf_preds"], data["value"])):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())


def arrays_for(layers, seed=0):
    """{layer: (inputs, outputs)} to random kernels and biases, in order."""
    rng = np.random.default_rng(seed)
    return {
        f"{name}/{part}": rng.normal(size=shape).astype(np.float32)
        for name, (inputs, width) in layers.items()
        for part, shape in (("kernel", (inputs, width)), ("bias", (width,)))
    }


def dense(arrays, name, x):
    return x @ arrays[f"{name}/kernel"] + arrays[f"{name}/bias"]


DUELING = {
    "fc_1": (5, 8),
    "fc_out": (8, 6),
    "value_out": (8, 1),
    "hidden_0": (6, 4),
    "hidden_1": (4, 3),
    "dense": (3, 2),
    "dense_1": (6, 4),
    "dense_2": (4, 3),
    "dense_3": (3, 1),
}
DQN = {"model": {"fcnet_hiddens": [8, 6]}, "hiddens": [4, 3], "dueling": True}


@pytest.mark.parametrize("eager", [False, True])
def test_dueling_q_networks(eager):
    """Q = V + A - mean(A) through a TensorFlow trunk whose last layer is fc_out."""
    arrays = arrays_for(DUELING)
    saved = list(arrays.values()) if eager else {f"scope_wk0/{k}": v for k, v in arrays.items()}
    obs = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
    x = np.tanh(dense(arrays, "fc_out", np.tanh(dense(arrays, "fc_1", obs))))
    a, v = x, x
    for name in ("hidden_0", "hidden_1"):
        a = np.maximum(dense(arrays, name, a), 0)
    for name in ("dense_1", "dense_2"):
        v = np.maximum(dense(arrays, name, v), 0)
    a, v = dense(arrays, "dense", a), dense(arrays, "dense_3", v)

    named = renamed(saved, "DQN", DQN)

    head = build_head("DQN", OBS, Discrete(2), DQN, weights=named)
    got = outputs(head, obs).dist_inputs
    np.testing.assert_allclose(got, v + a - a.mean(-1, keepdims=True), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("eager", [False, True])
def test_a_target_net_in_the_weights_is_left_out(eager):
    """A second set of layers (`fc_1_1`, ...) is the target; the plain names act."""
    shapes = {"fc_1": (5, 4), "fc_2": (4, 4), "fc_out": (4, 2), "value_out": (4, 1)}
    acting = arrays_for(shapes)
    older = arrays_for(shapes, seed=9)
    if eager:
        saved = [*acting.values(), *older.values()]
    else:
        copies = {f"p/{k.replace('/', '_1/')}": v for k, v in older.items()}
        saved = {**copies, **{f"p/{k}": v for k, v in acting.items()}}

    named = renamed(saved, "APPO", {"model": {"fcnet_hiddens": [4, 4]}})

    np.testing.assert_array_equal(
        named["_hidden_layers.1._model.0.weight"].T, acting["fc_2/kernel"]
    )
    np.testing.assert_array_equal(named["_value_branch._model.0.bias"], acting["value_out/bias"])
    assert len(named) == 8


def test_what_training_keeps_beside_the_layers_is_left_out():
    """Slots of an optimiser and a loss's own numbers lie among the weights of old files."""
    saved = {f"p/{name}": value for name, value in GOOD.items()}
    slots = {f"{name}/Adam": value for name, value in saved.items()}

    named = renamed({**saved, **slots, "p/kl_coeff": np.float32(0.2)}, "PPO", {"model": NET})

    assert len(named) == len(saved)


def test_own_value_net_is_seen_in_the_names():
    """In graph mode the names tell a separate value net, whatever the settings default to."""
    shapes = {"fc_1": (5, 4), "fc_value_1": (5, 4), "fc_out": (4, 2), "value_out": (4, 1)}
    saved = {f"p/{k}": v for k, v in arrays_for(shapes).items()}
    saved["p/log_std"] = np.zeros(2, np.float32)
    config = {"model": {"fcnet_hiddens": [4], "free_log_std": True}}

    named = renamed(saved, "A2C", config, action_space=Box(-1, 1, (2,)))

    assert "_value_branch_separate.0._model.0.weight" in named
    assert named["_append_free_log_std.log_std"].shape == (2,)


GOOD = arrays_for({"fc_1": (5, 4), "fc_out": (4, 2), "value_out": (4, 1)})
LISTED = list(GOOD.values())
CONV = {"p/conv/kernel": GOOD["fc_1/kernel"], "p/conv/bias": GOOD["fc_1/bias"]}
NO_VALUE = {f"p/{name}": value for name, value in GOOD.items() if "value" not in name}
DEEP = [LISTED[0][None], *LISTED[1:]]
MODULE = {"_enable_rl_module_api": True}
NET = {"fcnet_hiddens": [4], "vf_share_layers": True}


@pytest.mark.parametrize(
    ("saved", "algorithm", "config", "match"),
    [
        ({}, "PPO", {"model": NET}, "no layer 'fc_1'"),
        (CONV, "PPO", {"model": NET}, "unknown layer 'p/conv/kernel'"),
        (NO_VALUE, "PPO", {"model": NET}, "no layer 'value_out'"),
        (LISTED[:5], "PPO", {"model": NET}, "5 arrays where 6"),
        (LISTED, "PPO", {"model": {**NET, "fcnet_hiddens": [3]}}, "3 outputs"),
        (LISTED, "PPO", {"model": {**NET, "fcnet_hiddens": [4, 4]}}, "fc_2"),
        (LISTED, "PPO", {"model": {**NET, "custom_model": "mine"}}, "custom model"),
        (LISTED, "PPO", {"model": {**NET, "no_final_linear": True}}, "no_final_linear"),
        (DEEP, "PPO", {"model": NET}, r"\(1, 5, 4\)"),
        (LISTED, "ES", {"model": NET}, "ES"),
        (LISTED, "DQN", {"model": NET, "exploration_config": {"type": "ParameterNoise"}}, "Noise"),
        (LISTED, "PPO", {"model": {**NET, "use_attention": True}}, "part of attention's"),
        (LISTED, "PPO", {"model": {**NET, "use_lstm": True}, **MODULE}, "RLModules with an LSTM"),
        (LISTED, "DQN", {"model": NET, "hiddens": [], "num_atoms": 3}, "without hiddens"),
    ],
)
def test_weights_that_cannot_be_taken_are_listed(saved, algorithm, config, match):
    """A misfit says what was expected and lists what was found, names and shapes."""
    with pytest.raises(WeightsError, match=match) as error:
        renamed(saved, algorithm, config)

    assert len(error.value.found_arrays) == len(saved)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The recorded policies, unpacked."""
    folder = tmp_path_factory.mktemp("tf")
    with tarfile.open(RECORDED) as tar:
        tar.extractall(folder, filter="data")
    return folder


def recorded_names():
    with tarfile.open(RECORDED) as tar:
        return sorted({name.partition("/")[0] for name in tar.getnames()})


def recorded_steps(folder):
    """Each step as {kind: {part: array}}, the observation as the environment gave it."""
    steps = {}
    with np.load(folder / "steps.npz") as file:
        for key in file.files:
            step, kind, *part = key.split("|")
            steps.setdefault(step, {}).setdefault(kind, {})["".join(part)] = file[key]
    for step in steps.values():
        parts = step["obs"]
        if list(parts) == [""]:
            step["obs"] = parts[""]
        elif all(map(str.isdigit, parts)):
            step["obs"] = tuple(parts.values())
    return list(steps.values())


@pytest.mark.parametrize("name", ["tf-attn3", "tf-cnnpost-shared", "tf-dqnnod"])
def test_exported_policies_act_alike(folders, tmp_path, name):
    """What TensorFlow computes otherwise than torch stays so in our own format."""
    policy = Policy.from_checkpoint(folders / name)
    obs = recorded_steps(folders / name)[0]["obs"]

    policy.export_checkpoint(tmp_path / "own")

    again = Policy.from_checkpoint(tmp_path / "own")
    ((_, _, got),) = local_policy_inference(again, "env", "agent", obs, explore=False)
    ((_, _, wanted),) = local_policy_inference(policy, "env", "agent", obs, explore=False)
    assert "action_dist_inputs" in wanted
    for key in wanted:
        np.testing.assert_array_equal(got[key], wanted[key])


@pytest.mark.parametrize("name", recorded_names())
def test_policies_act_as_they_did_in_ray(folders, name):
    """Actions, states and fetches of three steps are those of TensorFlow."""
    policy = Policy.from_checkpoint(folders / name)

    for step in recorded_steps(folders / name):
        end = {"terminated": False, "truncated": False, "info": {}} if "reward" in step else {}
        reward = float(step["reward"][""]) if "reward" in step else None
        ((action, state, fetches),) = local_policy_inference(
            policy, "env", "agent", step["obs"], reward, explore=False, **end
        )
        wanted = {k: v for k, v in step["fetch"].items() if k in fetches}
        assert "action_dist_inputs" in wanted
        for key, value in wanted.items():
            np.testing.assert_allclose(fetches[key], value, rtol=1e-5, atol=1e-5, err_msg=key)
        for got, kind in ((action, "action"), (state, "state")):
            leaves = [np.asarray(leaf) for leaf in nest.flatten(got)]
            assert len(leaves) == len(step.get(kind, {}))
            for leaf, value in zip(leaves, step.get(kind, {}).values(), strict=True):
                np.testing.assert_allclose(leaf, value, rtol=1e-5, atol=1e-5, err_msg=kind)
