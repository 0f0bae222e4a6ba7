"""Random chains of pieces around a small network, of either stack, for property tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from hypothesis import strategies as st
from rlconnect.bridge import Actor, adapt
from rlconnect.bridge.actor.episode_player import EpisodePlayer
from rlconnect.bridge.actor.v2_plan import v2_plan
from rlconnect.bridge.triple import V2Triple
from rlconnect.core.adapters import (
    AdapterChain,
    AddRates,
    Clip,
    ConcatKeys,
    DropFeatures,
    DropKeys,
    ExtendAction,
    InsertFeatures,
    MapActions,
    OneHot,
    PickKey,
    Scale,
    SelectFeatures,
    StackFrames,
)
from rlconnect.legacy import Policy, create_connectors_for_policy, local_policy_inference
from rlconnect.v2 import (
    AdaptActions,
    AdaptObservations,
    FlattenObservations,
    MeanStdFilter,
    PrevActionsPrevRewards,
    RLModuleSpec,
)
from rlconnect.v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline
from rlconnect.v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline
from rlconnect.v2.modules.ppo import DefaultPPOTorchRLModule

VECTOR = spaces.Box(-3, 3, (5,), np.float32)
NESTED = spaces.Dict({"a": spaces.Box(-3, 3, (3,), np.float32), "b": spaces.Discrete(4)})
NUMBER = spaces.Discrete(6)
NETWORKS = ({}, {"use_lstm": True, "max_seq_len": 4})
OLD_LSTM = {**NETWORKS[1], "lstm_use_prev_action": True, "lstm_use_prev_reward": True}


@dataclass(frozen=True)
class Chain:
    """An actor of a chain, and the same chain item by item.

    Attributes:
        text: What it is made of, as hypothesis tells of a failure.
        wide: What an environment gives.
        actor: A fresh one.
        alone: From environment, observation and reward to one action, by the pieces themselves.
    """

    text: str
    wide: spaces.Space[Any]
    actor: Actor
    alone: Callable[[int, Any, float], Any]

    def __repr__(self) -> str:
        return self.text


def made(observation_space, action_space, **config):
    """A fresh policy with its default connectors."""
    policy = Policy(observation_space, action_space, {"seed": 5, **config})
    create_connectors_for_policy(policy, policy.config)
    return policy


def policy_behind(steps, wide, acts, *, model=None, is_filtered=False):
    """An old policy behind steps, with an action step; its filter has seen something."""
    rng = np.random.default_rng(0)
    space = wide
    for step in steps:
        space = step.bind(space).space
    kind = "MeanStdFilter" if is_filtered else "NoFilter"
    policy = made(
        space, acts, model={"fcnet_hiddens": [8], **(model or {})}, observation_filter=kind
    )
    for connector in policy.agent_connectors["MeanStdObservationFilterAgentConnector"]:
        shape = connector.filter.shape
        connector.filter(rng.normal(size=(20, *shape)).astype(np.float32))
    action = _action_step(acts)
    takes = action.bind(acts).space
    return adapt(policy, observation_space=wide, action_space=takes, obs=steps, action=action)


def old_chain(policy, text=""):
    """The chain of a policy of the old stack."""

    def alone(row, obs, reward):
        return local_policy_inference(policy, row, "agent", obs, reward, explore=False)[0][0]

    actor = Actor.from_policy(policy)
    return Chain(text, actor.observation_space, actor, alone)


def new_chain(triple, text=""):
    """The chain of pipelines and a module."""
    slow = Actor({"default_policy": EpisodePlayer(triple, v2_plan(triple))})

    def alone(row, obs, reward):
        return slow.act(obs, env_ids=row, reward=reward)

    actor = Actor.from_v2(*triple[:3])
    return Chain(text, actor.observation_space, actor, alone)


def pipelines_behind(pieces, steps, wide, acts, *, model, is_filtered):
    """Pieces, steps and a module of the new stack; its filter has seen something."""
    pieces = [*pieces, AdaptObservations(chain=AdapterChain(obs=steps))]
    filters = [MeanStdFilter(update_stats=False)] * is_filtered
    to_module = env_to_module_pipeline(wide, acts, custom=[*pieces, *filters])
    rng = np.random.default_rng(0)
    for each in filters:
        for stat in each.stats_of(None):
            stat.push_batch(rng.normal(1, 2, (20, *to_module.observation_space.shape)))
    torch.manual_seed(0)
    module = RLModuleSpec(
        module_class=DefaultPPOTorchRLModule,
        observation_space=to_module.observation_space,
        action_space=acts,
        model_config={"fcnet_hiddens": [8], **model},
    ).build()
    to_env = module_to_env_pipeline(wide, acts)
    to_env.append(AdaptActions(None, acts, chain=AdapterChain(action=[_action_step(acts)])))
    names = [type(piece).__name__ for piece in [*pieces, *filters]]
    text = f"{wide} -> {names}, {steps} -> {model} -> {acts}"
    return new_chain(V2Triple(to_module, module, to_env), text)


@st.composite
def steps_over(draw, wide):
    """Steps one after another, each fit for what the one before it gives; at last a vector."""
    found = []
    if isinstance(wide, spaces.Dict):
        found = draw(st.sampled_from([[PickKey("a")], [DropKeys(["b"]), ConcatKeys()]]))
    elif isinstance(wide, spaces.Discrete):
        found = [OneHot()]
    space = wide
    for step in found:
        space = step.bind(space).space
    for _ in range(draw(st.integers(0, 4))):
        width = space.shape[0]
        options = [
            st.builds(lambda at, value: InsertFeatures([at], [value]), _below(width + 1), _floats),
            st.builds(lambda by, plus: Scale(by, plus), st.floats(0.125, 2, width=32), _floats),
            st.permutations(range(width)).map(SelectFeatures),
            st.just(Clip(-1.0, 1.5)),
            st.just(StackFrames(2)),
            _below(width).map(lambda at: AddRates([at], 0.5)),
            *([_below(width).map(lambda at: DropFeatures([at]))] if width > 2 else []),
        ]
        found = [*found, draw(st.one_of(options))]
        space = found[-1].bind(space).space
    return found


@st.composite
def old_chains(draw):
    """Chains of the old stack: adapter steps, filter, network with or without a state."""
    wide = draw(st.sampled_from([VECTOR, NESTED, NUMBER]))
    steps = draw(steps_over(wide))
    acts = draw(st.sampled_from(ACTIONS))
    model, is_filtered = draw(st.sampled_from([{}, OLD_LSTM])), draw(st.booleans())
    policy = policy_behind(steps, wide, acts, model=model, is_filtered=is_filtered)
    return old_chain(policy, f"{wide} -> {steps} -> {model}, filter {is_filtered} -> {acts}")


def an_old_chain():
    """A chain of the old stack with everything in it."""
    steps = [
        DropKeys(["b"]),
        ConcatKeys(),
        InsertFeatures([1], [0.5]),
        Scale(0.5, 0.25),
        SelectFeatures([2, 0, 1]),
        Clip(-1.0, 1.5),
        StackFrames(2),
        AddRates([1], 0.5),
        DropFeatures([2]),
    ]
    return old_chain(policy_behind(steps, NESTED, ACTIONS[1], model=OLD_LSTM, is_filtered=True))


@st.composite
def new_chains(draw):
    """Chains of the new stack: flattening, earlier steps, adapter, filter, network."""
    wide = draw(st.sampled_from([VECTOR, NESTED, NUMBER]))
    acts, model = draw(st.sampled_from(ACTIONS)), draw(st.sampled_from(NETWORKS))
    is_discrete = isinstance(acts, spaces.Discrete)
    pieces = []
    if is_discrete and draw(st.booleans()):
        pieces.append(PrevActionsPrevRewards(n_prev_actions=draw(st.integers(1, 3))))
    if pieces or wide is not VECTOR:
        pieces.append(FlattenObservations())
    flat = env_to_module_pipeline(wide, acts, custom=pieces).observation_space
    steps = draw(steps_over(flat))
    return pipelines_behind(pieces, steps, wide, acts, model=model, is_filtered=draw(st.booleans()))


def a_new_chain():
    """A chain of the new stack with everything in it."""
    pieces = [PrevActionsPrevRewards(n_prev_actions=2), FlattenObservations()]
    steps = [StackFrames(2), AddRates([1], 0.5)]
    return pipelines_behind(pieces, steps, NESTED, ACTIONS[0], model=NETWORKS[1], is_filtered=True)


ACTIONS = (spaces.Discrete(3), spaces.Box(-2, 1, (2,), np.float32))
_floats = st.floats(-1, 1, width=32)


def _below(count):
    return st.integers(0, count - 1)


def _action_step(acts):
    return MapActions([2, 0, 1]) if isinstance(acts, spaces.Discrete) else ExtendAction([0.25])
