"""The whole step as one torch module gives what the actor gives, whatever the pieces."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.bridge import Actor
from rlconnect.bridge.compiled.artifact import plan_of
from rlconnect.bridge.compiled.flat_step import FlatStep
from rlconnect.bridge.compiled.program import SplitWarning, compile_actor
from rlconnect.core import nest
from rlconnect.core.adapters import DropFeatures, Scale, StackFrames
from rlconnect.core.arrays.batching import batch
from rlconnect.core.errors import ConfigError, PieceError
from rlconnect.legacy import (
    ConnectorContext,
    register_lambda_action_connector,
    register_lambda_agent_connector,
)

from tests.bridge.compiled.chains import (
    NETWORKS,
    VECTOR,
    made,
    new_chains,
    old_chains,
    policy_behind,
)
from tests.legacy.replay import GOLDEN, Recording, folders
from tests.legacy.test_recordings import MODELS

CASES = folders(GOLDEN / "legacy")


def stacked():
    """A policy with frames, a filter and a state, and the space it sees."""
    steps = [DropFeatures([1]), Scale(0.5, 0.25), StackFrames(2)]
    model = {**NETWORKS[1], "lstm_use_prev_action": True}
    policy = policy_behind(steps, VECTOR, spaces.Discrete(3), model=model, is_filtered=True)
    return policy, VECTOR


def hold(chain, rows, seed):
    """Item by item, in a batch, and as tensors: the same actions over a course."""
    rng = np.random.default_rng(seed)
    chain.wide.seed(seed)
    program = compile_actor(chain.actor, batch=rows)
    states = program.start(rows)
    assert not chain.actor.missing
    for step in range(4):
        items = [chain.wide.sample() for _ in range(rows)]
        obs = nest.map_structure(lambda leaf: np.asarray(leaf), batch(items))
        reward = rng.normal(size=rows).astype(np.float32)
        told = None if step == 0 else reward

        together = chain.actor.act(obs, reward=told)
        tensors, states = program(obs, states, reward=told, first=np.full(rows, step == 0))

        alone = [
            chain.alone(row, item, 0.0 if step == 0 else float(reward[row]))
            for row, item in enumerate(items)
        ]
        np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(tensors.numpy(), together, rtol=1e-5, atol=1e-5)
        assert tensors.numpy().dtype == together.dtype


@settings(max_examples=14, derandomize=True, deadline=None)
@given(old_chains(), st.sampled_from([1, 2, 5]), st.integers(0, 99))
def test_random_chains_are_one_thing_in_three_forms(chain, rows, seed):
    """Old connectors item by item, a batch, tensors: the same actions."""
    hold(chain, rows, seed)


@settings(max_examples=14, derandomize=True, deadline=None)
@given(new_chains(), st.sampled_from([1, 2, 5]), st.integers(0, 99))
def test_random_chains_of_the_new_stack_are_one_thing_in_three_forms(chain, rows, seed):
    """Pipelines of the new stack likewise."""
    hold(chain, rows, seed)


@pytest.mark.filterwarnings("ignore::rlconnect.bridge.actor.actor.SlowPieceWarning")
@pytest.mark.parametrize("folder", CASES, ids=[f"{f.parent.name}/{f.name}" for f in CASES])
def test_recorded_policies_are_the_same_as_tensors(folder):
    """Each recorded policy as a flat torch module gives what its actor gives, step by step."""
    recording = Recording(folder)
    policy_id = recording.policy_ids[0]
    actor = Actor.from_policy(recording.load(policy_id, custom_models=MODELS))
    plan = plan_of(actor)
    step = FlatStep(plan)
    states = [torch.from_numpy(np.repeat(each[None], 3, 0)) for each in plan.start]
    for number, _, starts, obs, keywords in list(recording.steps(policy_id))[:6]:
        batch = nest.map_structure(lambda leaf: np.stack([np.asarray(leaf)] * 3), obs)
        reward = np.full(3, keywords.get("reward", 0.0), np.float32)
        if starts:
            actor.reset()

        wanted = actor.act(batch, reward=None if starts else reward)
        given = [*nest.flatten(batch)]
        given += [reward] if plan.needs_reward else []
        given += [np.full(3, starts)] if plan.remembers else []
        with torch.no_grad():
            found = step(*[torch.from_numpy(np.array(each)) for each in given], *states)

        leaves = nest.flatten(wanted)
        states = list(found[len(leaves) :])
        assert [port.shape for port in step.outputs] == [tuple(each.shape[1:]) for each in found]
        for want, got in zip(leaves, found, strict=False):
            scale = max(1.0, float(np.abs(want).max()))
            assert np.allclose(want, got.numpy(), atol=1e-5 * scale), number


def test_a_chain_is_split_where_a_piece_has_no_tensor_form(rng):
    """The program says which connectors run item by item, and acts as the actor does."""
    policy = made(spaces.Box(-1, 1, (4,)), spaces.Box(-1, 1, (2,)))
    ctx = ConnectorContext.from_policy(policy)
    flip = register_lambda_agent_connector(
        "FlipObs", lambda data: {**data, "new_obs": sorted(data["new_obs"])}
    )
    bound = register_lambda_action_connector(
        "BoundAction", lambda actions, *rest: (actions if actions[0] < 0 else -actions, *rest)
    )
    policy.agent_connectors.prepend(flip(ctx))
    policy.action_connectors.append(bound(ctx))
    with pytest.warns(UserWarning, match="FlipObs"):
        actor = Actor.from_policy(policy)
    obs = rng.uniform(-1, 1, (5, 4)).astype(np.float32)

    with pytest.warns(SplitWarning, match="FlipObs, BoundAction run item by item"):
        program = compile_actor(actor)

    assert np.allclose(program(obs)[0], actor.act(obs), atol=1e-6)


def test_an_actor_computes_on_a_device(rng):
    """With a device the step runs as tensors, and tensors stay tensors."""
    policy, wide = stacked()
    plain, moved = Actor.from_policy(policy), Actor.from_policy(policy).to("cpu")
    for _ in range(3):
        obs = rng.uniform(-3, 3, (4, *wide.shape)).astype(np.float32)

        wanted = plain.act(obs)
        found = moved.act(torch.from_numpy(obs))

        assert isinstance(found, torch.Tensor)
        assert np.allclose(wanted, found.numpy(), atol=1e-5)
    assert isinstance(plain.act(torch.from_numpy(obs)), torch.Tensor)
    explored = moved.act(obs, explore=True, seed=1)
    assert np.array_equal(explored.shape, wanted.shape)


def test_half_precision_reports_what_it_costs(rng):
    """bfloat16 is asked for, and its largest error is a number."""
    actor = Actor.from_policy(made(spaces.Box(-1, 1, (4,)), spaces.Box(-1, 1, (2,))))
    obs = rng.uniform(-1, 1, (64, 4)).astype(np.float32)

    half = compile_actor(actor, precision="bfloat16").error_of(obs)

    assert 0 < half < 0.1
    assert compile_actor(actor).error_of(obs) == 0


def test_programs_refuse_what_they_cannot_be(rng):
    """A graph needs a GPU and a batch; a fixed batch stays fixed."""
    actor = Actor.from_policy(made(spaces.Box(-1, 1, (4,)), spaces.Discrete(2)))

    with pytest.raises(ConfigError, match="fixed batch on a GPU"):
        compile_actor(actor, batch=4, backend="cudagraph")
    with pytest.raises(ConfigError, match="no such backend"):
        compile_actor(actor, backend="magic")
    with pytest.raises(PieceError, match="fixed batch"):
        compile_actor(actor, batch=4)(np.zeros((3, 4), np.float32))
    with pytest.raises(PieceError, match="no policy 'b'"):
        compile_actor(actor, policy="b")


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["eager", "cudagraph"])
def test_a_gpu_gives_the_same(backend, rng):
    """On a GPU, recorded as a graph or not, actions equal the CPU's within 1e-4."""
    for policy, wide in (stacked(), (made(VECTOR, spaces.Box(-1, 1, (2,))), VECTOR)):
        actor = Actor.from_policy(policy)
        program = compile_actor(actor, batch=8, device="cuda", backend=backend)
        states = program.start(8)
        for step in range(3):
            obs = rng.uniform(-3, 3, (8, *wide.shape)).astype(np.float32)
            given = torch.from_numpy(obs).to("cuda")
            found, states = program(given, states, first=np.full(8, step == 0))
            assert np.allclose(actor.act(obs), found.cpu().numpy(), atol=1e-4)
