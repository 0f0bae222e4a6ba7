"""Policies stepped with their connectors: many at once as one by one, and what is refused."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError, PieceError, PipelineError, SpaceError
from rlconnect.legacy import (
    ConnectorContext,
    Policy,
    batch_policy_inference,
    create_connectors_for_policy,
    local_policy_inference,
    register_lambda_agent_connector,
)
from rlconnect.legacy.policy.acting import has_nan
from rlconnect.legacy.policy.endings import remembers

from tests.legacy.replay import GOLDEN, LAMBDAS, Recording, named
from tests.legacy.test_recordings import MODELS

PLAIN = "2.60.0/ppo_cartpole"
LSTM = "2.7.2/ppo_lstm_prev"
STEPPED = {
    "mlp": PLAIN,
    "filter": "2.7.2/ppo_pendulum_norm_meanstd",
    "lstm": LSTM,
    "attention": "2.7.2/ppo_attention",
    "framestack": "2.7.2/ppo_framestack_view",
    "nested": "2.60.0/ppo_dict_obs_flat",
    "complex": "2.7.2/ppo_dict_obs_complex",
    "tuple actions": "2.3.1/ppo_tuple_act",
    "dqn": "2.40.0/dqn_dueling_double",
    "sac": "2.7.2/sac_cont",
    "lambdas": "2.7.2/ppo_lambda_connectors",
}
LOADED = {}


def fresh(name):
    """A policy of a recording that nothing has happened to."""
    if name not in LOADED:
        recording = Recording(GOLDEN / "legacy" / name)
        LOADED[name] = recording.load(recording.policy_ids[0], custom_models=MODELS)
    return copy.deepcopy(LOADED[name])


def raw_space(policy):
    space = policy.observation_space
    return getattr(space, "original_space", None) or space


def observations(policy, count, seed):
    """Raw observations of moderate size, seeded."""
    space = raw_space(policy)
    space.seed(seed)
    found = [space.sample() for _ in range(count)]
    if isinstance(space, Box):
        found = [np.clip(one, -1, 1).astype(space.dtype) for one in found]
    return found


SLOTS = [(env, agent) for env in ("e", 7) for agent in ("a", ("team", 1))]
ROUNDS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(range(len(SLOTS))), unique=True, max_size=len(SLOTS)),
        st.sets(st.sampled_from(["e", 7])),
    ),
    max_size=5,
)


@pytest.mark.parametrize("kind", STEPPED)
@settings(max_examples=12)
@given(rounds=ROUNDS, seed=st.integers(0, 9))
def test_many_at_once_is_one_by_one(kind, rounds, seed):
    """Any slots in any order, coming, going and reset, get the answers each would get alone."""
    alone, together = fresh(STEPPED[kind]), fresh(STEPPED[kind])
    seen = observations(alone, 1 + sum(len(slots) for slots, _ in rounds), seed)
    rng = np.random.default_rng(seed)
    for slots, ended in rounds:
        for env in sorted(ended, key=str):
            alone.reset_connectors(env)
            together.reset_connectors(env)
        chosen = [SLOTS[slot] for slot in slots]
        obs = [seen.pop() for _ in slots]
        rewards = rng.normal(size=len(slots))
        infos = [{"step": slot} for slot in slots]

        want = [
            local_policy_inference(
                alone, env, agent, one, reward, False, False, info, explore=False
            )[0]
            for (env, agent), one, reward, info in zip(chosen, obs, rewards, infos, strict=True)
        ]
        got = batch_policy_inference(
            together,
            [env for env, _ in chosen],
            [agent for _, agent in chosen],
            obs,
            rewards,
            [False] * len(slots),
            [False] * len(slots),
            infos,
            explore=False,
        )

        assert len(got) == len(want)
        for mine, its in zip(got, want, strict=True):
            mine, its = named(mine), named(its)
            assert list(mine) == list(its)
            for path, value in its.items():
                assert mine[path].dtype == value.dtype, path
                np.testing.assert_allclose(mine[path], value, rtol=0, atol=1e-6, err_msg=path)


def test_arrays_with_a_leading_axis_are_batches():
    """Nested observations may be given as arrays of many, like those of a vector environment."""
    policy = fresh("2.60.0/ppo_dict_obs_flat")
    one = observations(policy, 1, 0)[0]
    many = {
        "mode": np.array([one["mode"]] * 3),
        "pair": (np.array([one["pair"][0]] * 3), np.stack([one["pair"][1]] * 3)),
        "sensors": {k: np.stack([v] * 3) for k, v in one["sensors"].items()},
    }

    got = batch_policy_inference(policy, range(3), "aaa", many, explore=False)
    want = local_policy_inference(policy, "e", "a", one, explore=False)[0]

    for output in got:
        assert output[0] == want[0]


def test_an_empty_batch_has_no_answers():
    """Nobody asked is nobody answered, and time stands still."""
    policy = fresh(LSTM)
    before = policy.global_timestep

    assert batch_policy_inference(policy, [], [], []) == []
    assert policy.global_timestep == before


def test_reset_forgets_all_agents_of_one_environment():
    """After a reset an episode starts as the first one did; other environments go on."""
    policy = fresh(LSTM)
    first, second = observations(policy, 2, 3)
    start = local_policy_inference(policy, "e", "a", first, explore=False)[0]
    for env, agent in (("e", "b"), ("other", "a")):
        local_policy_inference(policy, env, agent, first, explore=False)
    went_on = [
        local_policy_inference(copy.deepcopy(policy), env, agent, second, 1.0, explore=False)[0]
        for env, agent in (("e", "b"), ("other", "a"))
    ]

    policy.agent_connectors.reset("e")

    again = local_policy_inference(policy, "e", "a", first, explore=False)[0]
    assert np.array_equal(start[1][0], again[1][0])
    b, other = (
        local_policy_inference(policy, env, agent, second, 1.0, explore=False)[0]
        for env, agent in (("e", "b"), ("other", "a"))
    )
    assert not np.array_equal(b[1][0], went_on[0][1][0])
    assert np.array_equal(other[1][0], went_on[1][1][0])


def test_an_agent_that_vanishes_goes_on_where_it_left():
    """Steps of others do not age the memory of an agent that has nothing to say for a while."""
    policy, steady = fresh(LSTM), fresh(LSTM)
    seen = observations(policy, 6, 1)
    for p in (policy, steady):
        local_policy_inference(p, "e", "a", seen[0], explore=False)
    for obs in seen[1:5]:
        local_policy_inference(policy, "e", "b", obs, 1.0, explore=False)

    mine = local_policy_inference(policy, "e", "a", seen[5], 1.0, explore=False)[0]
    its = local_policy_inference(steady, "e", "a", seen[5], 1.0, explore=False)[0]

    assert np.array_equal(mine[1][0], its[1][0])


@pytest.mark.parametrize("name", [LSTM, "2.7.2/ppo_attention", "2.7.2/ppo_framestack_view"])
@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_an_episode_gone_on_without_reset_is_refused(name, end):
    """After an end was reported, a policy with a memory wants a reset, and says how."""
    policy = fresh(name)
    first, last, after = observations(policy, 3, 0)
    assert remembers(policy)
    local_policy_inference(policy, "e", "a", first, explore=False)
    local_policy_inference(policy, "e", "b", first, explore=False)
    local_policy_inference(policy, "e", "a", last, 1.0, explore=False, **{end: True})

    for _ in range(2):
        with pytest.raises(PipelineError, match=r"is over.*\n.*reset_connectors\('e'\)"):
            local_policy_inference(policy, "e", "a", after, 1.0, explore=False)

    local_policy_inference(policy, "e", "b", after, 1.0, explore=False)
    policy.reset_connectors("e")
    local_policy_inference(policy, "e", "a", after, explore=False)
    local_policy_inference(policy, "e", "a", after, 1.0, explore=False)


def test_an_episode_gone_on_in_a_batch_is_refused():
    """The same in a batch, which names the slot."""
    policy = fresh(LSTM)
    seen = observations(policy, 2, 0)
    batch_policy_inference(policy, ["e", "f"], ["a", "a"], seen, explore=False)
    ends = [False, True]
    batch_policy_inference(policy, ["e", "f"], ["a", "a"], seen, [1, 1], ends, explore=False)

    with pytest.raises(PipelineError, match="agent 'a' in environment 'f'"):
        batch_policy_inference(policy, ["e", "f"], ["a", "a"], seen, [1, 1], explore=False)

    policy.reset_connectors("f")
    assert len(batch_policy_inference(policy, ["f"], ["a"], seen[:1], explore=False)) == 1


def test_a_policy_without_memory_needs_no_reset():
    """Nothing of one episode reaches the next, so nothing is asked for; as in RLlib's example."""
    policy = fresh(PLAIN)
    (obs,) = observations(policy, 1, 0)
    assert not remembers(policy)

    one = local_policy_inference(policy, "e", "a", obs, 1.0, True, explore=False)[0]
    two = local_policy_inference(policy, "e", "a", obs, explore=False)[0]

    assert np.array_equal(one[2]["action_dist_inputs"], two[2]["action_dist_inputs"])


