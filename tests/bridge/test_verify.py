"""Comparing two policies: equal ones are equal at every stage, others part where they differ."""

import copy
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from rlconnect.bridge.adapting.adapt import adapt
from rlconnect.bridge.migrate.checkpoint import save_migrated
from rlconnect.bridge.migrate.plan import plan_migration
from rlconnect.bridge.proof.verdict import Verdict
from rlconnect.bridge.proof.verify import verify
from rlconnect.core.adapters import DropFeatures, InsertFeatures, Scale
from rlconnect.core.arrays.stage_differences import Differences
from rlconnect.core.errors import PieceError, SpaceError
from rlconnect.core.vault.files.reading import fingerprint_of
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.legacy.exploration.config import exploration_for
from rlconnect.legacy.policy.stages import LegacyStages

from tests.legacy.replay import GOLDEN, Recording

CHECKPOINT = Path(__file__).parents[2] / "examples" / "checkpoints" / "ppo-cartpole-ray-2.60"
BOX = spaces.Box(-1, 1, (3,), np.float32)


def small_policy(seed=0, space=BOX, **model):
    policy = Policy(
        space,
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
    assert names == ["observation", "outputs", "value", *state, "action", "weights", "settings"]
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


@pytest.mark.parametrize("name", ["dqn_c51", "sac_cont", "ppo_lstm_prev"])
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


def test_recorded_observations_may_lie_in_a_file(tmp_path):
    """By its path; those of another space, and an environment beside them, are told."""
    policy = small_policy()
    np.save(tmp_path / "seen.npy", np.zeros((5, 3)))
    np.save(tmp_path / "other.npy", np.zeros((5, 4)))

    assert verify(policy, policy, observations=tmp_path / "seen.npy").steps == 5
    with pytest.raises(SpaceError, match="of another space"):
        verify(policy, policy, observations=tmp_path / "other.npy")
    with pytest.raises(PieceError, match="one of both"):
        verify(policy, policy, observations=tmp_path / "seen.npy", env="CartPole-v1")


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

    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;ours&gt;" in page
    assert "<ours>" not in page
    assert not re.search(r"(src|href)=|https?:|<script", page)
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) == 2 * len(verdict.stages)
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
    with pytest.raises(PieceError, match="no policy"):
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


FILTERED = GOLDEN / "legacy" / "2.7.2" / "ppo_pendulum_norm_meanstd"


@pytest.fixture(scope="module")
def filtered():
    """A policy with a filter, and what it was migrated to."""
    policy = Recording(FILTERED).load("default_policy")
    return policy, plan_migration(policy).apply().triple()


def test_a_statistic_that_shows_in_no_output_shows_in_settings(filtered):
    """How many observations a filter has counted, old beside native."""
    policy, triple = filtered
    (piece,) = [each for each in triple[0].connectors if type(each).__name__ == "MeanStdFilter"]
    state = piece.get_state()
    other = copy.deepcopy(state)
    other[None]["running_stats"][0]["num_pushes"] += 1

    piece.set_state(other)
    verdict = verify(policy, triple, samples=1, length=1)
    piece.set_state(state)

    assert not verdict.is_equal
    settings = verdict.stages[-1]
    assert settings.name == "settings"
    assert "num_pushes" in settings.worst.output
    assert settings.worst.ours + 1 == settings.worst.theirs
    assert verify(policy, triple, samples=1, length=1).is_equal


def test_how_a_policy_explores_is_compared():
    """Epsilon shows in no best action."""
    policy = Recording(GOLDEN / "legacy" / "2.7.2" / "dqn_c51").load("default_policy")
    other = copy.deepcopy(policy)
    triple = plan_migration(policy).apply().triple()
    other.exploration = exploration_for(
        policy.action_space, {"exploration_config": {"type": "EpsilonGreedy", "final_epsilon": 0.5}}
    )
    triple[1].model_config = {**triple[1].model_config, "epsilon": [(0, 0.25)]}

    assert verify(policy, other, samples=1, length=1).first_difference.name == "settings"
    assert verify(policy, triple, samples=1, length=1).first_difference.name == "settings"


def test_words_that_differ_are_told():
    """A setting that is no number keeps its place in the note."""
    policy, other = small_policy(), small_policy()
    other.exploration.mode = "other"

    settings = verify(policy, other, samples=1).first_difference

    assert settings.name == "settings"
    assert "mode is nothing beside other" in settings.note
    assert not settings.is_equal


def test_small_weights_are_held_to_their_own_size():
    """A thousandth of weights that are themselves below the tolerance is a difference."""
    policy, other = small_policy(), small_policy()
    weights = other.get_weights()
    name = next(iter(weights))
    policy.set_weights({**weights, name: weights[name] * 1e-6})
    other.set_weights({**weights, name: weights[name] * 1.001e-6})

    verdict = verify(policy, other, samples=1, length=1)

    assert verdict.first_difference.name == "weights"
    assert verdict.first_difference.worst.output.startswith(name)


