"""33 widenings of default networks and recorded policies: the start is the adapted policy.

Each is held to the adapted old policy on 4,000 observations within 1e-6: what its distribution
gets, its values, and its actions.
"""

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from rlconnect import Actor, adapt, graft, load, migrate
from rlconnect.core.adapters import DropFeatures, DropKeys, ExtendAction, MapActions, SelectFeatures
from rlconnect.core.formulas.preprocessors import preprocessor_for
from rlconnect.legacy import Policy

GOLDEN = Path(__file__).parents[2] / "golden/checkpoints"
ROWS, STEPS, TOLERANCE = 4_000, 2, 1e-6
LOUD, LOUDER = ("an LSTM", "an image", "DQN"), 30.0
"""RLlib draws outputs near 0, where all is within 1e-6: the others' are multiplied."""
HEADS_OF = ("_logits.", "_value_branch.")
NAMES = {
    "action_dist_inputs": "outputs",
    "q_values": "outputs",
    "qf_preds": "outputs",
    "vf_preds": "values",
}

FOUR, SIX = (Box(-2, 2, (count,), np.float32) for count in (4, 6))
TWO_NUMBERS, THREE_NUMBERS = (Box(-1, 1, (count,), np.float32) for count in (2, 3))
PARTS = {"a": Box(-1, 1, (3,), np.float32), "m": Discrete(3)}
IMAGE, DEPTH = (Box(0, 1, (10, 10, channels), np.float32) for channels in (3, 4))

FEATURES = {"observation_space": SIX, "obs": DropFeatures([4, 5])}
WIND = {
    "observation_space": Dict({**PARTS, "wind": Box(-1, 1, (2,), np.float32)}),
    "obs": DropKeys(["wind"]),
}
CHANNEL = {"observation_space": DEPTH, "obs": SelectFeatures([0, 1, 2])}
CHOICE = {"action_space": Discrete(3), "action": MapActions([0, 2], 3), "places": [0, 2]}
ASIDE = {
    "action_space": MultiDiscrete([2, 4]),
    "action": ExtendAction([2]),
    "places": [0, 1],
}
SEVERAL = {
    "action_space": MultiDiscrete([2, 3, 2]),
    "action": ExtendAction([1]),
    "places": [0, 1, 2, 3, 4],
}
NUMBER = {"action_space": THREE_NUMBERS, "action": ExtendAction([0.5]), "places": [0, 1, 3, 4]}
WIDER = {"network": {"fcnet_hiddens": [300, 512]}}
HEADS = {"network": {"head_fcnet_hiddens": [600], "head_fcnet_activation": "relu"}}
MEMORY = {"network": {"use_lstm": True, "lstm_cell_size": 64}}
LARGER = {"network": {"fcnet_hiddens": [40, 64], "use_lstm": True, "lstm_cell_size": 32}}
NETWORKS = {
    "layers": {},
    "relu": {"fcnet_activation": "relu"},
    "one encoder": {"vf_share_layers": True},
    "an LSTM": {"use_lstm": True},
    "numbers": {"actions": TWO_NUMBERS},
    "free deviations": {"actions": TWO_NUMBERS, "free_log_std": True},
    "several choices": {"actions": MultiDiscrete([2, 3])},
    "parts": {"observations": Dict(PARTS)},
    "an image": {"observations": IMAGE},
    "DQN": {"algorithm": "DQN"},
}
"""RLlib's own sizes, by what of its defaults is another."""

CASES = {
    "layers": [
        *(FEATURES | each for each in ({}, CHOICE, ASIDE, WIDER, HEADS, MEMORY)),
        FEATURES | CHOICE | WIDER | MEMORY,
    ],
    "relu": [FEATURES, FEATURES | {"network": {"fcnet_hiddens": [256, 300, 512]}}],
    "one encoder": [FEATURES, FEATURES | CHOICE, FEATURES | MEMORY],
    "an LSTM": [FEATURES, FEATURES | CHOICE, FEATURES | {"network": {"lstm_cell_size": 300}}],
    "numbers": [FEATURES, FEATURES | NUMBER, FEATURES | WIDER, FEATURES | MEMORY],
    "free deviations": [FEATURES, FEATURES | NUMBER],
    "several choices": [FEATURES, FEATURES | SEVERAL],
    "parts": [WIND, WIND | CHOICE],
    "an image": [CHANNEL],
    "DQN": [FEATURES, FEATURES | CHOICE],
    "2.0.1-ppo_cartpole_meanstd": [FEATURES, FEATURES | CHOICE | LARGER],
    "2.7.2-ppo_rlmodule": [FEATURES, FEATURES | CHOICE | LARGER],
    "2.60.0-ppo_cartpole_meanstd": [FEATURES, FEATURES | CHOICE | LARGER],
}


@cache
def old(name):
    """An old policy, and the same natively in the new stack."""
    if name not in NETWORKS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is one of several saves in the folder
            policy = load(GOLDEN / name).only.native
        return policy, migrate(policy).triple()
    model = dict(NETWORKS[name])
    observations, actions = model.pop("observations", FOUR), model.pop("actions", Discrete(2))
    if isinstance(observations, Dict):
        observations = preprocessor_for(observations).output_space
    settings = {"seed": 0, "exploration_config": {"type": "EpsilonGreedy"}}
    if model.pop("algorithm", "PPO") == "DQN":
        policy = Policy(observations, actions, settings, algorithm="DQN")
    else:
        policy = Policy(observations, actions, {"seed": 0, "model": model}, algorithm="PPO")
    if name not in LOUD:
        weights = policy.get_weights()
        for each in weights:
            if any(head in each for head in HEADS_OF):
                weights[each] = weights[each] * LOUDER
        policy.set_weights(weights)
    return policy, migrate(policy).triple()


def said(policy, space):
    """What it says in the first steps of many environments."""
    actor, rng = Actor.from_policy(policy), np.random.default_rng(1)
    steps = []
    for _ in range(STEPS):
        rows = drawn(space, rng, ROWS // STEPS)
        actions, told = actor.act_and_fetch(rows, env_ids=range(ROWS // STEPS), explore=False)
        columns = {NAMES[name]: told[name] for name in NAMES if name in told}
        steps.append({"actions": actions, **columns})
    return {name: np.concatenate([step[name] for step in steps]) for name in steps[0]}


def drawn(space, rng, count):
    """Rows of a space."""
    if isinstance(space, Dict):
        return {key: drawn(part, rng, count) for key, part in space.items()}
    if isinstance(space, Discrete):
        return rng.integers(space.n, size=count)
    return rng.uniform(space.low, space.high, (count, *space.shape)).astype(np.float32)


def test_there_are_thirty():
    """As many as the promise names, of every kind of network."""
    assert sum(map(len, CASES.values())) >= 30
    assert NETWORKS.keys() <= CASES.keys()


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name in CASES for number in range(len(CASES[name]))]
)
def test_a_widened_policy_starts_as_the_adapted_one(name, number):
    """Outputs and values are within 1e-6 on 4,000 observations, and the same is done."""
    policy, native = old(name)
    changes = dict(CASES[name][number])
    places = changes.pop("places", ...)
    network = changes.pop("network", {})

    grown = graft(native, **changes, network=network, samples=16)

    space = changes["observation_space"]
    mine, theirs = said(grown, space), said(adapt(policy, **changes), space)
    assert {"outputs", "values"} & theirs.keys()
    assert len(theirs["actions"]) == ROWS
    for what in theirs:
        own = mine[what][:, places] if what == "outputs" else mine[what]
        np.testing.assert_allclose(own, theirs[what], rtol=0, atol=TOLERANCE, err_msg=what)
