"""A learner pipeline does what its pieces do one by one, wherever users put pieces of their own."""

import copy
import tracemalloc

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import RlconnectError
from rlconnect.v2 import (
    AddColumnsFromEpisodesToTrainBatch,
    AddInfosFromEpisodesToTrainBatch,
    AddNextObservationsFromEpisodesToTrainBatch,
    AddObservationsFromEpisodesToBatch,
    AddOneTsToEpisodesAndTruncate,
    AddStatesFromEpisodesToBatch,
    AddTimeDimToBatchAndZeroPad,
    AgentToModuleMapping,
    BatchIndividualItems,
    ComputeReturnsToGo,
    ConnectorV2,
    FrameStackingLearner,
    GeneralAdvantageEstimation,
    LearnerConnectorPipeline,
    MultiAgentEpisode,
    MultiRLModule,
    NumpyToTensor,
    RLModuleSpec,
    SingleAgentEpisode,
    TorchRLModule,
    ValueFunctionAPI,
)

NAMES = st.sampled_from(["x", "y", "z_1", *"abcdefghijkl"])
KINDS = ("box", "dict", "tuple", "number", "image")


class Summing(TorchRLModule, ValueFunctionAPI):
    """The value of an observation is the sum of its numbers, halved."""

    def setup(self):
        pass

    def is_stateful(self):
        return bool((self.model_config or {}).get("max_seq_len"))

    def get_initial_state(self):
        return {"h": np.full(2, 0.5, np.float32)} if self.is_stateful() else {}

    def compute_values(self, batch, embeddings=None):
        first = batch["obs"]
        while not isinstance(first, torch.Tensor):
            first = next(iter(first.values())) if isinstance(first, dict) else first[0]
        kept = 2 if self.is_stateful() else 1
        return first.float().reshape(*first.shape[:kept], -1).sum(-1) / 2


def module_of(seq_len, other_seq_len=None):
    own = {"default_policy": seq_len, "p0": seq_len, "p1": other_seq_len}
    specs = {
        name: RLModuleSpec(
            module_class=Summing,
            observation_space=Box(-9, 9, (2,), np.float32),
            action_space=Discrete(3),
            model_config={"max_seq_len": length},
        )
        for name, length in own.items()
    }
    return MultiRLModule(rl_module_specs=specs)


def observation(step, kind):
    if kind == "number":
        return np.int64(step)
    if kind == "image":
        return np.full((2, 2, 1), step, np.uint8)
    vector = np.array([step, -step / 2], np.float32)
    if kind == "dict":
        return {"b": vector, "a": {"n": np.int64(step)}}
    return (vector, step % 2) if kind == "tuple" else vector


def outputs_of(step, has_state):
    outputs = {"action_logp": np.float32(-step), "count": step}
    if has_state:
        outputs["state_out"] = {"h": np.array([step, 2 * step], np.float32)}
    return outputs


@st.composite
def single(draw, kind, has_state, is_numpy):
    made = SingleAgentEpisode(id_=draw(NAMES))
    before, steps = draw(st.integers(0, 4)), draw(st.integers(0, 20)) % 8
    is_int = draw(st.booleans())
    made.add_env_reset(observation(0, kind), {"t": 0})
    ending = draw(st.sampled_from(["", "terminated", "truncated"]))
    for step in range(1, before + steps + 1):
        if step == before + 1 and before:
            made = made.cut(len_lookback_buffer=draw(st.integers(0, 3)))
        made.add_env_step(
            observation(step, kind),
            step % 3,
            step if is_int else step / 2,
            {"t": step},
            extra_model_outputs=outputs_of(step, has_state),
            **({ending: True} if ending and step == before + steps else {}),
        )
    return made.to_numpy() if is_numpy else made


@st.composite
def several(draw, kind, has_state, is_numpy):
    made = MultiAgentEpisode(
        id_=draw(NAMES),
        agent_to_module_mapping_fn=lambda agent, episode: f"p{int(agent[1:]) % 2}",
    )
    agents = [f"a{place}" for place in range(draw(st.integers(1, 3)))]
    made.add_env_reset(observations={agent: observation(0, kind) for agent in agents})
    steps = draw(st.integers(1, 5))
    for step in range(1, steps + 1):
        made.add_env_step(
            {agent: observation(step, kind) for agent in agents},
            dict.fromkeys(agents, step % 3),
            dict.fromkeys(agents, step / 2),
            terminateds={"__all__": step == steps and draw(st.booleans())},
            extra_model_outputs={agent: outputs_of(step, has_state) for agent in agents},
        )
    return made.to_numpy() if is_numpy else made


