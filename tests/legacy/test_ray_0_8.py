"""Policies that Ray 0.8 to 1.4 saved: a worker's state, and at best the settings of its trial."""

import json
import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import ConfigError, SpaceError, UnknownNameError, WeightsError
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.verdict import verdict
from rlconnect.legacy import Policy, local_policy_inference

SEES, CHOICES = Box(-1, 1, (4,)), Discrete(2)
NUMBERS = Box(np.float32([-2.0, 0.0]), np.float32([2.0, 1.0]))
TRIAL = "PPO_CartPole-v0_0_2020-03-17_11-22-33abcdefgh"


def saved(folder, state, *, trial=TRIAL, params=None, **more):
    """A trial's folder as Tune left it, with one checkpoint of a worker in it."""
    place = folder / trial / "checkpoint_9"
    place.mkdir(parents=True)
    if params is not None:
        (place.parent / "params.json").write_text(json.dumps(params), encoding="utf-8")
    inner = pickle.dumps({"filters": {}, "state": {"default_policy": state, **more}})
    (place / "checkpoint-9").write_bytes(pickle.dumps({"worker": inner}))
    return place


def dense(rng, name, inputs, outputs):
    """A dense layer under torch's names."""
    weight = rng.normal(size=(outputs, inputs)).astype(np.float32)
    return {f"{name}.weight": weight, f"{name}.bias": rng.normal(size=outputs).astype(np.float32)}


def torch_net(rng, outputs=2, separate=False):
    """A trunk of 8 units, logits and a value, shared or with units of its own."""
    net = dense(rng, "_hidden_layers.0._model.0", 4, 8) | dense(rng, "_logits._model.0", 8, outputs)
    if separate:
        net |= dense(rng, "_value_branch_separate.0._model.0", 4, 8)
    return net | dense(rng, "_value_branch._model.0", 8, 1)


def tf_net(net):
    """The same arrays as TensorFlow saved them."""
    names = {
        "_hidden_layers.0._model.0": "fc_1",
        "_value_branch_separate.0._model.0": "fc_value_1",
        "_logits._model.0": "fc_out",
        "_value_branch._model.0": "value_out",
    }
    found = {}
    for name, array in net.items():
        layer, part = name.rsplit(".", 1)
        kind = "kernel" if part == "weight" else "bias"
        found[f"default_policy/{names[layer]}/{kind}"] = array.T
    return found


def layer(net, name, x):
    return x @ net[f"{name}.weight"].T + net[f"{name}.bias"]


def answers(policy, obs):
    _, _, fetches = policy.compute_actions(obs, explore=False)
    return fetches["action_dist_inputs"], fetches["vf_preds"]


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("said", [True, False, None])
@pytest.mark.parametrize("form", ["torch", "tf"])
def test_the_weights_say_whose_layers_the_value_has(separate, said, form, rng, tmp_path):
    """`vf_share_layers` beside `model`, as Ray 0.8 had it, or nowhere: the saved network acts."""
    net = torch_net(rng, separate=separate)
    params = {"env": "CartPole-v0", "model": {"fcnet_hiddens": [8]}}
    params |= {} if said is None else {"vf_share_layers": said}
    path = saved(tmp_path, net if form == "torch" else tf_net(net), params=params)
    obs = rng.normal(size=(5, 4)).astype(np.float32)

    policy = Policy.from_checkpoint(path, observation_space=SEES, action_space=CHOICES)
    logits, values = answers(policy["default_policy"], obs)

    hidden = np.tanh(layer(net, "_hidden_layers.0._model.0", obs))
    own = "_value_branch_separate.0._model.0"
    below = np.tanh(layer(net, own, obs)) if separate else hidden
    np.testing.assert_allclose(logits, layer(net, "_logits._model.0", hidden), atol=1e-5)
    np.testing.assert_allclose(values, layer(net, "_value_branch._model.0", below)[:, 0], atol=1e-5)
    assert policy["default_policy"].model.state_dict().keys() == net.keys()


def test_eager_tensorflow_of_ray_1_keeps_its_weights_below_a_key(rng, tmp_path):
    """The list under `_state` are the weights, and the setting beside `model` says whose."""
    net = torch_net(rng)
    arrays = list(tf_net(net).values())
    params = {"env": "CartPole-v0", "vf_share_layers": True, "model": {"fcnet_hiddens": [8]}}
    path = saved(tmp_path, {"_state": arrays, "_optimizer_variables": []}, params=params)
    obs = rng.normal(size=(5, 4)).astype(np.float32)

    policies = Policy.from_checkpoint(path, observation_space=SEES, action_space=CHOICES)

    hidden = np.tanh(layer(net, "_hidden_layers.0._model.0", obs))
    np.testing.assert_allclose(
        answers(policies["default_policy"], obs)[0],
        layer(net, "_logits._model.0", hidden),
        atol=1e-5,
    )


