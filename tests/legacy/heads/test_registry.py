"""Each algorithm's head gives the outputs recorded from real Ray, from the same weights."""

import json
import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from rlconnect.core.errors import UnknownNameError, WeightsError
from rlconnect.legacy.exploration_config import exploration_for
from rlconnect.legacy.heads import algorithm_named, build_head, choose_actions

GOLDEN = Path(__file__).parents[2] / "golden" / "heads"
CASES = sorted(path.stem for path in GOLDEN.glob("*.npz"))


def rebuilt(flat):
    """{'a.#0': v} -> {'a': (v,)}; {'': v} -> v."""
    if set(flat) == {""}:
        return flat[""]
    groups = {}
    for path, value in flat.items():
        head, _, rest = path.partition(".")
        groups.setdefault(head, {})[rest] = value
    out = {key: rebuilt(group) for key, group in groups.items()}
    if all(key.startswith("#") for key in out):
        return tuple(out[f"#{i}"] for i in range(len(out)))
    return out


def stage(data, name):
    prefix = f"{name}|"
    found = {key[len(prefix) :]: value for key, value in data.items() if key.startswith(prefix)}
    return rebuilt(found) if found else {}


def space(text):
    """A space from its printed form; bounds that are arrays are only needed by their ends."""
    text = re.sub(r"\[([^\]]*)\]", lambda m: "[" + ", ".join(m[1].split()) + "]", text)
    text = re.sub(r"\b(inf)\b", "np.inf", text)
    names = {
        "Box": box,
        "Discrete": gym.spaces.Discrete,
        "np": np,
        "float32": np.float32,
        "int64": np.int64,
    }
    names["MultiDiscrete"] = gym.spaces.MultiDiscrete
    names["Tuple"] = lambda *parts: gym.spaces.Tuple(parts)
    return eval(text, names)


def box(low, high, shape, dtype):
    low, high = (np.array(np.broadcast_to(dtype(end), shape)) for end in (low, high))
    return gym.spaces.Box(low, high, dtype=dtype)


def load(case):
    with np.load(GOLDEN / f"{case}.npz") as file:
        data = {key: file[key] for key in file.files}
    return data, json.loads(str(data.pop("meta")))


def head_of(case, **how):
    data, meta = load(case)
    weights = {k.split("|", 1)[1]: v for k, v in data.items() if k.startswith("weights|")}
    obs_space, action_space = space(meta["observation_space"]), space(meta["action_space"])
    head = build_head(
        meta["algorithm"], obs_space, action_space, meta["config"], weights=weights, **how
    )
    return head, data, meta


def run(head, data, *, explore, exploration, rng=None):
    columns = {k: torch.from_numpy(np.array(v)) for k, v in stage(data, "batch_in").items()}
    state = [columns[k] for k in sorted(columns) if k.startswith("state_in")]
    with torch.no_grad():
        out = head.policy_outputs(columns, state, torch.ones(len(columns["obs"]), dtype=torch.long))
    extra = {name: value.numpy() for name, value in out.extra.items()}
    actions, fetches = choose_actions(
        head.distribution.arrays(),
        out.dist_inputs.numpy(),
        extra,
        exploration,
        explore=explore,
        timestep=0,
        rng=rng or np.random.default_rng(0),
    )
    return {"actions": actions, "states": tuple(s.numpy() for s in out.state_out)}, fetches


def assert_same(got, want, atol=2e-6):
    if isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            assert_same(got[key], want[key], atol)
    elif isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_same(one, other, atol)
    else:
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        scale = max(1.0, float(np.abs(want).max()))
        np.testing.assert_allclose(got, want, rtol=0, atol=atol * scale)


def in_fetch_order(fetches):
    own = [name for name in ("vf_preds", "q_values") if name in fetches]
    return {k: fetches[k] for k in [*own, "action_dist_inputs", "action_prob", "action_logp"]}


@pytest.mark.parametrize("case", CASES)
def test_greedy_outputs_are_rays(case):
    """Actions, states and fetches without exploration: same names, dtypes, shapes, numbers."""
    head, data, meta = head_of(case, noise="ray")
    exploration = exploration_for(head.distribution.space, meta["config"])
    wanted = stage(data, "batch_out")

    torch.manual_seed(980)  # only the noisy case draws
    got, fetches = run(head, data, explore=False, exploration=exploration)

    assert_same(got["actions"], wanted["actions"])
    assert_same(got["states"], wanted.get("states", ()))
    assert_same(fetches, in_fetch_order(wanted["fetches"]))


