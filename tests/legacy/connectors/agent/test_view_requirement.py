"""The columns of many agents, built together or one by one."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import PieceError
from rlconnect.legacy.connectors.agent.view_requirement import ViewRequirementAgentConnector
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.legacy.connectors.types import AgentConnectorDataType
from rlconnect.legacy.views.views import ViewRequirement as View

SPACE = Box(-1, 1, (2,))
NEEDS = {
    "obs": View(space=SPACE),
    "stack": View("obs", SPACE, shift="-2:0"),
    "infos": View(),
    "prev_actions": View("actions", Discrete(9), shift=-1),
    "older": View("actions", Discrete(9), shift=[-3, -1, 0]),
    "prev_rewards": View("rewards", shift=-1),
    "rewards": View(),
    "t": View(),
    "agent_index": View(),
    "unroll_id": View(),
    "eps_id": View(),
}


def connector(needs=NEEDS, **config):
    return ViewRequirementAgentConnector(
        ConnectorContext(config, [], SPACE, Discrete(9), needs, is_policy_recurrent=True)
    )


def record(env, agent, step):
    value = hash((env, agent)) % 50 + step
    data = {
        "new_obs": np.array([value, -value], float),
        "actions": np.int64(value),
        "rewards": value / 2,
        "infos": {"value": value},
    }
    return AgentConnectorDataType(env, agent, data)


def columns(made):
    found = {name: np.asarray(column) for name, column in made.data.sample_batch.items()}
    found.pop("unroll_id", None)  # numbers things in the order they start
    return found


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 5), min_size=1, max_size=8),
            st.sampled_from([None, 0, 1]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_together_equals_one_by_one(rounds):
    """Agents come, go, repeat and reset in any order: a list gives what single records give."""
    together, alone = connector(), connector()

    for step, (agents, reset) in enumerate(rounds):
        if reset is not None:
            together.reset(reset)
            alone.reset(reset)
        records = [record(agent % 2, agent, step) for agent in agents]
        many = together(records)
        single = [alone([each])[0] for each in records]

        for one, other in zip(many, single, strict=True):
            assert one.data.raw_dict is not None
            for name, column in columns(other).items():
                np.testing.assert_array_equal(columns(one)[name], column, err_msg=name)


def test_columns_of_numbers_go_on():
    """t counts from -1, ids stay; Ray fails at the second step of such policies."""
    one = connector()

    seen = [one([record("env", 3, step)])[0].data.sample_batch for step in range(3)]

    assert [int(batch["t"][0]) for batch in seen] == [-1, 0, 1]
    assert {float(batch["agent_index"][0]) for batch in seen} == {3.0}
    assert len({int(batch["unroll_id"][0]) for batch in seen}) == 1
    assert seen[2]["eps_id"].tolist() == ["env"]


def test_names_as_agent_ids_have_index_minus_one():
    """Where an agent's id is no number, its index is -1."""
    made = connector()([record("env", "left", 0)])[0]

    assert made.data.sample_batch["agent_index"].tolist() == [-1.0]


def test_a_missing_reward_is_told():
    """From the second step on a policy that looks at rewards needs them."""
    one = connector()
    one([record("env", 0, 0)])
    late = record("env", 0, 1)
    del late.data["rewards"]

    with pytest.raises(PieceError, match="'prev_rewards' needs the column 'rewards'"):
        one([late])


def test_rlmodule_policies_may_leave_columns_out():
    """Their views list everything, their networks read the observation: zeros do."""
    one = connector(_enable_rl_module_api=True)
    one([record("env", 0, 0)])
    late = AgentConnectorDataType("env", 0, {"new_obs": np.zeros(2)})

    batch = one([late])[0].data.sample_batch

    assert batch["prev_rewards"].tolist() == [0.0]
    assert batch["prev_actions"].tolist() == [0]


def test_what_was_handed_out_does_not_change():
    """Batches of earlier steps keep their values while histories roll on, and own their memory."""
    one = connector()
    given_obs = np.zeros(2)
    first = one([AgentConnectorDataType("e", 0, {"new_obs": given_obs})])[0].data.sample_batch
    kept = {name: np.array(column) for name, column in first.items()}

    given_obs += 5
    for step in range(4):
        one([record("e", 0, step)])

    for name, column in kept.items():
        np.testing.assert_array_equal(first[name], column)
    assert not np.shares_memory(first["obs"], given_obs)


def test_observations_of_different_shapes_make_no_batch():
    """Two agents of one policy cannot see observations of two shapes."""
    records = [AgentConnectorDataType("e", i, {"new_obs": np.zeros(i + 2)}) for i in range(2)]

    with pytest.raises(ValueError, match="different shapes"):
        connector({"obs": View(space=SPACE)})(records)


@pytest.mark.parametrize(
    ("ids", "data", "match"),
    [
        (("e", "a"), {"obs": 1}, "no observation"),
        (("e", "a"), [1], "expected a dict"),
        ((None, "a"), {"new_obs": 1.0}, "whose it is"),
        (("e", None), {"new_obs": 1.0}, "whose it is"),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_records_without_what_views_need(ids, data, match, count):
    """Alone or in a list, a record without observation or ids is refused by name."""
    good = [record("x", "y", 0)][: count - 1]
    records = [*good, AgentConnectorDataType(*ids, data)]

    with pytest.raises(PieceError, match=match):
        connector({"obs": View(space=SPACE)})(records)


def test_views_must_be_known():
    """Without view requirements there is nothing to build."""
    bare = ViewRequirementAgentConnector(ConnectorContext())

    with pytest.raises(PieceError, match="view_requirements"):
        bare([record("e", 0, 0)])


def test_an_empty_list_stays_empty():
    """No records, no batches."""
    assert connector()([]) == []
