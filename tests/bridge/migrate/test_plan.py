"""Migrations step by step: mixtures, proofs, taking back, another process."""

import itertools
import json
from functools import cache

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from rlconnect.bridge import MigrationPlan, migrate, plan_migration, scoreboard
from rlconnect.bridge.migrate import saved_plan
from rlconnect.bridge.proof.verify import staged
from rlconnect.core.errors import (
    ConfigError,
    CorruptCheckpointError,
    SpaceError,
    UnknownNameError,
)
from rlconnect.legacy import Policy
from rlconnect.legacy.policy.stages import LegacyStages
from rlconnect.v2 import FlattenObservations

from tests.bridge.migrate.networks import POLICIES, policy_of
from tests.legacy.replay import GOLDEN, Recording, folders

CASES = {
    case.name: case
    for case in map(Recording, folders(GOLDEN / "legacy"))
    if not case.custom_model(case.policy_ids[0]) and "adapt" not in case.name
}
FULLY_NATIVE = {
    "2.0.1/ppo_cartpole_meanstd",
    "2.60.0/ppo_dict_obs_flat",
    "2.7.2/dqn_c51",
    "2.7.2/ppo_dict_obs_complex",
    "2.7.2/ppo_image_vision",
    "2.7.2/ppo_pendulum_norm_meanstd",
    "2.7.2/sac_cont",
}


def plan_of(case):
    """A plan that proves with few observations."""
    return MigrationPlan(case.load(case.policy_ids[0]), samples=2, length=3)


@cache
def applied(name):
    """A plan whose steps are all applied; tests look at it."""
    return plan_of(CASES[name]).apply()


@pytest.mark.parametrize("name", CASES)
def test_every_mixture_is_equal_to_the_source(name):
    """Wholly wrapped and after each step, a recorded policy acts as in the old stack."""
    plan = applied(name)

    assert plan.proof["is_equal"]
    assert not any(step.differed for step in plan.steps), str(plan)
    assert all(step.proof["is_equal"] for step in plan.steps if step.is_applied)
    assert plan.is_done


@pytest.mark.parametrize("name", sorted(FULLY_NATIVE))
def test_built_in_policies_become_wholly_native(name):
    """Nothing of the old stack is left where V2 has everything."""
    env_to_module, module, module_to_env = applied(name).triple()

    left = [
        type(piece).__name__
        for piece in [*env_to_module.connectors, module, *module_to_env.connectors]
        if type(piece).__name__.startswith("Legacy")
    ]
    assert left == []


@pytest.mark.parametrize("name", ["2.7.2/ppo_pendulum_norm_meanstd", "2.7.2/sac_cont"])
def test_any_subset_of_steps_is_equal_to_the_source(name):
    """Not only the first steps: whichever pieces are native, the numbers stay."""
    plan = plan_of(CASES[name])
    chosen = np.random.default_rng(0).random((6, len(plan.steps))) < 0.5

    for row in chosen:
        for step, is_applied in zip(plan.steps, row, strict=True):
            step.is_applied = bool(is_applied and step.is_native)
        verdict = plan.verify()

        assert verdict.is_equal, f"{verdict} with {row}"


def test_nested_observations_with_layers_behind_become_native():
    """Trunks of different widths side by side, joined by layers that native heads hold."""
    space = Dict({"a": Box(-1, 1, (3,), np.float32), "b": Discrete(4), "c": MultiBinary(2)})
    model = {"fcnet_hiddens": [6, 5], "post_fcnet_hiddens": [7], "_disable_preprocessor_api": True}
    config = {"seed": 0, "_disable_preprocessor_api": True, "model": model}

    plan = MigrationPlan(Policy(space, Discrete(3), config), samples=4).apply()

    assert plan.is_done, str(plan)
    assert next(step for step in plan.steps if step.name == "network").is_applied


def test_a_plan_stops_where_it_is_told_and_goes_back():
    """`until` names the last step; `revert` takes one back, or all."""
    plan = plan_of(CASES["2.7.2/ppo_pendulum_norm_meanstd"])
    name = "MeanStdObservationFilterAgentConnector"

    plan.apply(until=name)
    applied = [step.name for step in plan.steps if step.is_applied]
    plan.revert(name)

    assert applied[-1] == name
    assert len(applied) < len(plan.steps)
    assert [step.name for step in plan.steps if step.is_applied] == applied[:-1]
    assert not any(step.is_applied for step in plan.revert().steps)
    with pytest.raises(UnknownNameError, match="Nothing"):
        plan.apply(until="Nothing")


def test_a_step_that_changes_numbers_is_taken_back():
    """A native piece that gives other numbers does not stay, and the plan says what differed."""
    from dataclasses import replace

    class Halved(FlattenObservations):
        def __call__(self, *, episodes, **kwargs):
            for episode in episodes:
                last = episode.get_observations(-1)
                episode.set_observations(new_data=last / 2, at_indices=-1)
            return kwargs["batch"]

    plan = plan_of(CASES["2.60.0/ppo_cartpole"])
    step = next(step for step in plan.steps if step.name == "ObsPreprocessorConnector")
    step.twin = replace(step.twin, make=lambda: [Halved()])

    plan.apply()

    assert not step.is_applied
    assert step.kind == "wrapped"
    assert "observation" in step.differed
    assert plan.verify().is_equal