def ddpg_net(rng):
    """A TD3 policy of Ray 0.8: scopes of numbered layers, targets beside them."""
    found = {}
    for scope, inputs, outputs in (("policy", 4, 2), ("critic", 6, 1), ("twin_critic", 6, 1)):
        widths = [inputs, 8, 6, outputs]
        for i in range(3):
            name = "dense" if i == 0 else f"dense_{i}"
            for prefix in ("", "target_"):
                where = f"default_policy/{prefix}{scope}/{name}"
                found[f"{where}/kernel"] = rng.normal(size=widths[i : i + 2]).astype(np.float32)
                found[f"{where}/bias"] = rng.normal(size=widths[i + 1]).astype(np.float32)
    return found


def test_td3_of_ray_0_8_acts(rng, tmp_path):
    """Its state is a list, its layers have numbers for names, its actions are the environment's."""
    net = ddpg_net(rng)
    params = {"env": "Arm-v0", "actor_hiddens": [8, 6], "critic_hiddens": [8, 6]}
    trial = "TD3_Arm-v0_0_2020-01-02_03-04-05xyz"
    path = saved(tmp_path, [net, 0.3, False], trial=trial, params=params)
    x = obs = rng.uniform(-1, 1, 4).astype(np.float32)

    found = Policy.from_checkpoint(path, observation_space=SEES, action_space=NUMBERS)
    policy = found["default_policy"]
    ((action, _, _),) = local_policy_inference(policy, 0, "a", obs, explore=False)

    for i, name in enumerate(("dense", "dense_1", "dense_2")):
        x = (
            x @ net[f"default_policy/policy/{name}/kernel"]
            + net[f"default_policy/policy/{name}/bias"]
        )
        x = np.maximum(x, 0) if i < 2 else x
    want = NUMBERS.low + (NUMBERS.high - NUMBERS.low) / (1 + np.exp(-2 * x))
    assert policy.algorithm == "TD3"
    np.testing.assert_allclose(action, want, atol=1e-5)


@pytest.mark.parametrize(
    "state",
    [
        [np.ones((4, 8), np.float32), np.ones(8, np.float32)],
        {"mixer": {"w": np.ones((2, 2), np.float32)}, "model": {"fc1": np.ones(3, np.float32)}},
    ],
    ids=["maddpg", "qmix"],
)
def test_weights_are_found_wherever_a_state_holds_them(state, tmp_path):
    """What cannot act still tells its arrays, and the error says whose policy it is."""
    trial = "contrib_MADDPG_particles_0_2020-01-02_03-04-05"
    path = saved(tmp_path, state, trial=trial, params={"env": "particles"})

    record = open_checkpoint(path).policies["default_policy"]

    assert len(record.weights) == 2
    assert record.algorithm == "MADDPG"
    with pytest.raises(UnknownNameError, match=r"(?s)MADDPG.*cannot act"):
        Policy.from_checkpoint(path, observation_space=SEES, action_space=CHOICES)


@pytest.mark.parametrize(
    ("trial", "params", "algorithm"),
    [
        ("A3C_CartPole-v0_4_2020-03-17_11-22-33", {}, "A3C"),
        ("PPO_CartPole-v0_1a2b3_00000_0_lr=0.1_2021-03-17_11-22-33", {}, "PPO"),
        ("my_run", {"num_sgd_iter": 5}, "PPO"),
        ("my_run", {"vtrace": True}, "IMPALA"),
        ("my_run", {}, "PPO"),
        ("DQN_CartPole-v0_0_2020-03-17_11-22-33", {}, "PPO"),
    ],
)
def test_the_algorithm_is_told_by_what_lies_around(trial, params, algorithm, rng, tmp_path):
    """The trial's name, its settings, or the weights, which decide against a wrong name."""
    params = {"env": "CartPole-v0", "model": {"fcnet_hiddens": [8]}, **params}
    path = saved(tmp_path, torch_net(rng), trial=trial, params=params)

    checkpoint = open_checkpoint(path)

    assert checkpoint.algorithm == algorithm
    assert any("names no algorithm" in problem.what for problem in checkpoint.problems)


def test_the_caller_names_the_algorithm(rng, tmp_path):
    """`algorithm=` goes before what was guessed, in any spelling; one nobody knows is refused."""
    path = saved(tmp_path, torch_net(rng), params={"env": "x", "model": {"fcnet_hiddens": [8]}})
    spaces = {"observation_space": SEES, "action_space": CHOICES}

    found = Policy.from_checkpoint(path, algorithm="APPOTrainer", **spaces)

    assert found["default_policy"].algorithm == "APPO"
    with pytest.raises(UnknownNameError, match="PPPO"):
        Policy.from_checkpoint(path, algorithm="PPPO", **spaces)


