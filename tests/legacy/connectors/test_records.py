"""Many agents at once through whole pipelines: what each connector alone would have given."""

import copy

import numpy as np
import pytest
import rlconnect.legacy as legacy
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.legacy import (
    ActionConnectorDataType,
    ActionConnectorPipeline,
    AgentConnector,
    AgentConnectorDataType,
    AgentConnectorPipeline,
    ConcurrentMeanStdObservationFilterAgentConnector,
    ConnectorContext,
    ConvertToNumpyConnector,
    EnvSamplingAgentConnector,
    ImmutableActionsConnector,
    MeanStdObservationFilterAgentConnector,
    NormalizeActionsConnector,
    ObsPreprocessorConnector,
    StateBufferConnector,
    ViewRequirement,
    ViewRequirementAgentConnector,
    batch_policy_inference,
    local_policy_inference,
    register_lambda_action_connector,
    register_lambda_agent_connector,
)
from rlconnect.legacy.connectors.rows import Rows, output_rows

from tests.legacy.policy.test_inference import PLAIN, fresh, observations

SPACE = Box(-1, 1, (2,))
CTX = ConnectorContext(
    {},
    [np.ones(3, np.float32)],
    SPACE,
    Discrete(2),
    {
        "obs": ViewRequirement(space=SPACE),
        "state_in_0": ViewRequirement("state_out_0", Box(-1, 1, (3,)), shift=-1),
        "prev_rewards": ViewRequirement("rewards", shift=-1),
    },
    is_policy_recurrent=True,
)


class Reversed(AgentConnector):
    """A user's piece that sees all agents and hands them on in another order."""

    def __call__(self, acd_list):
        return list(acd_list)[::-1]


class OnlyTransform(EnvSamplingAgentConnector):
    """A user's piece on top of a built-in."""

    def transform(self, ac_data):
        seen = {**ac_data.data, "seen": True}
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, seen)


Shift = register_lambda_agent_connector(
    "ShiftForRecords", lambda data: {**data, "new_obs": data["new_obs"] + 0.25}
)
BEFORE_VIEWS = [
    EnvSamplingAgentConnector,
    lambda ctx: legacy.ClipRewardAgentConnector(ctx, limit=0.5),
    ObsPreprocessorConnector,
    MeanStdObservationFilterAgentConnector,
    ConcurrentMeanStdObservationFilterAgentConnector,
    StateBufferConnector,
    Reversed,
    OnlyTransform,
    Shift,
]


def records(agents, step):
    rng = np.random.default_rng(step)
    return [
        AgentConnectorDataType(
            agent % 2,
            agent,
            {
                "new_obs": rng.uniform(-0.5, 0.5, 2).astype(np.float32),
                "rewards": float(rng.normal()),
                "state_out_0": rng.random(3, np.float32),
                "actions": np.int64(1),
                "infos": {"agent": agent},
            },
        )
        for agent in agents
    ]


def one_by_one(pipeline, given):
    """What the connectors give, each called alone, for one record after the other."""
    for connector in pipeline.connectors:
        if type(connector) is Reversed:
            given = connector(given)
        else:
            given = [connector([record])[0] for record in given]
    return given


def assert_same(mine, its):
    assert type(mine) is type(its)
    if isinstance(its, dict):
        assert list(mine) == list(its)
        for key, value in its.items():
            assert_same(mine[key], value)
    elif isinstance(its, (list, tuple)):
        assert len(mine) == len(its)
        for one, other in zip(mine, its, strict=True):
            assert_same(one, other)
    elif isinstance(its, (np.ndarray, np.generic)):
        assert (mine.dtype, mine.shape) == (its.dtype, its.shape)
        if its.dtype == object:
            assert mine.tolist() == its.tolist()
        else:
            np.testing.assert_allclose(mine, its, rtol=0, atol=1e-6)
    else:
        assert mine == its


PIECES = st.lists(st.sampled_from(range(len(BEFORE_VIEWS))), max_size=5)
ROUNDS = st.lists(
    st.tuples(st.lists(st.integers(0, 5), max_size=6), st.sampled_from([None, None, 0, 1])),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60)