def test_a_step_that_fails_is_taken_back():
    """A native piece that raises does not stay either."""
    from dataclasses import replace

    def broken():
        raise ValueError("out of order")

    plan = plan_of(CASES["2.60.0/ppo_cartpole"])
    plan.steps[0].twin = replace(plan.steps[0].twin, make=broken)

    plan.apply()

    assert "out of order" in plan.steps[0].differed
    assert plan.verify().is_equal


def test_connectors_of_the_authors_own_need_code():
    """A lambda stays wrapped; the plan prints the class to fill in."""
    plan = plan_of(CASES["2.7.2/ppo_lambda_connectors"]).apply()

    text = str(plan)

    assert {step.name for step in plan.steps if step.kind == "code"} == {"HalveObs", "ShiftAction"}
    assert "class HalveObs(SingleAgentObservationPreprocessor)" in text
    for step in plan.steps:
        compile(step.twin.snippet, step.name, "exec")


def test_a_plan_goes_on_in_another_process(tmp_path):
    """State is JSON: what was applied and proven is still so after loading."""
    source = CASES["2.60.0/ppo_cartpole"].folder / "algo_checkpoint"
    plan = plan_migration(source).apply(until=1)

    plan.save(tmp_path / "plan.json")
    again = MigrationPlan.load(tmp_path / "plan.json")

    assert (
        json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["format"]
        == "rlconnect-migration"
    )
    assert [step.to_data() for step in again.steps] == [step.to_data() for step in plan.steps]
    assert again.apply().is_done


def test_a_plan_of_a_live_policy_brings_the_policy_along(tmp_path):
    """What was never a file is saved beside the plan."""
    plan = plan_migration(policy_of(POLICIES["own value net"])).apply()

    plan.save(tmp_path / "plan.json")
    again = MigrationPlan.load(tmp_path / "plan.json")

    assert again.is_done
    assert again.verify().is_equal


def test_a_file_that_is_no_plan_is_told(tmp_path):
    """Other JSON, and no JSON, are refused by name."""
    (tmp_path / "a.json").write_text("[1]", encoding="utf-8")
    (tmp_path / "b.json").write_text("{", encoding="utf-8")

    for name in ("a.json", "b.json", "missing.json"):
        with pytest.raises(CorruptCheckpointError, match=name):
            MigrationPlan.load(tmp_path / name)


def test_one_of_several_policies_has_to_be_named():
    """A checkpoint of several policies is migrated policy by policy."""
    source = CASES["2.7.2/ppo_multiagent"].folder / "algo_checkpoint"
    names = CASES["2.7.2/ppo_multiagent"].policy_ids

    with pytest.raises(ConfigError, match=r"policy_id="):
        plan_migration(source)

    assert plan_migration(source, names[0]).policy.name == names[0]


def test_the_environment_may_be_told_where_a_connector_changes_it():
    """A connector of the author's own that drops features: the environment gives more."""
    case = next(
        Recording(folder) for folder in folders(GOLDEN / "legacy") if "adapt" in folder.name
    )
    low, high = np.full(6, -5, np.float32), np.full(6, 5, np.float32)
    low[[0, 2]], high[[0, 2]] = [-4, -0.4], [4, 0.4]
    plan = MigrationPlan(
        case.load(case.policy_ids[0]), observation_space=Box(low, high), samples=2, length=2
    )

    plan.apply()

    assert plan.proof["is_equal"]
    assert plan.is_done, str(plan)


def test_the_score_counts_pieces():
    """What became native, what stays, and what needs its author."""
    names = ["2.7.2/ppo_pendulum_norm_meanstd", "2.7.2/ppo_lambda_connectors", "2.7.2/td3"]

    score = scoreboard(plan_of(CASES[name]) for name in names)

    assert score.wrapped_equal == score.policies == len(names)
    assert score.mixtures_equal == score.mixtures == 22
    assert score.networks["native"] == len(names) - 1
    assert score.networks["wrapped"] == 1
    assert score.own["code"] == 2
    assert score.share_native > 0.95
    assert "authors' own" in str(score)


@pytest.mark.parametrize("name", ["2.7.2/ppo_lstm_prev", "2.2.0/ppo_lstm_prev"])
def test_earlier_actions_and_rewards_are_the_old_ones(name):
    """A network that looks at its last action and reward gets both, in every mixture."""
    plan = plan_of(CASES[name])
    rng = np.random.default_rng(0)
    steps, slots = 5, ["a", "b"]
    seen = rng.uniform(-1, 1, (steps, 2, *plan.observation_space.shape)).astype(np.float32)
    earned = rng.normal(size=(steps, 2))
    views = next(step for step in plan.steps if step.name.startswith("ViewRequirement"))

    for last in [None, *range(len(plan.steps))]:
        if last is not None:
            plan.steps[last].is_applied = plan.steps[last].is_native
        old, new = LegacyStages(plan.policy), staged(plan.triple())
        old.reset(slots)
        for step in range(steps):
            rewards = None if step == 0 else list(earned[step])
            wanted = old.step(slots, list(seen[step]), rewards)
            found = new.step(slots, list(seen[step]), rewards)

            np.testing.assert_allclose(found["outputs"], wanted["outputs"], rtol=1e-5, atol=1e-6)

    assert views.kind == "native"
    assert views.is_applied