def test_a_network_nobody_knows_asks_for_the_algorithm(rng, tmp_path):
    """Where nothing tells, the error names the option."""
    path = saved(tmp_path, dense(rng, "net.0", 4, 2), trial="run", params={"env": "x", "lr": 1})

    with pytest.raises(ConfigError, match='algorithm="PPO"'):
        Policy.from_checkpoint(path, observation_space=SEES, action_space=CHOICES)


def test_lost_spaces_are_proposed(rng, tmp_path):
    """Error and verdict say what the shapes tell; the proposal, passed, acts."""
    path = saved(tmp_path, torch_net(rng), params={"env": "x", "model": {"fcnet_hiddens": [8]}})
    told = r"observation_space=Box\(-inf, inf, \(4,\)\), action_space=Discrete\(2\)"

    with pytest.raises(ConfigError, match=told):
        Policy.from_checkpoint(path)

    assert "takes 4 numbers and its head gives 2" in verdict(open_checkpoint(path)).reason
    spaces = {"observation_space": Box(-np.inf, np.inf, (4,)), "action_space": Discrete(2)}
    found = Policy.from_checkpoint(path, **spaces)
    assert found["default_policy"].compute_single_action(np.zeros(4))


@pytest.mark.parametrize(
    ("sees", "acts", "found"),
    [
        (Box(-1, 1, (6,)), CHOICES, "needs 6"),
        (Discrete(9), CHOICES, "needs 9"),
        (Dict(a=SEES, b=Discrete(3)), CHOICES, "needs 7"),
        (SEES, Discrete(3), "needs 3"),
        (SEES, Box(-1, 1, (2,)), "needs 4"),
        ("(4,)", CHOICES, "str"),
    ],
)
def test_spaces_are_held_against_the_weights(sees, acts, found, rng, tmp_path):
    """A space that the network was not made for is refused with both sizes."""
    path = saved(tmp_path, torch_net(rng), params={"env": "x", "model": {"fcnet_hiddens": [8]}})

    with pytest.raises(SpaceError, match=found):
        Policy.from_checkpoint(path, observation_space=sees, action_space=acts)


@pytest.mark.parametrize(("knows", "stretched"), [(False, False), (True, True)])
def test_actions_are_clipped_before_ray_1_5_and_stretched_since(knows, stretched, rng, tmp_path):
    """The release, told by what a state holds, decides what nobody set."""
    net = torch_net(rng, outputs=4)
    net["_logits._model.0.weight"] *= 0
    net["_logits._model.0.bias"] = np.float32([0.5, 3.0, 0, 0])
    state = {"weights": net, **({"_exploration_state": {}} if knows else {})}
    path = saved(tmp_path, state, params={"env": "x", "model": {"fcnet_hiddens": [8]}})

    found = Policy.from_checkpoint(path, observation_space=SEES, action_space=NUMBERS)
    policy = found["default_policy"]
    ((action, _, _),) = local_policy_inference(policy, 0, "a", np.zeros(4), explore=False)

    np.testing.assert_allclose(action, [1.0, 1.0] if stretched else [0.5, 1.0])


def test_several_policies_take_spaces_by_id(rng, tmp_path):
    """A dict gives each policy its own."""
    wide = {name: array for name, array in torch_net(rng, outputs=3).items()}
    params = {"env": "x", "model": {"fcnet_hiddens": [8]}}
    path = saved(tmp_path, {}, params=params, a=torch_net(rng), b=wide)

    found = Policy.from_checkpoint(
        path,
        observation_space={"a": SEES, "b": SEES},
        action_space={"a": CHOICES, "b": Discrete(3)},
    )

    assert {name: policy.action_space.n for name, policy in found.items()} == {"a": 2, "b": 3}


def test_layer_norms_of_old_noise_are_refused(rng, tmp_path):
    """`parameter_noise` put norms between the layers, which nothing here computes."""
    net = ddpg_net(rng) | {"default_policy/policy/LayerNorm/gamma": np.ones(8, np.float32)}
    params = {"env": "x", "actor_hiddens": [8, 6], "critic_hiddens": [8, 6]}
    trial = "TD3_Arm-v0_0_2020-01-02_03-04-05"
    path = saved(tmp_path, [net, 0.3, False], trial=trial, params=params)

    with pytest.raises(WeightsError, match="LayerNorm"):
        Policy.from_checkpoint(path, observation_space=SEES, action_space=NUMBERS)