def test_the_worst_observation_is_told():
    """Where the numbers lie furthest apart: which output, both numbers, and what both saw."""
    policy, other = small_policy(), small_policy()
    weights = other.get_weights()
    name = next(name for name in weights if name.startswith("_logits") and weights[name].ndim == 1)
    other.set_weights({**weights, name: weights[name] + np.eye(4)[2] * 0.5})
    seen = [np.full(3, 0.1, np.float32), np.full(3, 0.2, np.float32)]

    verdict = verify(policy, other, observations=seen)

    worst = verdict.worst_stage.worst
    assert (verdict.worst_stage.name, worst.output) == ("outputs", "2")
    assert worst.theirs - worst.ours == pytest.approx(0.5, abs=1e-5)
    assert any(np.array_equal(worst.observation, each) for each in seen)
    assert verdict.worst_stage.by_output[0] == ("2", pytest.approx(0.5, abs=1e-5))
    told = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert told["stages"][1]["worst"]["observation"] == worst.observation.tolist()


def test_what_differences_do_to_play_is_told(cartpole):
    """Actions and returns, each the same or not; returns only where an environment was played."""
    other = copy.deepcopy(cartpole)
    other.set_weights({name: -each for name, each in other.get_weights().items()})

    played = verify(cartpole, other, env="CartPole-v1", episodes=2)
    drawn = verify(cartpole, cartpole, samples=1)

    assert played.touches_actions
    assert played.touches_returns
    assert "others in 2 of 2 episodes" in str(played)
    assert not drawn.touches_actions
    assert drawn.touches_returns is None
    assert "not compared" in drawn.consequences()[1]


@pytest.mark.torch
def test_a_verdict_carries_its_evidence(cartpole, tmp_path):
    """Date, machine, seed, versions and checksums of both sides; on the page, too."""
    other = copy.deepcopy(cartpole)
    other.set_weights({name: each + 1 for name, each in other.get_weights().items()})
    verdict = verify(cartpole, other, samples=1, seed=7)

    evidence = verdict.evidence
    ours, theirs = evidence.sides
    verdict.save_report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")

    assert evidence.seed == 7
    assert {"rlconnect", "python", "numpy", "torch", "gymnasium"} <= set(evidence.versions)
    assert datetime.fromisoformat(evidence.date).utcoffset() == timedelta(0)
    assert len(ours.checksum) == 64
    assert ours.checksum != theirs.checksum
    assert all(told in page for _, told in evidence.lines())


def test_numbers_without_end_are_told_in_json():
    """JSON has no infinity; a verdict with one is still a document."""
    differences = Differences(1e-5, 1e-5)
    differences.add({"outputs": np.array([[np.inf]])}, {"outputs": np.array([[0.0]])})
    verdict = Verdict("a", "b", differences.stages(), 1, "drawn", (1e-5, 1e-5))

    told = json.dumps(verdict.to_dict(), allow_nan=False)

    assert '"inf"' in told


class Walkers:
    """Two agents that see three numbers and push with two, in RLlib's form."""

    possible_agents = ("left", "right")

    def __init__(self):
        self.agents = list(self.possible_agents)
        self.observation_spaces = dict.fromkeys(self.agents, BOX)
        self.action_spaces = dict.fromkeys(self.agents, spaces.Box(-1, 1, (2,), np.float32))
        self.observation_space = spaces.Dict(self.observation_spaces)
        self.action_space = spaces.Dict(self.action_spaces)
        self.metadata = {}

    @property
    def unwrapped(self):
        return self

    def reset(self, *, seed=None, options=None):
        self.rng, self.steps = np.random.default_rng(seed), 0
        return self._seen(), {}

    def step(self, actions):
        self.steps += 1
        rewards = {agent: float(np.sum(action)) for agent, action in actions.items()}
        ended = {"__all__": self.steps == 4}
        return self._seen(), rewards, ended, {"__all__": False}, {}

    def close(self):
        pass

    def _seen(self):
        return {a: self.rng.uniform(-1, 1, 3).astype(np.float32) for a in self.agents}


def test_several_policies_are_compared_policy_by_policy():
    """Each is a verdict of its own; the whole is equal where all of them are."""
    ours = {"left": small_policy(0), "right": small_policy(1)}
    theirs = {"left": small_policy(0), "right": small_policy(2)}

    same = verify(ours, ours, samples=1)
    other = verify(ours, theirs, samples=1)

    assert same.is_equal
    assert {name: each.is_equal for name, each in other.policies.items()} == {
        "left": True,
        "right": False,
    }
    assert other.first_difference.name == "right outputs"
    assert other.touches_actions
    with pytest.raises(PieceError, match="different policies"):
        verify(ours, {"left": ours["left"], "middle": ours["right"]})
    assert verify(ours, theirs, policy="left", samples=1).is_equal