def test_ends_are_forgotten_by_pickles():
    """A pickle holds no running episodes, hence none that are over."""
    policy = fresh(LSTM)
    (obs,) = observations(policy, 1, 0)
    local_policy_inference(policy, "e", "a", obs, 1.0, True, explore=False)

    twin = pickle.loads(pickle.dumps(policy))

    assert policy.endings
    assert not twin.endings
    local_policy_inference(twin, "e", "a", obs, explore=False)


WRONG = {
    "too wide": (np.zeros(5, np.float32), r"expected shape \(4,\), found \(5,\)"),
    "too narrow": (np.zeros(3, np.float32), r"expected shape \(4,\), found \(3,\)"),
    "a batch": (np.zeros((1, 4), np.float32), r"expected shape \(4,\), found \(1, 4\)"),
    "a number": (3.0, r"expected shape \(4,\), found \(\)"),
    "nothing": (None, r"expected shape \(4,\)"),
    "text": ("abcd", "found a str"),
    "texts": (np.array(list("abcd")), "found <U1"),
    "a dict": ({"x": 1}, "found a dict"),
    "complex": (np.zeros(4, complex), "complex128"),
    "NaN": (np.array([0, np.nan, 0, 0], np.float32), "NaN in column 'obs'|found nan"),
    "objects": (np.array([None] * 4), "NaN in column 'obs'|found object"),
}


