"""Comparing two policies: equal ones are equal at every stage, others part where they differ."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from rlconnect.bridge.adapt import adapt
from rlconnect.bridge.migrate.plan import plan_migration
from rlconnect.bridge.proof.verify import verify
from rlconnect.core.adapters import DropFeatures, InsertFeatures, Scale
from rlconnect.core.errors import PieceError
from rlconnect.core.stage_differences import Differences
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.legacy.stages import LegacyStages

from tests.legacy.replay import GOLDEN, Recording

CHECKPOINT = Path(__file__).parents[2] / "examples" / "checkpoints" / "ppo-cartpole-ray-2.60"
BOX = spaces.Box(-1, 1, (3,), np.float32)


def small_policy(seed=0, **model):
    policy = Policy(
        BOX,
        spaces.Box(-1, 1, (2,), np.float32),
        {"seed": seed, "model": {"fcnet_hiddens": [8], **model}},
    )
    drawn = np.random.default_rng(seed)
    policy.set_weights(
        {name: drawn.normal(size=w.shape) * 0.3 for name, w in policy.get_weights().items()}
    )
    create_connectors_for_policy(policy, policy.config)
    return policy


@pytest.fixture(scope="module")
def cartpole():
    loaded = Policy.from_checkpoint(CHECKPOINT)
    return loaded["default_policy"] if isinstance(loaded, dict) else loaded


@pytest.mark.parametrize(
    "model", [{}, {"use_lstm": True, "lstm_cell_size": 4}], ids=["mlp", "lstm"]
)
def test_a_policy_equals_its_copy_at_every_stage(model, tmp_path):
    """Export and load again: nothing differs at all, states included."""
    policy = small_policy(**model)
    policy.export_checkpoint(tmp_path / "policy")

    verdict = verify(policy, Policy.from_checkpoint(tmp_path / "policy"))

    assert verdict.is_equal
    names = [stage.name for stage in verdict.stages]
    state = ["state"] if model else []
    assert names == ["observation", "outputs", "value", *state, "action", "weights"]
    assert all(stage.largest == 0.0 and stage.agreement == 1.0 for stage in verdict.stages)
    assert verdict.steps == 4 * (64 + 3)


def test_the_first_stage_that_differs_is_named():
    """A changed value branch leaves the stages before it equal."""
    policy, other = small_policy(), small_policy()
    weights = other.get_weights()
    name = next(name for name in weights if name.startswith("_value_branch"))
    other.set_weights({**weights, name: weights[name] + 0.125})

    verdict = verify(policy, other)

    assert verdict.first_difference.name == "value"
    assert {stage.name for stage in verdict.stages if not stage.is_equal} == {
        "value",
        "weights",
    }
    assert "they part at: value" in str(verdict)
    assert json.loads(json.dumps(verdict.to_dict()))["is_equal"] is False


@pytest.mark.parametrize("name", ["dqn_c51", "sac_cont", "ppo_lstm_prev", "ppo_dict_obs_complex"])
def test_a_changed_weight_shows_whichever_it_is(name):
    """Native or wrapped, even where no output depends on it, as on a critic when acting."""
    policy = Recording(GOLDEN / "legacy" / "2.7.2" / name).load("default_policy")
    triple = plan_migration(policy).apply().triple()
    weights = {key: each for key, each in triple[1].get_state().items() if np.isfinite(each).all()}

    unseen = []
    for key, weight in weights.items():
        triple[1].set_state({**weights, key: weight + 0.5})
        if verify(policy, triple, samples=1, length=1).is_equal:
            unseen.append(key)

    assert weights
    assert unseen == []
    triple[1].set_state(weights)
    assert verify(policy, triple, samples=1, length=1).is_equal


def test_weights_of_networks_built_unlike_are_no_stage():
    """Wider layers, or another kind of network: outputs alone can be compared."""
    policy, wider = small_policy(), small_policy(fcnet_hiddens=[7])

    verdict = verify(policy, wider, samples=1, length=1)

    assert "weights" not in [stage.name for stage in verdict.stages]
    assert not verdict.is_equal


def test_an_adapter_that_cancels_out_changes_nothing():
    """Scaled by two and by a half, all stages are equal: observations are compared as seen."""
    policy = small_policy()
    adapted = adapt(
        policy, observation_space=BOX, action_space=policy.action_space, obs=[Scale(2), Scale(0.5)]
    )

    assert verify(policy, adapted).is_equal


def test_both_play_the_same_episodes(cartpole):
    """In an environment each plays alone with the same seeds; returns are paired."""
    verdict = verify(cartpole, cartpole, env="CartPole-v1", episodes=3)
    by_class = verify(cartpole, cartpole, env=CartPoleEnv, episodes=1)

    assert by_class.is_equal
    assert verdict.is_equal
    assert verdict.returns.ours == verdict.returns.theirs
    assert verdict.returns.difference == (0.0, 0.0)
    assert verdict.steps == sum(verdict.returns.ours)


def test_recorded_observations_are_one_episode_or_several():
    """A flat list is an episode; a list of lists is several, of any length."""
    policy = small_policy()
    episode = [np.zeros(3, np.float32)] * 5

    assert verify(policy, policy, observations=episode).steps == 5
    assert verify(policy, policy, observations=[episode, episode[:2]]).steps == 7


def test_progress_is_told():
    """The last call says that all is done."""
    told = []
    policy = small_policy()

    verify(
        policy, policy, samples=2, length=3, progress=lambda done, total: told.append((done, total))
    )

    assert told[-1] == (15, 15)


def test_differences_count_what_is_beyond_tolerance():
    """Floats within the tolerance agree, integers must be equal, NaN equals NaN."""
    differences = Differences(absolute=1e-3, relative=0.0)

    differences.add(
        {"outputs": np.array([[1.0, np.nan], [2.0, 3.0]]), "action": np.array([1, 2])},
        {"outputs": np.array([[1.0005, np.nan], [2.0, 3.5]]), "action": np.array([1, 3])},
    )

    outputs, action = differences.stages()
    assert (outputs.count, outputs.beyond, outputs.agreement) == (4, 1, 0.5)
    assert outputs.largest == 0.5
    assert sum(outputs.histogram) == 4
    assert outputs.histogram[0] == 2
    assert (action.beyond, action.agreement) == (1, 0.5)


def test_other_shapes_are_a_difference_not_an_error():
    """Policies with other state shapes can be compared: the stage says what does not fit."""
    differences = Differences(1e-5, 1e-5)

    differences.add({"state": np.zeros((1, 4))}, {"state": np.zeros((1, 8))})

    (state,) = differences.stages()
    assert not state.is_equal
    assert "(1, 4)" in state.note


def test_the_report_is_one_page_that_needs_nothing_else(tmp_path):
    """Charts are drawn inside the page; nothing is fetched; names are escaped."""
    policy, other = small_policy(), small_policy(1)
    verdict = verify(LegacyStages(policy, "<ours>"), other, samples=4)

    verdict.save_report(tmp_path / "report.html")

    page = (tmp_path / "report.html").read_text()
    assert "&lt;ours&gt;" in page
    assert "<ours>" not in page
    assert not re.search(r"(src|href)=|https?:|<script", page)
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) == 2 * len(verdict.stages) + 1
    for chart in charts:
        assert ElementTree.fromstring(chart).get("aria-label")
    assert "They part at: outputs" in page


def test_policies_of_other_environments_are_not_compared():
    """The spaces are told, with what to do."""
    policy = small_policy()
    wider = spaces.Box(-1, 1, (4,), np.float32)
    adapted = adapt(
        policy, observation_space=wider, action_space=policy.action_space, obs=DropFeatures([3])
    )

    with pytest.raises(PieceError, match="different observations"):
        verify(policy, adapted)
    with pytest.raises(PieceError, match="cannot be compared"):
        verify(policy, 3)
    again = adapt(
        adapted,
        observation_space=BOX,
        action_space=policy.action_space,
        obs=InsertFeatures([3], [0]),
    )
    assert verify(policy, again).is_equal


def test_connectors_that_end_without_a_batch_are_told():
    """A damaged pipeline has no stages to compare."""
    policy, whole = small_policy(), small_policy()
    policy.agent_connectors.remove("ViewRequirementAgentConnector")

    with pytest.raises(PieceError, match="end before there is a batch"):
        verify(policy, whole, samples=1, length=1)