def test_squashed_actions_are_squashed_without_exploring():
    """V2's SAC gives the mean before squashing as its best action; a piece squashes it."""
    policy = policy_of(POLICIES["sac"])
    plan = plan_migration(policy).apply()

    names = [type(piece).__name__ for piece in plan.triple()[2].connectors]

    assert "SquashGreedyActions" in names
    assert plan.verify().is_equal


def test_spaces_of_counts_are_cast_only_behind_the_filter():
    """Old filters cut integers off, old networks cast them: native ones do so in this order."""
    space = Box(-20, 20, (3,), np.int32)
    policy = Policy(space, Discrete(2), {"seed": 0, "observation_filter": "MeanStdFilter"})
    plan = MigrationPlan(policy, samples=4)
    held = policy.agent_connectors["MeanStdObservationFilterAgentConnector"][0]
    for row in ([1, 5, 9], [3, -8, 2], [2, 2, 2]):
        held.filter(np.int32(row))
    plan = MigrationPlan(policy, samples=4).apply()

    names = [type(piece).__name__ for piece in plan.triple()[0].connectors]

    assert plan.is_done
    assert names[:2] == ["MeanStdFilter", "FlattenObservations"]
    assert not list(itertools.filterfalse(lambda step: step.is_applied, plan.steps))


def test_a_plans_policy_stays_until_the_new_plan_is_there(tmp_path, monkeypatch):
    """A plan that cannot be written leaves the older one with its own policy; a later one none."""
    first, second = (plan_of(CASES[name]) for name in sorted(FULLY_NATIVE)[1:3])
    first.source = second.source = ""
    first.save(tmp_path / "plan.json")

    def failing(target):
        raise OSError(28, "full")

    with monkeypatch.context() as patch:
        patch.setattr(saved_plan, "replaced_file", failing)
        with pytest.raises(OSError, match="full"):
            second.save(tmp_path / "plan.json")

    assert MigrationPlan.load(tmp_path / "plan.json").policy.name == first.policy.name
    assert [str(step) for step in MigrationPlan.load(tmp_path / "plan.json").steps] == [
        str(step) for step in first.steps
    ]
    for plan in (second, first, second):
        plan.save(tmp_path / "plan.json")
        assert len(list(tmp_path.iterdir())) == 2
    again = MigrationPlan.load(tmp_path / "plan.json")
    assert [str(step) for step in again.steps] == [str(step) for step in second.steps]


def test_steps_are_proven_on_what_the_source_meets():
    """Recorded observations and those of played episodes come beside the random ones."""
    policy = policy_of(POLICIES["own value net"])
    seen = [np.zeros(5), np.ones(5)]
    plan = MigrationPlan(policy, samples=1, length=2).prove_on(observations=[seen, seen[:1]])

    verdict = plan.apply().verify()

    assert verdict.is_equal
    assert verdict.steps == 2 * (1 + 3) + 3
    assert verdict.source == "from 2 recorded episodes, 1 random ones and corners"
    assert all(step.proof["steps"] == verdict.steps for step in plan.steps if step.is_applied)


def test_a_played_environment_gives_observations():
    """The source plays; every observation of it is one of the proof's."""
    cartpole = GOLDEN / "legacy" / "2.60.0" / "ppo_cartpole"
    policy = Recording(cartpole).load("default_policy")

    plan = plan_migration(policy).prove_on(env="CartPole-v1", episodes=2, samples=1)

    assert len(plan.met) == 2
    assert all(policy.observation_space.contains(each) for each in plan.met[0])
    assert plan.apply().verify().is_equal


def test_observations_of_another_space_are_told():
    """Their shape and the space's."""
    plan = plan_migration(policy_of(POLICIES["own value net"]))

    with pytest.raises(SpaceError, match="of another space"):
        plan.prove_on(observations=[np.zeros(3)])


def test_a_printed_plan_says_what_to_do_with_what_was_written(tmp_path):
    """To load it, to train on it, to check it, and to open it in Ray."""
    plan = migrate(policy_of(POLICIES["own value net"]), tmp_path / "v2")
    critic = migrate(policy_of(POLICIES["dueling"]), tmp_path / "dqn")
    rays = migrate(policy_of(POLICIES["own value net"]), tmp_path / "ray", to="ray")

    words = [line.partition(" ")[0] for line in str(plan).splitlines()[-5:]]
    assert words == ["written", "load", "train", "check", "in"]
    assert f"PPOConfig().from_migrated({str(tmp_path / 'v2')!r})" in str(plan)
    assert "from_migrated" not in str(critic)
    assert "Algorithm.from_checkpoint" in str(rays)
    assert "written" not in str(plan_migration(plan.policy))