@pytest.mark.filterwarnings("ignore:.*Casting input x")  # gymnasium on values that are no arrays
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_observation_is_refused_with_its_owner(wrong, is_first):
    """What no network can act on is an error naming policy, environment, agent and reason."""
    policy = fresh(PLAIN)
    obs, told = WRONG[wrong]
    if not is_first:  # values are held against the space now and then only, as in Ray
        local_policy_inference(policy, "env", "agent", np.zeros(4, np.float32))

    with pytest.raises(SpaceError, match=told) as caught:
        local_policy_inference(policy, "env", "agent", obs, explore=False)

    assert "environment 'env', agent 'agent'" in str(caught.value)
    assert "default_policy" in str(caught.value)
    assert (caught.value.policy, caught.value.env_id, caught.value.agent_id) == (
        "default_policy",
        "env",
        "agent",
    )


@pytest.mark.parametrize("wrong", ["too wide", "a batch", "text", "NaN"])
def test_a_wrong_observation_in_a_batch_is_found(wrong):
    """Of many slots, the one with the wrong observation is named."""
    policy = fresh(PLAIN)
    seen = observations(policy, 4, 0)
    seen[2] = WRONG[wrong][0]

    with pytest.raises(SpaceError, match="environment 12, agent 'z'"):
        batch_policy_inference(policy, [10, 11, 12, 13], ["x", "y", "z", "a"], seen, explore=False)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, bool, list])
def test_numbers_of_other_kinds_are_taken_as_ray_takes_them(dtype):
    """Floats, integers, booleans and lists that the space can hold are fine."""
    policy = fresh(PLAIN)
    obs = [0, 0, 0, 0] if dtype is list else np.zeros(4, dtype)

    want = local_policy_inference(policy, "e", "a", np.zeros(4, np.float32), explore=False)[0]
    got = local_policy_inference(policy, "f", "a", obs, explore=False)[0]

    assert np.array_equal(want[2]["action_dist_inputs"], got[2]["action_dist_inputs"])


def test_numbers_too_large_for_float32_are_refused():
    """A value that becomes infinite on the way and leaves no answer is told as such."""
    policy = fresh(PLAIN)
    obs = np.zeros(4)
    obs[[1, 3]] = 1e39

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(SpaceError, match="infinity in column 'obs'"):
            local_policy_inference(policy, "e", "a", obs, explore=False)


def test_missing_and_odd_rewards_are_named():
    """A network that looks at rewards needs each of them, as numbers."""
    policy = fresh(LSTM)
    (obs,) = observations(policy, 1, 0)
    local_policy_inference(policy, "e", "a", obs, explore=False)

    with pytest.raises(PieceError, match=r"'rewards'.*environment 'e', agent 'a'"):
        local_policy_inference(policy, "e", "a", obs, explore=False)
    with pytest.raises(PieceError, match="reward is no number"):
        local_policy_inference(policy, "e", "a", obs, "much", explore=False)
    with pytest.raises(SpaceError, match="NaN in column 'prev_rewards'"):
        local_policy_inference(policy, "e", "a", obs, float("nan"), explore=False)