def singles_of(episodes):
    return ConnectorV2.single_agent_episode_iterator(episodes, agents_that_stepped_only=False)


class WriteBack(ConnectorV2):
    """Changes actions in the episodes."""

    def __call__(self, *, batch, episodes, **kwargs):
        for each in singles_of(episodes):
            for step in range(len(each)):
                each.set_actions(at_indices=step, new_data=(each.get_actions(step) + 1) % 3)
        return batch


class OwnColumn(ConnectorV2):
    """Adds a column item by item."""

    def __call__(self, *, batch, episodes, **kwargs):
        for each in singles_of(episodes):
            self.add_n_batch_items(batch, "own", [1.5] * len(each), len(each), each)
        return batch


class OwnRewards(ConnectorV2):
    """Adds a default column in arrays before the default piece does."""

    def __call__(self, *, batch, episodes, **kwargs):
        for each in singles_of(episodes):
            self.add_n_batch_items(batch, "rewards", np.ones(len(each)), len(each), each)
        return batch


class Rebuild(ConnectorV2):
    """Returns another dict."""

    def __call__(self, *, batch, **kwargs):
        return dict(batch)


class Drop(ConnectorV2):
    """Takes a column out again."""

    def __call__(self, *, batch, **kwargs):
        batch.pop("action_logp", None)
        return batch


class Lengthen(ConnectorV2):
    """Edits buffers of episodes by hand."""

    def __call__(self, *, batch, episodes, **kwargs):
        for each in singles_of(episodes):
            if len(each) and not each.is_numpy:
                each.infos.data[-1] = {"edited": True}
        return batch


USERS = (WriteBack, OwnColumn, OwnRewards, Rebuild, Drop, Lengthen)


def pieces_of(data, is_multi, kind):
    def maybe(piece):
        return [piece] if data.draw(st.booleans()) else []

    one_more = data.draw(st.booleans())
    learns = {"as_learner_connector": True}
    mapping = AgentToModuleMapping(
        rl_module_specs={"p0", "p1"},
        agent_to_module_mapping_fn=lambda agent, episode: f"p{int(agent[1:]) % 2}",
        **learns,
    )
    pieces = [
        *([AddOneTsToEpisodesAndTruncate()] if one_more else []),
        *maybe(ComputeReturnsToGo(gamma=0.9)),
        *(maybe(FrameStackingLearner(num_frames=3)) if kind == "image" else []),
        AddObservationsFromEpisodesToBatch(**learns),
        *maybe(AddNextObservationsFromEpisodesToTrainBatch()),
        *maybe(AddInfosFromEpisodesToTrainBatch()),
        *maybe(AddColumnsFromEpisodesToTrainBatch()) * (not one_more),
        *[AddColumnsFromEpisodesToTrainBatch()] * one_more,
        AddTimeDimToBatchAndZeroPad(**learns),
        AddStatesFromEpisodesToBatch(**learns),
        *([mapping] if is_multi else []),
        BatchIndividualItems(multi_agent=is_multi),
        NumpyToTensor(**learns),
        *([GeneralAdvantageEstimation(gamma=0.9, lambda_=0.8)] if one_more else []),
    ]
    for user in data.draw(st.lists(st.sampled_from(USERS), max_size=2)):
        pieces.insert(data.draw(st.integers(0, len(pieces))), user())
    return pieces


def one_by_one(pieces, **given):
    batch = {}
    for piece in pieces:
        batch = piece(batch=batch, data=batch, **given)
    return batch