def test_several_agents_play_through_the_mapping():
    """Returns are those of all; weights count, and so do policies that nobody played by."""
    ours = {"left": small_policy(0), "right": small_policy(1), "idle": small_policy(2)}
    theirs = {**ours, "idle": small_policy(3)}

    same = verify(ours, ours, env=Walkers, episodes=2)
    other = verify(ours, theirs, env=Walkers(), episodes=1)
    one = {"walker": ours["left"]}
    by_map = verify(one, one, env=Walkers, episodes=1, policy_mapping_fn=lambda agent: "walker")

    assert same.is_equal
    assert same.returns.ours == same.returns.theirs
    assert {"weights", "settings"} <= {stage.name for stage in same.policies["left"].stages}
    assert [name for name, each in other.policies.items() if not each.is_equal] == ["idle"]
    assert by_map.is_equal


def test_paths_are_loaded_as_load_does(tmp_path):
    """Two folders, of whichever kind."""
    policy = small_policy()
    policy.export_checkpoint(tmp_path / "old")
    save_migrated(plan_migration(policy).apply(), tmp_path / "new")

    verdict = verify(tmp_path / "old", str(tmp_path / "new"), samples=1)

    assert verdict.is_equal
    assert [side.path for side in verdict.evidence.sides] == [
        str(tmp_path / "old"),
        str(tmp_path / "new"),
    ]
    assert verdict.evidence.sides[1].checksum == fingerprint_of(tmp_path / "new")


def test_a_bound_at_the_end_of_float32_is_none():
    """gym's CartPole ends at 3.4e38 where gymnasium 1.0's is infinite: nothing changed."""
    ends = (np.finfo(np.float32).max, np.inf)
    ours, theirs = (small_policy(space=spaces.Box(-end, end, (3,), np.float32)) for end in ends)

    verdict = verify(ours, theirs, observations=[np.zeros(3, np.float32)])

    assert verdict.is_equal
    assert "settings" in {stage.name for stage in verdict.stages}


def wide_policy():
    """A policy with 3,267 inputs of 0 to 255, whose sums are in the thousands."""
    policy = Policy(
        spaces.Box(0, 255, (3267,), np.float32),
        BOX,
        {"seed": 0, "model": {"fcnet_hiddens": [64, 64], "fcnet_activation": "relu"}},
    )
    drawn = np.random.default_rng(0)
    weights = policy.get_weights()
    for name, weight in weights.items():
        if weight.ndim == 2:
            weights[name] = drawn.normal(size=weight.shape) * np.sqrt(2 / weight.shape[1])
    policy.set_weights(weights)
    create_connectors_for_policy(policy, policy.config)
    return policy


@pytest.mark.torch
def test_migrate_and_verify_allow_for_rounding_alike(tmp_path):
    """Sums of thousands of large inputs differ by a few ulps between numpy and torch."""
    policy = wide_policy()
    plan = plan_migration(policy).apply()
    save_migrated(plan, tmp_path / "migrated")

    again = verify(policy, tmp_path / "migrated", samples=64)

    assert plan.is_done
    assert again.is_equal
    outputs = next(stage for stage in again.stages if stage.name == "outputs")
    assert 1e-5 < outputs.rounding < 0.05
    assert f"two ulps of the first layer's sums, {outputs.rounding:.1e} at most" in again.meaning()


def test_a_wide_policy_with_another_weight_is_found():
    """The tolerance for rounding is far below what changed weights of one output do."""
    policy, other = wide_policy(), wide_policy()
    weights = other.get_weights()
    last = next(name for name in weights if name.startswith("_logits") and weights[name].ndim == 2)
    weights[last][0] += 0.01
    other.set_weights(weights)

    found = verify(policy, other, samples=4)

    outputs = next(stage for stage in found.stages if stage.name == "outputs")
    assert not outputs.is_equal


def test_rounding_is_allowed_row_by_row():
    """A row with small inputs keeps the narrow tolerance beside one with large ones."""
    differences = Differences(1e-5, 0.0, {"layer": np.ones((1, 4), np.float32)})
    seen = np.array([[1.0] * 4, [1e6] * 4], np.float32)
    ours = {"observation": seen, "outputs": np.array([[1e-4], [0.5]])}

    differences.add(ours, {"observation": seen, "outputs": np.zeros((2, 1))})

    outputs = differences.stages()[1]
    assert (outputs.beyond, outputs.agreement) == (1, 0.5)
    assert outputs.rounding == pytest.approx(2 * np.finfo(np.float32).eps * 4e6)
