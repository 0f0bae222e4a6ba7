"""Policies whose network is data compute what real Ray computed with their authors' classes."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError, RlconnectError, SpaceError, WeightsError
from rlconnect.core.nets import network_of
from rlconnect.core.nets.files import read_description
from rlconnect.legacy import Policy

OLD = Path(__file__).parents[2] / "golden" / "custom_networks" / "old"
NAMES = sorted(file.stem for file in OLD.glob("*.toml"))
DENSE = {"layers": [{"dense": "fc"}], "outputs": {"logits": "fc"}}


def recorded(name):
    return json.loads((OLD / f"{name}.json").read_text(encoding="utf-8"))


def columns(kept):
    states = [np.array(state, np.float32) for state in kept["state_in"]]
    return np.array(kept["obs"], np.float32), states


def check(policy, kept):
    """The policy's outputs, values and states are those of the recording."""
    actions, states, fetches = policy.compute_actions(*columns(kept), explore=False)
    for name in ("action_dist_inputs", "vf_preds", "q_values"):
        assert (name in kept) == (name in fetches), name
        if name in kept:
            np.testing.assert_allclose(fetches[name], kept[name], rtol=1e-5, atol=1e-5)
    for own, other in zip(states, kept["state_out"], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-5)
    return actions


@pytest.mark.parametrize("name", NAMES)
def test_described_networks_compute_what_ray_did(name, tmp_path):
    """In numpy and in torch, and after being saved and loaded without the description."""
    kept = recorded(name)
    policy = Policy.from_checkpoint(OLD / name, model=OLD / f"{name}.toml")

    check(policy, kept)
    policy.export_checkpoint(tmp_path / "saved")
    again = Policy.from_checkpoint(tmp_path / "saved", check=True)
    check(again, kept)
    for each in (policy, again):
        each.networks.torch()
        each.networks.numpy = None
        check(each, kept)
    weights = policy.get_weights()
    policy.set_weights({key: part * 0 for key, part in weights.items()})
    policy.set_weights(weights)
    check(policy, kept)


@pytest.mark.parametrize("form", ["toml", "dict", "json", "network", "policies"])
def test_every_form_of_a_description(form, tmp_path):
    """A path of TOML or JSON, a dict, a Network and a table by policy id say the same."""
    data = read_description(OLD / "mlp.toml")
    given = {"toml": str(OLD / "mlp.toml"), "dict": data, "network": network_of(data)}
    given["policies"] = {"policies": {"default_policy": data}}
    if form == "json":
        given["json"] = tmp_path / "net.json"
        given["json"].write_text(json.dumps(data), encoding="utf-8")

    check(Policy.from_checkpoint(OLD / "mlp", model=given[form]), recorded("mlp"))


def changed(**values):
    return {**read_description(OLD / "mlp.toml"), **values}


def with_layer(index, **values):
    layers = list(read_description(OLD / "mlp.toml")["layers"])
    layers[index] = {**layers[index], **values}
    return changed(layers=layers)


@pytest.mark.parametrize(
    ("description", "kind", "match"),
    [
        (changed(layers=[]), ConfigError, "has no layers"),
        (changed(outputs={}), ConfigError, "has no outputs"),
        (changed(outputs={"logits": "policy_haed"}), ConfigError, "did you mean 'policy_head'"),
        (changed(outputs={"value": "value_head"}), ConfigError, "either logits, or q"),
        (changed(layer=[]), ConfigError, "did you mean 'layers'"),
        (changed(policies={}), ConfigError, "a table `policies` alone"),
        (with_layer(0, dense="fc0", name="fc1"), WeightsError, "did you mean 'fc"),
        (with_layer(0, activatoin="relu"), ConfigError, "did you mean 'activation'"),
        (with_layer(0, activation="rellu"), ConfigError, "did you mean 'relu'"),
        (with_layer(0, input="observation"), ConfigError, "reads what no layer before it gives"),
        (with_layer(0, input="obs.x"), SpaceError, "reads what is not observed"),
        (with_layer(1, input="obs"), WeightsError, "'fc2' .dense. .*: expected 8 numbers in"),
        (with_layer(0, stride=2), ConfigError, "unknown setting"),
        (with_layer(1, dense="fc1"), ConfigError, "a unique name"),
        (changed(outputs={"logits": "fc2"}), SpaceError, "expected 3 numbers, found shape .8,"),
        (changed(unused=["fc1*"]), WeightsError, "'fc1.weight' in a layer"),
        (changed(unused=["nothing"]), WeightsError, "no weight of that name"),
        (
            changed(layers=[*changed()["layers"][:3]], outputs={"logits": "policy_head"}),
            WeightsError,
            'no place for 2 of the weights.*unused = ."value_head.weight"',
        ),
        ("nowhere.toml", ConfigError, "cannot be read"),
        (3, ConfigError, "expected a mapping"),
    ],
)
def test_a_description_that_does_not_fit_is_told(description, kind, match):
    """Names, settings, shapes, spaces and weights left over: which, expected, found."""
    with pytest.raises(kind, match=f"(?s){match}"):
        Policy.from_checkpoint(OLD / "mlp", model=description)