@pytest.mark.parametrize("case", CASES)
def test_weights_round_trip_under_rays_names(case):
    """All weights are loaded, the unused ones as well, and come back bit for bit."""
    head, data, _ = head_of(case)
    saved = {k.split("|", 1)[1]: v for k, v in data.items() if k.startswith("weights|")}

    again = {name: value.numpy() for name, value in head.model.state_dict().items()}

    assert sorted(again) == sorted(saved)
    for name, value in saved.items():
        np.testing.assert_array_equal(again[name], value)


def sampled():
    """The cases whose recorded exploration sampled from the distribution."""
    for case in CASES:
        explored = stage(load(case)[0], "batch_explore")
        if explored and explored["fetches"]["action_logp"].any():
            yield case


@pytest.mark.parametrize("case", list(sampled()))
def test_log_probabilities_of_explored_actions_are_rays(case):
    """For the actions Ray sampled, the log-probability it reported comes out again."""
    head, data, _ = head_of(case)
    explored = stage(data, "batch_explore")
    inputs, want = (explored["fetches"][k] for k in ("action_dist_inputs", "action_logp"))

    got = head.distribution.arrays().logp(inputs, explored["actions"])

    # Near the edge of a squashed Gaussian one float32 step of the action moves the result a lot.
    squashed = head.distribution.kind == "squashed_gaussian"
    inner = (np.abs(explored["actions"]) < 0.99).all(-1) if squashed else slice(None)
    np.testing.assert_allclose(got[inner], want[inner], atol=1e-3 if squashed else 1e-5)


def test_mean_noise_leaves_a_noisy_net_alone():
    """With noise="mean" a noisy net gives the same outputs each time, unlike with "ray"."""
    outputs = {}
    for noise in ("mean", "ray"):
        head, data, meta = head_of("2.7.2-dqn_noisy", noise=noise)
        exploration = exploration_for(head.distribution.space, meta["config"])
        runs = [run(head, data, explore=False, exploration=exploration)[1] for _ in range(2)]
        outputs[noise] = [fetches["q_values"] for fetches in runs]

    np.testing.assert_array_equal(*outputs["mean"])
    assert np.abs(outputs["ray"][0] - outputs["ray"][1]).max() > 1e-3


def test_weights_of_another_head_are_refused():
    """Weights of a plain DQN do not load into a dueling one; the missing names are listed."""
    data, meta = load("2.7.2-dqn_plain")
    weights = {k.split("|", 1)[1]: v for k, v in data.items() if k.startswith("weights|")}
    config = {**meta["config"], "hiddens": [16], "dueling": True}
    spaces = space(meta["observation_space"]), space(meta["action_space"])

    with pytest.raises(WeightsError, match=r"value_module\.V"):
        build_head("DQN", *spaces, config, weights=weights)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("PPO", "PPO"),
        ("PPOTorchPolicy", "PPO"),
        ("PPOTF2Policy_eager_traced", "PPO"),
        ("DQNTorchPolicy", "DQN"),
        ("Rainbow", "DQN"),
        ("ImpalaTorchPolicy", "IMPALA"),
        ("APEX-DQN", "APEX"),
        ("ray.rllib.algorithms.a3c.a3c_torch_policy.A3CTorchPolicy", "A3C"),
        ("SimpleQTorchPolicy", "SimpleQ"),
        ("ApexDDPG", "APEX_DDPG"),
        ("MARWILTF1Policy", "MARWIL"),
        ("R2D2TFPolicy", "R2D2"),
        ("SACTrainer", "SAC"),
    ],
)
def test_algorithms_are_recognised_by_any_name(spelling, name):
    """Policy classes, registry names and dotted paths lead to the algorithm."""
    assert algorithm_named(spelling) == name


def test_an_unknown_algorithm_is_named():
    """A name nobody knows is an error that suggests the nearest one."""
    with pytest.raises(UnknownNameError, match="'PPPO'"):
        algorithm_named("PPPO")