@given(pieces=PIECES, rounds=ROUNDS, has_views=st.booleans(), training=st.booleans())
def test_a_pipeline_gives_what_its_pieces_give_alone(pieces, rounds, has_views, training):
    """Any pieces in any order, users' between built-ins, agents twice, new and reset."""
    made = [BEFORE_VIEWS[piece](CTX) for piece in pieces]
    made += [StateBufferConnector(CTX), ViewRequirementAgentConnector(CTX)] if has_views else []
    together = AgentConnectorPipeline(CTX, made)
    alone = copy.deepcopy(together)
    for pipeline in (together, alone):
        pipeline.in_training() if training else pipeline.in_eval()

    for step, (agents, reset) in enumerate(rounds):
        if reset is not None:
            together.reset(reset)
            alone.reset(reset)

        got = together(records(agents, step))
        want = one_by_one(alone, records(agents, step))

        ids = [(each.env_id, each.agent_id) for each in want]
        assert [(each.env_id, each.agent_id) for each in got] == ids
        for mine, its in zip(got, want, strict=True):
            if has_views:
                assert_same(mine.data.raw_dict, its.data.raw_dict)
                assert_same(mine.data.sample_batch, its.data.sample_batch)
            else:
                assert_same(mine.data, its.data)


def test_what_no_connector_changes_stays_the_same_object():
    """Records that nothing was done to come out themselves, and their data in any case."""
    given = records(range(3), 0)
    pipeline = AgentConnectorPipeline(CTX, [ObsPreprocessorConnector(CTX)])

    made = pipeline(given)

    assert all(mine is its for mine, its in zip(made, given, strict=True))


def test_a_subclass_with_its_own_transform_is_asked():
    """A built-in's way with many agents is not taken where its meaning was changed."""

    class Halved(MeanStdObservationFilterAgentConnector):
        def transform(self, ac_data):
            made = super().transform(ac_data)
            made.data["new_obs"] = made.data["new_obs"] / 2
            return made

    class Mixin:
        def transform(self, ac_data):
            return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, {"mixed": True})

    class Mixed(Mixin, ObsPreprocessorConnector):
        pass

    class Renamed(MeanStdObservationFilterAgentConnector):
        pass

    plain, halved = MeanStdObservationFilterAgentConnector(CTX), Halved(CTX)

    want = [each.data["new_obs"] / 2 for each in plain(records(range(3), 0))]
    got = [each.data["new_obs"] for each in halved(records(range(3), 0))]

    np.testing.assert_allclose(got, want, atol=1e-6)
    assert [each.data for each in Mixed(CTX)(records(range(2), 0))] == [{"mixed": True}] * 2
    assert [each.works_on_all for each in (Renamed, Halved, Mixed)] == [True, False, False]


class Tap:
    """What a user puts around a connector to watch it: no connector, but it answers like one."""

    def __init__(self, connector):
        self.connector, self.seen = connector, []

    def __getattr__(self, name):
        return getattr(self.connector, name)

    def __call__(self, given):
        self.seen.append(given)
        return self.connector(given)


@pytest.mark.parametrize("count", [1, 2])
def test_whatever_stands_around_a_connector_is_called(count):
    """A stand-in that hands attributes on is asked itself, with one agent and with many."""
    policy = fresh(PLAIN)
    agent, action = policy.agent_connectors, policy.action_connectors
    agent.connectors = [Tap(each) for each in agent.connectors]
    action.connectors = [Tap(each) for each in action.connectors]
    seen = observations(policy, count, 0)

    if count == 1:
        local_policy_inference(policy, 0, "a", seen[0])
    else:
        batch_policy_inference(policy, range(count), "a" * count, seen)

    assert [len(tap.seen) for tap in agent.connectors] == [1] * len(agent.connectors)
    assert [len(tap.seen) for tap in action.connectors] == [count] * len(action.connectors)


def test_edits_count_at_the_next_batch():
    """Pipelines are plain lists, states are plain state: what is done to them takes effect."""
    policy = fresh(PLAIN)
    seen = observations(policy, 2, 0)

    def outputs():
        found = batch_policy_inference(policy, [0, 1], "aa", seen, explore=False)
        return [fetches["action_dist_inputs"] for *_, fetches in found]

    before = outputs()
    policy.agent_connectors.insert_before(
        "StateBufferConnector", Shift(policy.agent_connectors.ctx)
    )
    shifted = outputs()
    policy.agent_connectors.remove("ShiftForRecords")
    again = outputs()
    policy.set_weights({name: np.zeros_like(w) for name, w in policy.get_weights().items()})
    zeros = outputs()

    assert not np.allclose(before, shifted)
    np.testing.assert_array_equal(before, again)
    assert not np.any(zeros)


