"""Observations stepped as rows give what they give by way of records."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.legacy import (
    ActionConnectorDataType,
    AgentConnector,
    AgentConnectorDataType,
    ClipRewardAgentConnector,
    ImmutableActionsConnector,
    MeanStdObservationFilterAgentConnector,
    StateBufferConnector,
    ViewRequirementAgentConnector,
    local_policy_inference,
)
from rlconnect.legacy.connectors.agent.columns import ColumnsAgentConnector
from rlconnect.legacy.connectors.rows import output_rows

from tests.legacy.policy.test_inference import STEPPED, fresh, observations


class Halve(ColumnsAgentConnector):
    """A user's piece that works on columns."""

    def transform_all(self, rows):
        rows.set("rewards", [reward / 2 for reward in rows.entries("rewards")])


class Shift(AgentConnector):
    """A user's piece that works on records."""

    def transform(self, ac_data):
        data = {**ac_data.data, "rewards": ac_data.data.get("rewards", 0.0) + 0.5}
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, data)


class Listening(StateBufferConnector):
    """A user's piece on top of a built-in that changes nothing but takes note."""

    def on_policy_output(self, output):
        super().on_policy_output(output)
        self.heard = [*getattr(self, "heard", []), (output.env_id, sorted(output.input_dict))]


class Renamed(ClipRewardAgentConnector):
    """A user's piece that overrides what a built-in does to a record."""

    def transform(self, ac_data):
        made = super().transform(ac_data)
        return AgentConnectorDataType(made.env_id, made.agent_id, {**made.data, "more": 1})


EDITS = {
    "nothing": lambda policy: None,
    "halve": lambda policy: policy.agent_connectors.prepend(Halve()),
    "shift": lambda policy: policy.agent_connectors.prepend(Shift()),
    "renamed": lambda policy: policy.agent_connectors.prepend(Renamed(limit=0.25)),
    "clip": lambda policy: policy.agent_connectors.prepend(ClipRewardAgentConnector(sign=True)),
    "listening": lambda policy: policy.agent_connectors.insert_before(
        "ViewRequirementAgentConnector", Listening(policy.agent_connectors.ctx)
    ),
    "first removed": lambda policy: policy.agent_connectors.connectors.pop(0),
    "locked twice": lambda policy: policy.action_connectors.append(ImmutableActionsConnector()),
    "stretch removed": lambda policy: policy.action_connectors.connectors.pop(1),
    "other weights": lambda policy: policy.set_weights(
        {name: part * np.float32(0.5) for name, part in policy.get_weights().items()}
    ),
    "training between": lambda policy: policy.agent_connectors.in_training(),
    "reset": lambda policy: policy.reset_connectors("e"),
    "one in training": lambda policy: policy.agent_connectors.connectors[1].in_training(),
    "bound again": lambda policy: [each.bind(each.ctx) for each in pieces(policy)],
}


def pieces(policy):
    return [*policy.agent_connectors.connectors, *policy.action_connectors.connectors]


def by_records(policy, env_id, agent_id, obs, reward, explore):
    """One step as the documents tell it: every connector is called with records."""
    policy.agent_connectors.in_eval()
    policy.action_connectors.in_eval()
    data = {"new_obs": obs, "rewards": reward, "terminateds": False, "truncateds": False}
    records = [AgentConnectorDataType(env_id, agent_id, {**data, "dones": False, "infos": {}})]
    for connector in policy.agent_connectors.connectors:
        records = connector(records)
    outputs = []
    for record in records:
        (found,) = output_rows(
            policy.compute_actions_from_input_dict(record.data.sample_batch, explore=explore), 1
        )
        answer = ActionConnectorDataType(env_id, agent_id, record.data.raw_dict, found)
        for connector in policy.action_connectors.connectors:
            answer = connector(answer)
        outputs.append(answer.output)
        policy.agent_connectors.on_policy_output(
            ActionConnectorDataType(env_id, agent_id, record.data.raw_dict, found)
        )
    return outputs