def test_weights_left_over_may_be_declared():
    """What acting does not need is listed, and stays with the policy."""
    layers = changed()["layers"][:3]
    given = {"layers": layers, "outputs": {"logits": "policy_head"}, "unused": ["value_*"]}

    policy = Policy.from_checkpoint(OLD / "mlp", model=given)

    assert "value_head.weight" in policy.get_weights()
    assert "vf_preds" not in policy.compute_actions(*columns(recorded("mlp")), explore=False)[2]


def test_a_policy_without_weights_says_so():
    """A description names weights; without them there is no network."""
    with pytest.raises(ConfigError, match="needs its weights"):
        Policy(Box(-1, 1, (3,)), Discrete(2), {"model": {"rlconnect_network": DENSE}})


@pytest.mark.parametrize(
    "layer",
    [
        {"convolution": "c", "padding": 10**6},
        {"pool": "max", "size": 10**6, "padding": 10**6},
        {"reshape": [-1, 10**6]},
        {"reshape": [-1, -1]},
        {"permute": [0, 0, 1]},
        {"slice": [3, 2]},
        {"clip": [1, 0]},
        {"divide": 0},
        {"embedding": "c"},
        {"lstm": "c"},
        {"batch_norm": "c"},
        {"input": ["obs"] * 33, "flatten": True},
        {"dense": ""},
        {"dense": None},
        {"flatten": False},
        {"mask": "obs.mask"},
        {"dueling": ["obs"]},
        {"add": ["obs", "fc"]},
        {"parameter": "c"},
        {"conv": "c"},
        {},
        [],
    ],
)
def test_hostile_descriptions_are_refused_fast(layer):
    """No setting asks for more room than the weights take, and none ends in a foreign error."""
    given = {"layers": [layer, *changed()["layers"]], "outputs": changed()["outputs"]}
    given["layers"][1] = {**given["layers"][1], "input": "obs"}

    with pytest.raises(RlconnectError):
        Policy.from_checkpoint(OLD / "mlp", model=given)


def test_doubled_inputs_meet_the_bound():
    """Layers that repeat their input fifty times over are stopped by what they would take."""
    layers = [
        {"flatten": True, "input": [name, name], "name": f"x{i}"}
        for i, name in enumerate(["obs", *(f"x{i}" for i in range(50))])
    ]

    with pytest.raises(ConfigError, match="far more than there are weights"):
        Policy.from_checkpoint(OLD / "mlp", model={"layers": layers, "outputs": {"logits": "x50"}})


@pytest.mark.parametrize("framework", ["torch", "tf"])
def test_files_of_ray_1(framework, tmp_path, rng):
    """A `checkpoint-N` holds weights by torch's names or Keras's; spaces come from the caller."""
    shapes = {"fc": (8, 4), "policy": (2, 8), "value": (1, 8)}
    kernels = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    weights = {}
    for name, kernel in kernels.items():
        if framework == "torch":
            weights |= {f"{name}.weight": kernel, f"{name}.bias": np.zeros(len(kernel), np.float32)}
        else:
            weights |= {f"default_policy/{name}/kernel": kernel.T}
            weights |= {f"default_policy/{name}/bias": np.zeros(len(kernel), np.float32)}
    worker = {"filters": {"default_policy": {}}, "state": {"default_policy": {"weights": weights}}}
    folder = tmp_path / "checkpoint_000001"
    folder.mkdir()
    (folder / "checkpoint-1").write_bytes(pickle.dumps({"worker": pickle.dumps(worker)}))
    settings = {"env": "X", "framework": framework, "model": {"custom_model": "theirs"}}
    (tmp_path / "params.pkl").write_bytes(pickle.dumps(settings))
    head = "" if framework == "torch" else "default_policy/"
    network = {
        "layers": [
            {"dense": f"{head}fc", "activation": "tanh"},
            {"dense": f"{head}policy"},
            {"dense": f"{head}value", "input": f"{head}fc"},
        ],
        "outputs": {"logits": f"{head}policy", "value": f"{head}value"},
    }

    policy = Policy.from_checkpoint(
        folder,
        model=network,
        algorithm="PPO",
        observation_space=Box(-1, 1, (4,)),
        action_space=Discrete(2),
    )["default_policy"]

    obs = rng.uniform(-1, 1, (5, 4)).astype(np.float32)
    fetches = policy.compute_actions(obs, explore=False)[2]
    features = np.tanh(obs @ kernels["fc"].T)
    np.testing.assert_allclose(
        fetches["action_dist_inputs"], features @ kernels["policy"].T, rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(
        fetches["vf_preds"], (features @ kernels["value"].T)[:, 0], rtol=1e-5, atol=1e-5
    )
