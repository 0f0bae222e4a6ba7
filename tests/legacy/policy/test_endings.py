"""Which policies have a memory, and when it is left over from an episode that is over."""

import copy

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import PipelineError
from rlconnect.legacy import Policy, create_connectors_for_policy, local_policy_inference
from rlconnect.legacy.policy.endings import remembers

from tests.legacy.replay import GOLDEN, Recording
from tests.legacy.test_recordings import MODELS

MEMORIES = {
    "2.60.0/ppo_cartpole": False,
    "2.7.2/ppo_pendulum_norm_meanstd": False,
    "2.7.2/ppo_rlmodule": False,
    "2.7.2/ppo_lstm_prev": True,
    "2.7.2/ppo_attention": True,
    "2.7.2/ppo_framestack_view": True,
}


@pytest.mark.parametrize("name", MEMORIES)
def test_memory_is_states_and_what_lies_behind(name):
    """States, earlier observations, actions and rewards are a memory; a filter is none."""
    policy = Recording(GOLDEN / "legacy" / name).load("default_policy", custom_models=MODELS)

    assert remembers(policy) is MEMORIES[name]


@pytest.fixture
def policy():
    made = Policy(Box(-1, 1, (2,)), Discrete(2), {"model": {"use_lstm": True}, "seed": 0})
    create_connectors_for_policy(made, made.config)
    return made


def step(policy, **ends):
    return local_policy_inference(policy, "e", "a", np.zeros(2, np.float32), **ends)


def test_only_a_reset_takes_an_ending_back(policy):
    """However often it is tried, the slot stays refused until it is reset."""
    step(policy, terminated=True)
    for _ in range(3):
        with pytest.raises(PipelineError, match="is over"):
            step(policy)

    policy.agent_connectors.reset("other")
    with pytest.raises(PipelineError, match="is over"):
        step(policy)

    policy.agent_connectors.reset("e")
    step(policy)
    step(policy)
    assert not policy.endings


def test_a_copy_knows_of_the_endings(policy):
    """A copy goes on with running episodes, so it refuses those that are over too."""
    step(policy, truncated=True)

    twin = copy.deepcopy(policy)

    with pytest.raises(PipelineError, match="is over"):
        step(twin)
    twin.reset_connectors("e")
    step(twin)
    with pytest.raises(PipelineError, match="is over"):
        step(policy)


def test_a_false_end_is_no_end(policy):
    """`terminated=False` at each step changes nothing."""
    for _ in range(3):
        step(policy, terminated=False, truncated=False)

    assert not policy.endings