def test_filters_follow_their_switch_and_their_state():
    """Training learns, evaluation does not, and a state set from outside is used at once."""
    connector = MeanStdObservationFilterAgentConnector(CTX)
    pipeline = AgentConnectorPipeline(CTX, [connector])
    pipeline(records(range(4), 0))
    pipeline.in_eval()
    learned = [each.data["new_obs"] for each in pipeline(records(range(2), 1))]

    assert connector.filter.running_stats.n == 4
    connector.filter.reset()
    forgotten = [each.data["new_obs"] for each in pipeline(records(range(2), 1))]
    assert not np.allclose(learned, forgotten)


ACTION_SPACES = {
    "box": Box(0, 10, (2,)),
    "scalar": Box(-2, 2, ()),
    "integers": Box(3, 9, (2,), np.int64),
    "choice": Discrete(3),
    "nest": Dict({"b": Tuple([Box(-3, 3, (1,)), Discrete(2)]), "a": Box(0, 1, (2,))}),
}
ACTION_PIECES = [
    ConvertToNumpyConnector,
    NormalizeActionsConnector,
    lambda ctx: legacy.ClipActionsConnector(ctx),
    ImmutableActionsConnector,
    register_lambda_action_connector(
        "TagForRecords",
        lambda actions, states, fetches: (actions, states, {**fetches, "tag": np.float32(1)}),
    ),
]


def batch_of(space, count):
    """Actions (count, ...) of a space, as a network gives them."""
    rng = np.random.default_rng(0)
    if isinstance(space, Dict):
        return {key: batch_of(part, count) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(batch_of(part, count) for part in space.spaces)
    if isinstance(space, Box) and space.dtype == np.float32:
        return rng.uniform(-1.5, 1.5, (count, *space.shape)).astype(np.float32)
    return rng.integers(0, 2, (count, *space.shape)).astype(space.dtype)


def is_locked(value):
    return not isinstance(value, np.ndarray) or not value.flags.writeable


@pytest.mark.parametrize("kind", ACTION_SPACES)
@settings(max_examples=25)
@given(
    pieces=st.lists(st.sampled_from(range(len(ACTION_PIECES))), max_size=5), count=st.integers(1, 4)
)
def test_answers_of_many_agents_are_those_of_each(kind, pieces, count):
    """Any action connectors on a batch give what they give for one answer after the other."""
    space = ACTION_SPACES[kind]
    ctx = ConnectorContext(action_space=space)
    pipeline = ActionConnectorPipeline(ctx, [ACTION_PIECES[piece](ctx) for piece in pieces])
    rng = np.random.default_rng(1)
    batch = (
        batch_of(space, count),
        [rng.random((count, 3), np.float32)],
        {"vf_preds": rng.random(count, np.float32), "action_dist_inputs": rng.random((count, 4))},
    )
    answers = [
        ActionConnectorDataType("e", agent, {}, row)
        for agent, row in enumerate(output_rows(batch, count))
    ]

    rows = Rows.asked([("e", agent) for agent in range(count)], [{}] * count)
    got = pipeline.transform_answers(rows, batch)
    want = [pipeline(answer).output for answer in answers]

    assert_same(got, want)
    if pieces and ACTION_PIECES[pieces[-1]] is ImmutableActionsConnector:
        assert all(
            is_locked(part) for _, states, fetches in got for part in [*states, *fetches.values()]
        )
    assert all(state.flags.writeable for answer in answers for state in answer.output[1])


def test_a_pipeline_of_ones_own_is_called():
    """A subclass that overrides the call gets every answer, one by one."""

    class Counting(ActionConnectorPipeline):
        calls = 0

        def __call__(self, ac_data):
            self.calls += 1
            return super().__call__(ac_data)

    pipeline = Counting(CTX, [ImmutableActionsConnector(CTX)])
    rows = Rows.asked([("e", agent) for agent in range(3)], [{}] * 3)

    outputs = pipeline.transform_answers(rows, (np.arange(3), [], {}))

    assert (pipeline.calls, [output[0] for output in outputs]) == (3, [0, 1, 2])


def test_records_are_made_when_asked_for():
    """Whose the records are and what they hold survives the way through two lists."""
    given = records(range(3), 0)
    built = AgentConnectorPipeline(
        CTX, [StateBufferConnector(CTX), ViewRequirementAgentConnector(CTX)]
    ).passed(Rows.of(given))

    made = copy.deepcopy(built.as_list())

    assert list(built.built) == ["obs", "state_in_0", "prev_rewards", "seq_lens"]
    assert len(built) == 3
    assert [each.data.raw_dict["infos"] for each in made] == [{"agent": n} for n in range(3)]
    assert repr(made[0]).startswith("AgentConnectorDataType(0, 0, AgentConnectorsOutput(")