def outcome(run, module, episodes):
    """What came out, of the batch, of the episodes and of what pieces tell each other."""
    shared = {}
    try:
        batch = run(rl_module=module, episodes=episodes, explore=False, shared_data=shared)
    except (RlconnectError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        return {"error": type(error).__name__}
    sides = [
        (each.id_, each.is_truncated, each.t, each.is_numpy, len(each), each.get_state())
        for each in singles_of(episodes)
    ]
    return {"batch": plain(batch), "shared": plain(shared), "episodes": plain(sides)}


def plain(value):
    """Structure, types and numbers as lists that compare exactly."""
    if isinstance(value, (torch.Tensor, np.ndarray, np.generic)):
        return [type(value).__name__, str(value.dtype), tuple(value.shape), value.tolist()]
    if isinstance(value, dict):
        return [
            "dict",
            *([key, plain(own)] for key, own in value.items() if "_time" not in str(key)),
        ]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    return [type(value).__name__, repr(value)]


@settings(max_examples=100)
@given(st.data())
def test_planned_is_one_by_one(data):
    """Batches, dtypes, orders, ids, done flags and appended steps are the same, errors as well."""
    is_multi, has_state = data.draw(st.booleans()), data.draw(st.booleans())
    kind, is_numpy = data.draw(st.sampled_from(KINDS)), data.draw(st.integers(0, 4)) > 0
    episode = several if is_multi else single
    episodes = data.draw(
        st.lists(
            episode(kind, has_state and data.draw(st.booleans()), is_numpy), min_size=1, max_size=4
        )
    )
    seq_lens = (3, 2) if has_state else (None, None)
    module = module_of(seq_lens[0], data.draw(st.sampled_from([seq_lens[1], None])))
    pieces = pieces_of(data, is_multi, kind)
    copies = copy.deepcopy(episodes)

    planned = outcome(LearnerConnectorPipeline(connectors=pieces), module, episodes)

    alone = outcome(lambda **given: one_by_one(pieces, **given), module, copies)
    assert planned == alone


@pytest.mark.parametrize("rows", [100, 5000])
def test_values_in_pieces_are_the_values_at_once(rows):
    """Big batches are asked in pieces, to a millionth, without gradients."""
    torch.manual_seed(0)

    class Network(Summing):
        def setup(self):
            self.asked = []
            self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Linear(16, 1))

        def compute_values(self, batch, embeddings=None):
            self.asked.append(len(batch["obs"]))
            return self.net(batch["obs"]).squeeze(-1)

    made = SingleAgentEpisode(
        observations=np.random.default_rng(0).normal(size=(rows + 1, 2)).astype(np.float32),
        actions=np.zeros(rows, int),
        rewards=np.ones(rows),
        infos=[{}] * (rows + 1),
        len_lookback_buffer=0,
    )
    spec = RLModuleSpec(
        module_class=Network,
        observation_space=Box(-9, 9, (2,), np.float32),
        action_space=Discrete(3),
    )
    module = MultiRLModule(rl_module_specs={"default_policy": spec})
    pieces = [
        AddOneTsToEpisodesAndTruncate(),
        AddObservationsFromEpisodesToBatch(as_learner_connector=True),
        AddColumnsFromEpisodesToTrainBatch(),
        BatchIndividualItems(),
        NumpyToTensor(as_learner_connector=True),
    ]
    in_pieces = GeneralAdvantageEstimation(gamma=0.9, lambda_=0.8)

    class AtOnce(GeneralAdvantageEstimation):
        VALUE_ROWS = None

    pipelines = [
        LearnerConnectorPipeline(connectors=[*pieces, last])
        for last in (in_pieces, AtOnce(gamma=0.9, lambda_=0.8))
    ]
    split, whole = (
        pipeline(rl_module=module, episodes=[copy.deepcopy(made)])["default_policy"]
        for pipeline in pipelines
    )

    assert not split["value_targets"].requires_grad
    assert max(module["default_policy"].asked[:-1]) <= GeneralAdvantageEstimation.VALUE_ROWS
    assert module["default_policy"].asked[-1] == rows + 1
    for column in ("value_targets", "advantages"):
        torch.testing.assert_close(split[column], whole[column], rtol=1e-6, atol=1e-6)


def test_train_batch_needs_little_more_memory_than_its_own():
    """At its peak, a batch of 32,000 steps takes at most 1.3 times its bytes besides episodes."""
    steps, count = 200, 160
    episodes = [
        SingleAgentEpisode(
            id_=f"e{number}",
            observations=np.zeros((steps + 1, 4), np.float32),
            actions=np.zeros(steps, int),
            rewards=np.ones(steps),
            infos=[{}] * (steps + 1),
            extra_model_outputs={
                "action_dist_inputs": np.zeros((steps, 2), np.float32),
                "action_logp": np.zeros(steps, np.float32),
                "weights_seq_no": np.zeros(steps, int),
            },
            len_lookback_buffer=0,
        )
        for number in range(count)
    ]
    learns = {"as_learner_connector": True}
    pipeline = LearnerConnectorPipeline(
        connectors=[
            AddOneTsToEpisodesAndTruncate(),
            AddObservationsFromEpisodesToBatch(**learns),
            AddColumnsFromEpisodesToTrainBatch(),
            BatchIndividualItems(),
            NumpyToTensor(**learns),
            GeneralAdvantageEstimation(gamma=0.99, lambda_=0.95),
        ]
    )
    module = module_of(None)
    pipeline(rl_module=module, episodes=copy.deepcopy(episodes))
    episodes = copy.deepcopy(episodes)
    tracemalloc.start()

    batch = pipeline(rl_module=module, episodes=episodes)["default_policy"]

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    own = sum(column.nbytes for column in batch.values())
    assert own > count * steps * 50
    assert peak < 1.3 * own