@pytest.mark.parametrize(
    ("env_id", "agent_id", "told"),
    [(["e"], "a", "env_id"), ("e", {}, "agent_id"), (None, "a", "env_id"), ("e", None, "agent_id")],
)
def test_ids_that_tell_nothing_apart_are_refused(env_id, agent_id, told):
    """Ids are hashable and there."""
    policy = fresh(PLAIN)

    with pytest.raises(PieceError, match=told):
        local_policy_inference(policy, env_id, agent_id, np.zeros(4, np.float32))
    with pytest.raises(PieceError, match=told):
        batch_policy_inference(policy, [env_id], [agent_id], [np.zeros(4, np.float32)])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"agent_ids": ["a"]}, "agent_ids"),
        ({"obs_batch": np.zeros((3, 4), np.float32)}, "obs_batch"),
        ({"rewards": [1.0]}, "rewards"),
        ({"infos": []}, "infos"),
    ],
)
def test_columns_of_other_lengths_are_refused(change, told):
    """Each argument of a batch has an entry a slot."""
    policy = fresh(PLAIN)
    given = {
        "env_ids": ["e", "f"],
        "agent_ids": ["a", "a"],
        "obs_batch": np.zeros((2, 4), np.float32),
    }

    with pytest.raises(PieceError, match=told):
        batch_policy_inference(policy, **{**given, **change})


def test_a_slot_stands_once_in_a_batch_of_a_policy_with_memory():
    """Two steps of one slot cannot be one forward pass; without memory they can."""
    seen = observations(fresh(LSTM), 2, 0)
    with pytest.raises(PieceError, match="agent 'a' of environment 'e' stands 2 times"):
        batch_policy_inference(fresh(LSTM), ["e", "e"], ["a", "a"], seen)

    plain = fresh(PLAIN)
    got = batch_policy_inference(plain, "ee", "aa", observations(plain, 2, 0), explore=False)
    assert len(got) == 2


def test_a_policy_without_connectors_says_so():
    """Without pipelines there is nothing to step; the error tells how to make them."""
    policy = Policy(Box(-1, 1, (2,)), Discrete(2))

    with pytest.raises(ConfigError, match="create_connectors_for_policy"):
        local_policy_inference(policy, "e", "a", np.zeros(2))

    create_connectors_for_policy(policy, policy.config)
    assert len(local_policy_inference(policy, "e", "a", np.zeros(2))) == 1


def test_errors_of_a_users_connector_are_left_alone():
    """What the user's own code raises comes through as it is."""
    policy = fresh(PLAIN)

    class Own(Exception):
        pass

    def fail(data):
        raise Own

    policy.agent_connectors.prepend(
        register_lambda_agent_connector("FailingForTest", fail)(
            ConnectorContext.from_policy(policy)
        )
    )

    with pytest.raises(Own):
        local_policy_inference(policy, "e", "a", np.zeros(4, np.float32))


def test_an_adapter_in_front_is_not_blamed():
    """Where a user's connector changes observations, theirs are not held against the old space."""
    policy = fresh(PLAIN)
    policy.agent_connectors.prepend(
        LAMBDAS["DropLastTwoFeatures"](ConnectorContext.from_policy(policy))
    )

    assert local_policy_inference(policy, "e", "a", np.zeros(6, np.float32), explore=False)
    with pytest.raises(SpaceError) as caught:
        local_policy_inference(policy, "f", "a", np.zeros(9, np.float32), explore=False)
    assert "found (9,)" not in str(caught.value)


def test_minus_infinity_is_a_mask_not_a_mistake():
    """Masked actions have logits of minus infinity; only NaN has no meaning."""
    assert not has_nan(np.array([[-np.inf, 0.0]], np.float32))
    assert has_nan(np.array([[0.0, 0.0], [np.nan, 0.0]], np.float32))


@pytest.mark.parametrize("name", ["mlp", "lstm", "filter"])
def test_a_pipeline_that_lost_its_view_requirements_is_refused(name):
    """Nothing makes a batch of what its connectors give."""
    policy = fresh(STEPPED[name])
    policy.agent_connectors.remove("ViewRequirementAgentConnector")

    with pytest.raises(PieceError, match="do not end in batches"):
        local_policy_inference(policy, "env", "agent", policy.observation_space.sample())
