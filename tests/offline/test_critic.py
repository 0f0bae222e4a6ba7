"""Estimates of policies whose actions are vectors, in a world whose values are known."""

import json

import numpy as np
import pytest
from gymnasium.spaces import Box
from rlconnect.bridge.over_data.appraisal import appraise
from rlconnect.bridge.over_data.replay import Manner, answers_to
from rlconnect.bridge.over_data.watchers import watcher_of
from rlconnect.core.errors import PieceError
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.offline import evaluate
from rlconnect.offline.estimators import Estimate, doubts_of, judged, recorded
from rlconnect.offline.fitted_q import FittedQSettings
from rlconnect.offline.recordings import Recording, Recordings

from tests.offline import linear

pytestmark = pytest.mark.torch

SEEN = Box(-np.inf, np.inf, (2,), np.float32)
HALF = Box(-linear.MOST, linear.MOST, (1,), np.float32)
"""Networks act in -1 to 1 where the environment takes twice that."""

FEW = {"fcnet_hiddens": (32, 32), "lr": 3e-3, "n_iters": 200, "solves": True}
"""As where nobody says, with half of the rounds."""


def policy_of(told, actions=HALF, **config):
    """One whose actions have this mean and spread in the world."""
    weights, spread = told
    model = {"fcnet_hiddens": [], "free_log_std": True, "vf_share_layers": False}
    policy = Policy(SEEN, actions, {"seed": 0, "gamma": linear.GAMMA, "model": model, **config})
    create_connectors_for_policy(policy, policy.config)
    scale = linear.MOST if config.get("normalize_actions", True) else 1.0
    held = {}
    for name, each in policy.get_weights().items():
        value = np.zeros_like(each)
        if each.shape == (1, 2) and "value" not in name:
            value = np.array([weights], np.float32) / scale
        elif "log_std" in name:
            value = np.full_like(each, np.log(spread / scale))
        held[name] = value
    policy.set_weights(held)
    return policy


def write(folder, episodes=150, *, scale=linear.MOST):
    """What the behaviour did, as RLlib writes it: actions as a network gave them."""
    rng = np.random.default_rng(3)
    lengths, states, actions, rewards = linear.played(rng, linear.BEHAVIOR, episodes)
    lines = []
    for number, count in enumerate(lengths):
        before, done = states[number, :count], actions[number, :count]
        batch = {
            "type": "SampleBatch",
            "obs": before.tolist(),
            "new_obs": states[number, 1 : count + 1].tolist(),
            "actions": (done[:, None] / scale).tolist(),
            "action_prob": (linear.density(linear.BEHAVIOR, before, done) * scale).tolist(),
            "rewards": rewards[number, :count].tolist(),
            "terminateds": [False] * (count - 1) + [True],
            "truncateds": [False] * count,
            "eps_id": [number] * int(count),
            "t": list(range(count)),
        }
        lines.append(json.dumps(batch))
    folder.mkdir()
    (folder / "output.json").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Recorded once."""
    return write(tmp_path_factory.mktemp("linear") / "data")


@pytest.mark.parametrize("name", ["the same", "apart"])
def test_models_and_weights_find_what_a_policy_is_worth(name, data):
    """Through its own connectors: stretched and clipped actions, to the world's true value."""
    target = linear.TARGETS[name]
    truth = linear.value(target, 40_000)

    found = appraise(policy_of(target), data, q_model=FEW)

    for method in ("dm", "dr"):
        each = found.estimates[method]
        assert each.v_target == pytest.approx(truth, abs=0.6)
        assert each.interval.holds(truth)
        assert each.interval.high - each.interval.low < 3.5
        assert not each.doubts


def test_a_policy_that_takes_one_action_for_sure_is_judged_by_a_model(data):
    """Nothing recorded speaks for it, so weights are not asked; by itself a method of theirs is."""
    target = linear.TARGETS["apart"]
    truth = linear.value((target[0], 1e-6), 40_000)

    found = appraise(policy_of(target), data, greedy=True, q_model=FEW)

    assert set(found.estimates) == {"dm"}
    assert found.estimates["dm"].v_target == pytest.approx(truth, abs=0.6)
    assert "for sure" in found.notes[0]
    assert found.weights is None
    with pytest.raises(PieceError, match="for sure"):
        evaluate(policy_of(target), data, "dr", greedy=True)


def test_a_policy_that_does_what_is_unlike_the_recorded_is_doubted(data):
    """The estimate says that the model was asked beyond what it has seen."""
    far = linear.TARGETS["far"]

    found = appraise(policy_of(far), data, methods=["dm"], q_model=FEW)
    alone = evaluate(policy_of(far), data, "dm", linear.GAMMA, q_model=FEW)

    assert not found.answers
    assert any("unlike the recorded ones" in each for each in found.findings)
    assert alone.doubts


@pytest.mark.parametrize("is_stretched", [True, False])
def test_a_model_sees_actions_as_the_environment_took_them(is_stretched, rng):
    """Recorded and drawn ones go through the policy's own way to the environment."""
    policy = policy_of(((0.5, 0.0), 3.0), normalize_actions=is_stretched, clip_actions=True)
    given = np.array([[0.25], [-1.5], [4.0]], np.float32)
    recording = Recording(
        "a", rng.normal(size=(4, 2)).astype(np.float32), given, np.zeros(3), True, {}
    )

    answers = answers_to(watcher_of(policy, Manner(draws=400)), Recordings.of(recording))

    taken = given * linear.MOST if is_stretched else given
    if is_stretched:  # what lies beyond the network's range is stretched, then clipped
        taken = np.clip(given, -1, 1) * linear.MOST
    np.testing.assert_allclose(answers.done[:3], np.clip(taken, -linear.MOST, linear.MOST))
    assert answers.draws.shape == (4, 400, 1)
    assert np.abs(answers.draws).max() == linear.MOST
    middle = np.mean(np.abs(answers.draws) < linear.MOST)
    assert middle == pytest.approx(0.5, abs=0.1)  # a deviation of 3 around nearly nothing


def test_intervals_of_a_critic_hold_the_value():
    """A handful of data sets; `python -m tests.offline.linear` tells of many."""
    target = linear.TARGETS["near"]
    truth = linear.value(target, 40_000)
    held = []
    for seed in range(4):
        steps = linear.steps(
            np.random.default_rng(seed), target, 100, FittedQSettings.of({"seed": seed, **FEW})
        )
        found = Estimate.of(
            recorded(steps, linear.GAMMA),
            judged("dm", steps, linear.GAMMA),
            doubts_of("dm", steps),
        )
        held.append(found.interval.holds(truth))
        assert not found.doubts

    assert sum(held) >= 3
