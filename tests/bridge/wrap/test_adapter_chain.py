"""One adapter, three forms: legacy connector, piece of the new stack, function of tensors."""

import copy

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.bridge import LegacyAgentConnectorV2, adapt, policy_to_v2, suggest_adapter, verify
from rlconnect.core.adapters import (
    AdapterChain,
    Cast,
    Clip,
    DropFeatures,
    ExtendAction,
    InsertFeatures,
    MapActions,
    Rescale,
    Scale,
    SelectFeatures,
    StackFrames,
)
from rlconnect.core.errors import PieceError
from rlconnect.legacy import (
    ActionConnectorDataType,
    AgentConnectorDataType,
    ConnectorContext,
    Policy,
    create_connectors_for_policy,
)
from rlconnect.legacy.connectors.action.adapt_actions import AdaptActionsConnector
from rlconnect.legacy.connectors.agent.adapt_observations import AdaptObservationsAgentConnector
from rlconnect.v2 import AdaptActions, AdaptObservations, SingleAgentEpisode

SPACE = spaces.Box(-2.0, 3.0, (4,), np.float32)
STEPS = st.one_of(
    st.permutations(range(3)).map(lambda order: SelectFeatures([*order, 0])),
    st.floats(-2, 2, width=32).map(lambda fill: InsertFeatures([1], [fill])),
    st.just(DropFeatures([0])),
    st.floats(0.125, 2, width=32).map(Scale),
    st.just(Clip(-1.0, 1.0)),
    st.just(Rescale(-1, 1)),
    st.integers(1, 3).map(StackFrames),
)


def chained(steps):
    """The longest beginning of some steps that fits the space."""
    for length in range(len(steps), -1, -1):
        chain = AdapterChain(obs=tuple(steps[:length]))
        try:
            chain.bind(SPACE, SPACE)
        except ValueError:
            continue
        return chain
    raise AssertionError("no step always fits")


def through(bound, tensors, memory, is_first):
    """The formulas of a chain on tensors, constants and memory as tensors, as a module runs it."""
    kept, held = [], iter(memory)
    for step in bound.obs:
        constants = [torch.from_numpy(np.array(each)) for each in step.constants]
        if step.memory is None:
            tensors = step.formula(tensors, *constants)
        else:
            firsts = torch.full((len(tensors),), is_first)
            tensors, own = step.formula(tensors, next(held), firsts, *constants)
            kept.append(own)
    return tensors, kept


@settings(max_examples=40, deadline=None, derandomize=True)
@given(steps=st.lists(STEPS, min_size=1, max_size=4), seed=st.integers(0, 9))
def test_three_forms_of_one_chain(steps, seed):
    """On any chain, and over the steps of episodes, the three forms give the same numbers."""
    chain = chained(steps)
    draws = np.random.default_rng(seed)
    legacy = AdaptObservationsAgentConnector(
        ConnectorContext(), chain=chain, observation_space=SPACE
    )
    piece = AdaptObservations(SPACE, chain=chain.to_data())
    bound = chain.bind(SPACE, SPACE)
    memory = tuple(torch.from_numpy(part) for part in bound.start(3))
    episodes = [SingleAgentEpisode(id_=f"e{place}") for place in range(3)]

    for t in range(4):
        seen = draws.uniform(-2, 3, (3, 4)).astype(np.float32)
        records = [
            AgentConnectorDataType(place, "a", {"new_obs": seen[place]}) for place in range(3)
        ]
        ours = [record.data["new_obs"] for record in legacy(records)]
        for place, episode in enumerate(episodes):
            if t == 0:
                episode.add_env_reset(observation=seen[place])
            else:
                episode.add_env_step(seen[place], 0, 0.0)
        piece(rl_module=None, batch={}, episodes=episodes)
        tensors, memory = through(bound, torch.from_numpy(seen), memory, t == 0)

        for place, episode in enumerate(episodes):
            found = episode.get_observations(-1)
            np.testing.assert_array_equal(found, ours[place])
            np.testing.assert_allclose(found, tensors[place].numpy(), rtol=1e-6, atol=1e-6)
            assert piece.observation_space.shape == found.shape