def assert_equal(mine, its):
    assert type(mine) is type(its)
    if isinstance(its, dict):
        assert list(mine) == list(its)
        mine, its = list(mine.values()), list(its.values())
    if isinstance(its, (list, tuple)):
        assert len(mine) == len(its)
        for one, other in zip(mine, its, strict=True):
            assert_equal(one, other)
    else:
        assert (mine.dtype, mine.shape) == (its.dtype, its.shape)
        assert mine.tobytes() == its.tobytes()
        assert not isinstance(its, np.ndarray) or mine.flags.writeable == its.flags.writeable


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["e", 7]),
        st.sampled_from(["a", ("team", 1)]),
        st.sampled_from(list(EDITS)),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("kind", [*STEPPED])
@settings(max_examples=12)
@given(steps=STEPS, seed=st.integers(0, 9))
def test_a_step_is_what_its_pieces_give(kind, steps, seed):
    """To the bit, for several agents, whatever is done to the policy between two steps."""
    short, told = fresh(STEPPED[kind]), fresh(STEPPED[kind])
    for policy in (short, told):
        policy.seed(seed)
    seen = observations(short, len(steps), seed)
    for place, (env_id, agent_id, edit, explore) in enumerate(steps):
        edit = edit if kind in ("mlp", "filter", "lstm") else "nothing"
        for policy in (short, told):
            EDITS[edit](policy)
        asked = copy.deepcopy(seen[place])

        mine = local_policy_inference(
            short, env_id, agent_id, asked, place / 4, False, False, {}, explore=explore
        )
        its = by_records(told, env_id, agent_id, seen[place], place / 4, explore)

        assert_equal(mine, its)
        assert short.global_timestep == told.global_timestep
        heard = [
            [getattr(each, "heard", None) for each in policy.agent_connectors.connectors]
            for policy in (short, told)
        ]
        assert heard[0] == heard[1]


def test_pieces_with_a_way_of_their_own_are_switched_at_every_step():
    """What a user's `in_eval` does, it does before each observation."""

    class Counting(ClipRewardAgentConnector):
        switched = 0

        def in_eval(self):
            super().in_eval()
            self.switched += 1

    policy = fresh(STEPPED["mlp"])
    counting = Counting(limit=1.0)
    policy.agent_connectors.prepend(counting)

    for obs in observations(policy, 3, 0):
        local_policy_inference(policy, "e", "a", obs)

    assert counting.switched == 3


@pytest.mark.parametrize("mutate", [dict.clear, lambda data: data.update(new_obs=None)])
def test_records_hold_what_came_with_them(mutate):
    """What is done to the columns after a pipeline was called reaches no record of it."""
    policy = fresh(STEPPED["filter"])
    pipeline = policy.agent_connectors
    pipeline.in_eval()
    given = [
        AgentConnectorDataType("e", agent, {"new_obs": one, "infos": {}})
        for agent, one in enumerate(observations(policy, 3, 0))
    ]
    alone = copy.deepcopy(pipeline)
    want = [alone([copy.deepcopy(record)])[0].data.raw_dict for record in given]

    records = pipeline(given)
    for record in given:
        mutate(record.data)
    got = [record.data.raw_dict for record in records]

    for mine, its in zip(got, want, strict=True):
        assert list(mine) == list(its)
        np.testing.assert_allclose(mine["new_obs"], its["new_obs"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("views_only", [False, True])
def test_rows_share_no_memory_with_their_columns(views_only):
    """The policy's batch can be written into without a trace in the columns as they came."""
    policy = fresh(STEPPED["filter"])
    context = policy.agent_connectors.ctx
    pieces = [] if views_only else [MeanStdObservationFilterAgentConnector(context)]
    policy.agent_connectors.connectors = [*pieces, ViewRequirementAgentConnector(context)]
    given = [
        AgentConnectorDataType("e", agent, {"new_obs": one})
        for agent, one in enumerate(observations(policy, 3, 0))
    ]

    records = policy.agent_connectors(given)

    for record in records:
        raw = record.data.raw_dict["new_obs"].copy()
        record.data.sample_batch["obs"][:] = 99
        np.testing.assert_array_equal(record.data.raw_dict["new_obs"], raw)
