"""Connectors are timed once somebody looks, and act as before."""

from dataclasses import replace

import numpy as np
import pytest
from gymnasium.spaces import Box
from rlconnect.legacy import (
    ActionConnector,
    ActionConnectorDataType,
    ActionConnectorPipeline,
    AgentConnector,
    AgentConnectorDataType,
    AgentConnectorPipeline,
    ConnectorContext,
    ConnectorPipeline,
    Policy,
    local_policy_inference,
)
from rlconnect.legacy.connectors.timers import Timer

CONTEXT = ConnectorContext(action_space=Box(-1, 1, (2,)))


class HalfActions(ActionConnector):
    def transform(self, ac_data):
        actions, states, fetches = ac_data.output
        return replace(ac_data, output=(actions / 2, states, fetches))


class HalfRewards(AgentConnector):
    def transform(self, ac_data):
        data = {**ac_data.data, "rewards": ac_data.data["rewards"] / 2}
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, data)


def test_timers_fill_from_the_first_look_on():
    """Both kinds of pipelines time each connector by its text; the answers stay the same."""
    acting = ActionConnectorPipeline(CONTEXT, [HalfActions(CONTEXT)])
    seeing = AgentConnectorPipeline(CONTEXT, [HalfRewards(CONTEXT)])
    answer = ActionConnectorDataType(0, 1, {}, (np.array([3.0, 0.5]), [], {}))
    record = AgentConnectorDataType(0, 1, {"rewards": 4.0})
    before = acting(answer).output[0], seeing([record])[0].data

    assert not acting.timers
    assert not seeing.timers
    after = acting(answer).output[0], seeing([record])[0].data
    seeing([record, AgentConnectorDataType(0, 2, {"rewards": 4.0})])

    np.testing.assert_array_equal(before[0], after[0])
    assert before[1] == after[1]
    assert acting.timers["HalfActions"].count == 1
    assert seeing.timers["HalfRewards"].count == 2


def test_timing_a_policy_changes_nothing():
    """Records take the timed way where the quick one would pass them by."""
    policy = Policy(Box(-1, 1, (4,)), Box(-1, 1, (2,)), {"seed": 0})
    from rlconnect.legacy import create_connectors_for_policy

    create_connectors_for_policy(policy, policy.config)
    obs = np.full(4, 0.5, np.float32)
    ((plain, _, _),) = local_policy_inference(policy, 0, 0, obs, explore=False)

    assert not policy.action_connectors.timers
    ((timed, _, _),) = local_policy_inference(policy, 0, 0, obs, explore=False)

    np.testing.assert_array_equal(plain, timed)
    assert all(timer.mean >= 0 for timer in policy.action_connectors.timers.values())
    assert len(policy.action_connectors.timers) == len(policy.action_connectors)


def test_throughput_is_work_by_time():
    """What was done, over the seconds it took; nothing is divided by no time."""
    timer = Timer()

    assert (timer.mean, timer.mean_throughput, timer.has_units_processed()) == (0.0, 0.0, False)
    timer.push(0.5)
    timer.push_units_processed(4)

    assert (timer.mean_units_processed, timer.mean_throughput) == (4.0, 8.0)


def test_a_pipeline_without_its_bases_constructor_can_be_edited():
    """Mocks of tests hold a list and nothing else; a missing name to remove is a warning."""

    class Mock(ConnectorPipeline):
        def __init__(self, ctx, connectors):
            self.connectors = connectors

    class Tom(HalfActions):
        pass

    mock = Mock({}, [])
    mock.append(Tom())
    mock.prepend(HalfActions())
    mock.insert_after("HalfActions", Tom())

    with pytest.warns(UserWarning, match="no connector 'Mary'"):
        mock.remove("Mary")
    with pytest.raises(ValueError, match="Mary"):
        mock.insert_before("Mary", Tom())
    assert [type(each).__name__ for each in mock.connectors] == [
        "HalfActions",
        "Tom",
        "Tom",
    ]