@pytest.mark.parametrize("form", ["items", "batch", "list"])
def test_actions_in_all_forms(form):
    """Actions are adapted by key, as one batch and as a list, as the legacy connector does."""
    space = spaces.Discrete(2)
    chain = AdapterChain(action=[MapActions([2, 0])])
    legacy = AdaptActionsConnector(ConnectorContext(action_space=space), chain=chain)
    given = np.array([0, 1, 1])
    wanted = [
        int(legacy(ActionConnectorDataType("e", "a", {}, (action, [], {}))).output[0])
        for action in given
    ]
    column = {
        "items": {("e0",): [given[0]], ("e1",): [given[1], given[2]]},
        "batch": given,
        "list": list(given),
    }[form]

    piece = AdaptActions(None, space, chain=chain)
    batch = piece(rl_module=None, batch={"actions": column}, episodes=[])

    found = batch["actions_for_env"]
    rows = [row for items in found.values() for row in items] if form == "items" else found
    assert list(map(int, rows)) == wanted
    assert batch["actions"] is column


def test_memory_is_state():
    """A piece restored in the middle of an episode goes on stacking."""
    chain = AdapterChain(obs=[StackFrames(3)])
    pieces = [AdaptObservations(SPACE, chain=chain) for _ in range(2)]
    episodes = [SingleAgentEpisode(id_="e0") for _ in range(2)]
    for episode, piece in zip(episodes, pieces, strict=True):
        episode.add_env_reset(observation=np.full(4, 1, np.float32))
        piece(rl_module=None, batch={}, episodes=[episode])
    kwargs = pieces[1].get_ctor_args_and_kwargs()[1]
    restored = AdaptObservations(**kwargs)
    restored.set_state(pieces[1].get_state())

    for episode, piece in zip(episodes, [pieces[0], restored], strict=True):
        episode.add_env_step(np.full(4, 2, np.float32), 0, 0.0)
        piece(rl_module=None, batch={}, episodes=[episode])

    ours, theirs = (episode.get_observations(-1) for episode in episodes)
    np.testing.assert_array_equal(ours, theirs)
    assert set(np.unique(ours)) == {1.0, 2.0}


def made(**config):
    spec = (spaces.Box(-1, 1, (4,), np.float32), spaces.Discrete(2), {"seed": 1, **config})
    policy = Policy(*spec, weights=Policy(*spec).get_weights())
    create_connectors_for_policy(policy, policy.config)
    return policy


CHANGED = {
    "observation_space": spaces.Box(-1, 1, (6,), np.float32),
    "action_space": spaces.MultiDiscrete([2, 2]),
}


@pytest.mark.parametrize("model", [{}, {"use_lstm": True, "lstm_use_prev_reward": True}])
def test_adapted_triple_is_the_adapted_policy(model):
    """To adapt and wrap is to wrap and adapt, at every stage."""
    policy = made(model=model)
    how = {"obs": DropFeatures([4, 5]), "action": ExtendAction([0]), **CHANGED}
    if model:
        how["reward"] = [Scale(0.5), Clip(-1.0, 1.0)]
    adapted = adapt(policy, **how)

    first = adapt(policy_to_v2(policy), **how)
    last = policy_to_v2(adapted)

    for triple in (first, last):
        verdict = verify(adapted, triple, samples=4, absolute=0, relative=0)
        assert verdict.is_equal, str(verdict)
        assert verdict.stages[0].name == "observation"


def test_triple_suggests_and_refuses_like_a_policy():
    """Suggestions for a triple are those for its policy; what it cannot adapt it says."""
    policy = made()
    triple = policy_to_v2(policy)
    ours, theirs = (suggest_adapter(each, **CHANGED) for each in (policy, triple))

    assert str(ours) == str(theirs)
    with pytest.raises(PieceError, match="policy_mapping_fn"):
        adapt(triple, obs=[], action=[], agents={"new": "old"}, **_same(policy))
    native = (copy.deepcopy(triple[0]), *triple[1:])
    native[0].remove(LegacyAgentConnectorV2)
    with pytest.raises(PieceError, match="AdaptRewards"):
        adapt(native, obs=[], action=[], reward=Scale(2), **_same(policy))


def _same(policy):
    return {
        "observation_space": policy.observation_space,
        "action_space": policy.action_space,
    }


def test_cast_keeps_what_the_network_takes():
    """Numbers that come wider are cast before the policy sees them."""
    policy = made()
    wide = spaces.Box(-1, 1, (4,), np.float64)

    adapted = adapt(
        policy_to_v2(policy),
        obs=Cast("float32"),
        observation_space=wide,
        action_space=policy.action_space,
    )

    assert adapted[0].connectors[0].observation_space.dtype == np.float32
