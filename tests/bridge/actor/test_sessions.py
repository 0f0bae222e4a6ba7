"""Actors remember so many sessions, and say when they forget one."""

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.bridge.actor.actor import Actor
from rlconnect.core.errors import ConfigError
from rlconnect.core.runtime.sessions import MAX_SESSIONS, SessionsEvictedWarning
from rlconnect.legacy import (
    Policy,
    create_connectors_for_policy,
    local_policy_inference,
    register_lambda_agent_connector,
)

BOX = gym.spaces.Box(-1, 1, (4,), np.float32)
LSTM = {"use_lstm": True, "lstm_cell_size": 4, "fcnet_hiddens": [4]}
Odd = register_lambda_agent_connector("OddForSessions", lambda data: data)


def lstm_policy():
    policy = Policy(BOX, gym.spaces.Discrete(3), {"seed": 1, "model": LSTM})
    create_connectors_for_policy(policy, policy.config)
    return policy


def planned(most):
    return Actor.from_policy(lstm_policy(), max_sessions=most)


def by_connectors(most):
    policy = lstm_policy()
    policy.agent_connectors.prepend(Odd(None))
    with pytest.warns(UserWarning, match="item by item"):
        return Actor.from_policy(policy, max_sessions=most)


@pytest.mark.parametrize("made", [planned, by_connectors])
def test_an_evicted_session_begins_anew(made, rng):
    """The least recently used session is forgotten with a warning, and starts as a new one."""
    actor = made(2)
    obs = rng.uniform(-1, 1, (3, 4)).astype(np.float32)
    actor.act(obs[0], env_ids="a")
    actor.act(obs[1], env_ids="b")
    with pytest.warns(SessionsEvictedWarning, match="remembers 2 sessions"):
        actor.act(obs[2], env_ids="c")

    player = actor.only
    assert len(player.sessions) == 2
    assert actor.evicted_sessions == 1
    assert actor.max_sessions == 2


def test_what_an_evicted_session_answers_is_what_a_new_one_does(rng):
    """State by state: evicted and come back, a session is at its beginning."""
    actor, fresh = planned(2), planned(2)
    obs = rng.uniform(-1, 1, (2, 4)).astype(np.float32)
    actor.act(obs[0], env_ids="a")
    actor.act(obs[0], env_ids="b")
    with pytest.warns(SessionsEvictedWarning):
        actor.act(obs[0], env_ids="c")
    actor.act(obs[1], env_ids="a")
    fresh.act(obs[1], env_ids="a")

    slots, new = actor.only.slots, fresh.only.slots
    for one, other in zip(slots.memory, new.memory, strict=True):
        rows = slots.rows([("a", "agent")]), new.rows([("a", "agent")])
        np.testing.assert_array_equal(one[rows[0]], other[rows[1]])


def test_memory_is_level_however_many_sessions_come():
    """Rows of memory, names and free places stay at `max_sessions`."""
    actor = planned(16)
    obs = np.zeros((4, 4), np.float32)

    def pass_by(sessions):
        for start in range(0, sessions, 4):
            actor.act(obs, env_ids=[f"{start}-{at}" for at in range(4)])

    with pytest.warns(SessionsEvictedWarning):
        pass_by(400)

    slots = actor.only.slots
    assert len(slots.first) == 16
    assert len(slots._row_of) == len(slots._agents) == len(slots.sessions) == 16
    assert slots._free == []
    assert actor.evicted_sessions == 400 - 16


def test_resetting_one_session_forgets_that_one(rng):
    """`reset(id)` lets one session go, with all its agents, and makes room for another."""
    actor = planned(2)
    obs = rng.uniform(-1, 1, (4,)).astype(np.float32)
    actor.act(obs, env_ids="a")
    actor.act(obs, env_ids="b")

    actor.reset("a")
    actor.act(obs, env_ids="c")

    assert [env_id for env_id, _ in actor.only.sessions] == ["b", "c"]
    assert actor.evicted_sessions == 0


def test_batch_sizes_leave_nothing_behind():
    """Batches without names are sessions 0, 1, ...: as many as the largest batch had rows."""
    actor = planned(None)
    for rows in (5, 3, 9, 2, 7):
        actor.act(np.zeros((rows, 4), np.float32))

    assert len(actor.only.sessions) == 9
    assert len(actor.only.slots._unnamed) == 7


def test_the_limit_travels_with_an_actor():
    """Copies have the same limit; without a word it is the common one."""
    import copy

    assert copy.deepcopy(planned(5)).max_sessions == 5
    assert planned(None).max_sessions == MAX_SESSIONS


@pytest.mark.parametrize("made", [planned, by_connectors])
@pytest.mark.parametrize("way", ["pickle", "copy", "deepcopy"])
def test_the_limit_travels_with_a_policy(made, way):
    """That of its pipelines too, pickled or copied, by itself or in its actor."""
    import copy
    import pickle

    again = {
        "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
    }[way]
    actor = made(5)
    policy = actor.only.policy
    policy.agent_connectors.sessions.most = 7

    twin = again(policy)

    assert twin.agent_connectors.sessions.most == 7
    assert not any("sessions" in name for name in vars(twin))
    assert again(actor).max_sessions == (5 if made is planned else 7)


def test_a_limit_is_a_number_of_sessions():
    """No sessions at all is refused."""
    with pytest.raises(ConfigError, match="max_sessions"):
        planned(0)


def test_connectors_forget_the_least_recently_used_environment():
    """Policies stepped through connectors remember as many environments as their pipeline says."""
    policy = lstm_policy()
    policy.agent_connectors.sessions.most = 2
    obs = np.zeros(4, np.float32)
    local_policy_inference(policy, "a", "agent", obs)
    local_policy_inference(policy, "b", "agent", obs)
    with pytest.warns(SessionsEvictedWarning, match="agent pipeline"):
        local_policy_inference(policy, "c", "agent", obs)

    _, first, _ = local_policy_inference(lstm_policy(), "a", "agent", obs)[0]
    _, again, _ = local_policy_inference(policy, "a", "agent", obs)[0]
    np.testing.assert_array_equal(first[0], again[0])
    assert list(policy.agent_connectors.sessions) == ["c", "a"]
