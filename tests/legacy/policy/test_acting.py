"""How policies act without connectors: batches, single steps, likelihoods, exploration, time."""

import json

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from rlconnect.core.errors import ConfigError, PieceError, SpaceError, WeightsError
from rlconnect.core.nets.numpy_layers import MAX_NUMPY_ROWS
from rlconnect.legacy import (
    Policy,
    SampleBatch,
    create_connectors_for_policy,
    get_preprocessor_for_space,
    local_policy_inference,
)

from tests.legacy.replay import GOLDEN, Recording, gap, leaves, named, nested

ANSWERS = GOLDEN.parent / "policies"
KNOWN = json.loads((ANSWERS / "answers.json").read_text(encoding="utf-8"))["cases"]
ROWS = 12
VECTOR = Box(-1, 1, (3,), np.float32)


def asked(name):
    """The policy of a recording and the first rows of its batch."""
    recording = Recording(GOLDEN / "legacy" / name)
    policy_id = KNOWN[name]["policy"] if name in KNOWN else "default_policy"
    flat = {key: rows[:ROWS] for key, rows in recording.batch(policy_id, "batch_in").items()}
    return recording.load(policy_id), nested(flat)


def answers(name, kind):
    with np.load(ANSWERS / "log_likelihoods.npz") as held:
        prefix = f"{name}|{kind}|"
        return nested({k[len(prefix) :]: held[k] for k in held.files if k.startswith(prefix)})


@pytest.mark.parametrize("is_normalized", [True, False], ids=["normalized", "stretched"])
@pytest.mark.parametrize("name", KNOWN)
def test_log_likelihoods_are_rays(name, is_normalized):
    """Real Ray 2.60 gives these actions of these checkpoints the same log-likelihoods."""
    policy, batch = asked(name)
    states = [batch[key] for key in sorted(batch) if key.startswith("state_in_")]

    found = policy.compute_log_likelihoods(
        answers(name, "actions"),
        batch["obs"],
        states or None,
        batch.get("prev_actions"),
        batch.get("prev_rewards"),
        actions_normalized=is_normalized,
    )

    assert not gap(answers(name, "normalized" if is_normalized else "stretched"), found)


@pytest.mark.parametrize("name", KNOWN)
def test_timesteps_and_schedules_move_as_rays(name):
    """An acting policy counts rows; exploration sees the timestep from before the call."""
    policy, batch = asked(name)
    before, after = KNOWN[name]["global_timestep"]
    assert policy.global_timestep == before

    policy.compute_actions_from_input_dict(SampleBatch(batch), explore=True)

    rows = 12 if isinstance(batch["obs"], dict) else after - before  # Ray counts a dict's keys
    assert policy.global_timestep == before + rows
    want = KNOWN[name]["exploration_state"]
    assert policy.get_exploration_state() == pytest.approx(want)


SPACES = {
    "box": Box(-1, 1, (3,), np.float32),
    "discrete": Discrete(5),
    "image": Box(0, 255, (20, 20, 3), np.uint8),
    "nested": Dict({"a": Box(-1, 1, (2,)), "b": Tuple((Discrete(3), Box(0, 1, (1,))))}),
    "multi": MultiDiscrete([2, 3]),
    "bits": MultiBinary(4),
}
ACTIONS = {
    "discrete": Discrete(3),
    "multi": MultiDiscrete([2, 3]),
    "box": Box(-2, 2, (2,), np.float32),
    "tuple": Tuple((Discrete(2), Box(-1, 1, (1,), np.float32))),
    "dict": Dict({"left": Discrete(2), "right": Discrete(4)}),
}
CONV = {"conv_filters": [[4, [4, 4], 2], [8, [10, 10], 1]]}


def preprocessed(space):
    """The space a policy sees, and the raw one on it."""
    return get_preprocessor_for_space(space).observation_space


def steps_of(policy, raw_space, **how):
    create_connectors_for_policy(policy, policy.config)
    raw_space.seed(0)
    return [
        local_policy_inference(policy, "env", "agent", raw_space.sample(), **how)[0]
        for _ in range(3)
    ]


@pytest.mark.parametrize(
    ("seen", "acts"), [*((seen, "discrete") for seen in SPACES), ("box", "box"), ("nested", "box")]
)
def test_a_policy_is_made_from_any_observation_space(seen, acts):
    """Spaces and a config are enough: fresh weights, and actions that lie in the space."""
    config = {"model": CONV} if seen == "image" else {}
    policy = Policy(preprocessed(SPACES[seen]), ACTIONS[acts], config)

    outputs = steps_of(policy, SPACES[seen], explore=True)

    for action, state, fetches in outputs:
        assert policy.action_space.contains(action) or acts == "box"
        assert np.shape(action) == policy.action_space.shape
        assert state == []
        assert np.isfinite(fetches["vf_preds"])


@pytest.mark.parametrize("explore", [True, False])
@pytest.mark.parametrize("acts", ACTIONS)
def test_a_policy_is_made_for_any_action_space(acts, explore):
    """Sampled and best actions are nested like the space and lie in it once stretched."""
    policy = Policy(VECTOR, ACTIONS[acts], {"seed": 1})

    for action, _, _ in steps_of(policy, VECTOR, explore=explore):
        for path, want in leaves(ACTIONS[acts].sample()):
            assert dict(leaves(action))[path].shape == want.shape
        if acts in {"discrete", "multi"}:
            assert ACTIONS[acts].contains(np.asarray(action, np.int64))


@pytest.mark.parametrize(
    ("algorithm", "acts"),
    [
        *((name, "discrete") for name in ("PPO", "APPO", "IMPALA", "A2C", "A3C", "PG", "DQN")),
        *((name, "box") for name in ("PPO", "SAC", "CQL", "DDPG", "TD3", "ES", "ARS")),
        *((name, "discrete") for name in ("MARWIL", "BC", "SAC", "R2D2", "SimpleQ")),
    ],
)
def test_every_algorithm_makes_a_policy(algorithm, acts):
    """Each algorithm's head acts with fresh weights, which go in and out unchanged."""
    config = {"model": {"fcnet_hiddens": [8], "use_lstm": algorithm == "R2D2"}}
    policy = Policy(VECTOR, ACTIONS[acts], config, algorithm=algorithm)
    weights = policy.get_weights()

    first = steps_of(policy, VECTOR, explore=False)

    assert len(first) == 3
    halved = {name: part * 0.5 for name, part in weights.items()}
    policy.set_weights(halved)
    for name, part in policy.get_weights().items():
        assert np.array_equal(part, halved[name]), name


def test_weights_are_copies():
    """What `get_weights` gave may be written to without changing the policy."""
    policy = Policy(VECTOR, Discrete(2), {"seed": 0})

    for part in policy.get_weights().values():
        part[...] = 7

    assert not any((part == 7).all() for part in policy.get_weights().values())


@pytest.mark.parametrize("change", ["missing", "extra", "shape"])
@pytest.mark.parametrize("name", ["2.60.0/ppo_cartpole", "2.7.2/ppo_image_vision"])
def test_weights_that_do_not_fit_leave_the_old_ones(name, change):
    """A misfit is an error that names the array; the policy acts as before."""
    policy, batch = asked(name)
    _, _, before = policy.compute_actions_from_input_dict(batch, explore=False)
    weights = policy.get_weights()
    first = next(iter(weights))
    fresh = {key: part * 0 for key, part in weights.items()}
    if change == "missing":
        del fresh[first]
    elif change == "extra":
        fresh["stranger"] = np.zeros(3)
    else:
        fresh[first] = np.zeros((1, 1), np.float32)

    with pytest.raises(WeightsError, match="stranger" if change == "extra" else first):
        policy.set_weights(fresh)

    _, _, after = policy.compute_actions_from_input_dict(batch, explore=False)
    assert np.array_equal(before["action_dist_inputs"], after["action_dist_inputs"])


@pytest.mark.parametrize("name", ["2.60.0/ppo_cartpole", "2.7.2/ppo_lstm_prev", "2.7.2/sac_cont"])
def test_single_actions_are_rows_of_the_batch(name):
    """`compute_single_action` takes and gives what one row of a batch would."""
    policy, batch = asked(name)
    actions, states, fetches = policy.compute_actions_from_input_dict(batch, explore=False)

    for row in range(3):
        one = {key: part[row] for key, part in batch.items()}
        state = [one[key] for key in sorted(one) if key.startswith("state_in_")]
        found = policy.compute_single_action(
            one["obs"],
            state,
            prev_action=one.get("prev_actions"),
            prev_reward=one.get("prev_rewards"),
            explore=False,
        )
        by_dict = policy.compute_single_action(input_dict=one, explore=False)

        want = (actions[row], [s[row] for s in states], {k: v[row] for k, v in fetches.items()})
        for path, value in named(want).items():
            assert not gap(value, named(found)[path])
            assert not gap(value, named(by_dict)[path])


def test_a_stateful_policy_starts_from_its_initial_state():
    """Without a state, a single action is one of an episode's start."""
    policy, batch = asked("2.7.2/ppo_lstm_prev")
    one = {"obs": batch["obs"][0], "prev_action": np.int64(0), "prev_reward": np.float32(0)}

    given = policy.compute_single_action(
        one["obs"], policy.get_initial_state(), prev_action=0, prev_reward=0.0, explore=False
    )
    left_out = policy.compute_single_action(**one, explore=False)

    assert np.array_equal(given[1][0], left_out[1][0])
    assert policy.is_recurrent()
    assert policy.num_state_tensors() == 2


def test_exploration_is_reproducible_by_seed():
    """The same seed draws the same actions; another one does not; greedy draws nothing."""
    policy, batch = asked("2.7.2/ppo_free_log_std")
    drawn = {}
    for seed in (1, 1, 2):
        policy.seed(seed)
        policy.compute_actions_from_input_dict(batch, explore=False)
        drawn.setdefault(seed, []).append(
            policy.compute_actions_from_input_dict(batch, explore=True)[0]
        )

    assert np.array_equal(*drawn[1])
    assert not np.array_equal(drawn[1][0], drawn[2][0])


@pytest.mark.parametrize("configured", [True, False])
def test_exploration_follows_the_config_unless_told(configured):
    """`explore=None` does as the config says."""
    policy = Policy(VECTOR, ACTIONS["box"], {"explore": configured, "seed": 0})
    obs = np.zeros((64, 3), np.float32)

    actions, _, _ = policy.compute_actions(obs)

    assert (np.ptp(actions, axis=0) > 0).all() == configured
    assert (np.ptp(policy.compute_actions(obs, explore=not configured)[0]) > 0) == (not configured)


def test_noise_is_the_callers_choice():
    """Noisy layers act by their means, or draw at every call as Ray's do."""
    config = {"noisy": True, "hiddens": [8], "model": {"fcnet_hiddens": [8]}}
    made = Policy(VECTOR, Discrete(2), config, algorithm="DQN")
    obs = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    q_values = {}
    for noise in ("mean", "ray"):
        policy = Policy(
            VECTOR, Discrete(2), config, algorithm="DQN", weights=made.get_weights(), noise=noise
        )
        q_values[noise] = [
            policy.compute_actions(obs, explore=False)[2]["q_values"] for _ in range(2)
        ]

    assert np.array_equal(*q_values["mean"])
    assert not np.array_equal(*q_values["ray"])


def test_a_batch_of_lists_is_stacked():
    """A list of observations is a batch, nested or not."""
    policy = Policy(VECTOR, Discrete(2), {"seed": 0})
    rows = [np.full(3, value, np.float32) for value in (0.1, 0.2)]

    listed = policy.compute_actions(rows, explore=False)[2]["action_dist_inputs"]
    stacked = policy.compute_actions(np.stack(rows), explore=False)[2]["action_dist_inputs"]

    assert np.array_equal(listed, stacked)


def test_numpy_and_torch_act_alike_at_any_size():
    """Batches on both sides of the rule that chooses between numpy and torch agree."""
    policy, _ = asked("2.60.0/ppo_cartpole")
    obs = np.random.default_rng(0).normal(size=(MAX_NUMPY_ROWS + 1, 4)).astype(np.float32)

    small = policy.compute_actions(obs[:-1], explore=False)[2]["action_dist_inputs"]
    large = policy.compute_actions(obs, explore=False)[2]["action_dist_inputs"]

    assert not gap(small, large[:-1])
    assert np.abs(small - large[:-1]).max() < 1e-6


def test_an_observation_of_another_shape_is_refused():
    """A single observation and a batch that cannot be the network's name what was expected."""
    policy = Policy(VECTOR, Discrete(2))

    with pytest.raises(SpaceError, match=r"shape \(B, 3\)"):
        policy.compute_single_action(np.zeros(4))
    for odd in (np.zeros((2, 4)), np.zeros(3), [[0.0, 0.0]], 3.0):
        with pytest.raises(SpaceError, match=r"shape \(B, 3\)"):
            policy.compute_actions(odd)


def test_a_missing_column_is_named():
    """What a network needs and was not given, or was given in another shape, is named."""
    policy, batch = asked("2.7.2/ppo_lstm_prev")
    short = {**batch, "state_in_0": batch["state_in_0"][:, :3]}

    for columns, error, told in (
        ({"state_in_0": batch["state_in_0"]}, PieceError, "'obs', 'prev_actions'"),
        ({"obs": batch["obs"]}, PieceError, "'prev_actions', 'prev_rewards', 'state_in_0'"),
        (short, SpaceError, r"'state_in_0' .* expected shape \(16,\), found \(3,\)"),
        ({**batch, "prev_actions": np.full(ROWS, 9)}, SpaceError, "'prev_actions' .* found 9"),
    ):
        with pytest.raises(error, match=told):
            policy.compute_actions_from_input_dict(columns)


@pytest.mark.parametrize("name", ["2.60.0/ppo_cartpole", "2.7.2/ppo_image_vision"])
def test_nan_is_refused_and_located(name):
    """NaN in an observation is an error that names the column and the row, in numpy and torch."""
    policy, batch = asked(name)
    obs = batch["obs"].astype(np.float32)
    obs[5].flat[0] = np.nan

    with pytest.raises(SpaceError, match="NaN in column 'obs'") as caught:
        policy.compute_actions(obs)

    assert (caught.value.row, caught.value.column) == (5, "obs")


def test_nan_in_weights_is_told_from_nan_in_observations():
    """A diverged network is named as such, with the arrays concerned."""
    policy, batch = asked("2.60.0/ppo_cartpole")
    policy.set_weights({name: part * np.nan for name, part in policy.get_weights().items()})

    with pytest.raises(WeightsError, match="no finite numbers"):
        policy.compute_actions_from_input_dict(batch)


def test_an_unknown_device_is_a_mistake_in_settings():
    """Whatever torch says of a device is told as an error of ours."""
    with pytest.raises(ConfigError, match="'nowhere'"):
        Policy(VECTOR, Discrete(2), device="nowhere")


def test_fresh_weights_follow_the_seed():
    """The same seed gives the same weights, and leaves torch's own generator alone."""
    before = torch.random.get_rng_state()

    one, two, other = (Policy(VECTOR, Discrete(2), {"seed": s}).get_weights() for s in (1, 1, 2))

    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not all(np.array_equal(one[name], other[name]) for name in one)
    assert torch.equal(before, torch.random.get_rng_state())


def test_values_are_those_of_the_fetches():
    """`value` is the value estimate; an algorithm without one says so."""
    policy, batch = asked("2.60.0/ppo_cartpole")
    _, _, fetches = policy.compute_actions_from_input_dict(batch, explore=False)

    assert np.array_equal(policy.value(batch), fetches["vf_preds"])
    with pytest.raises(PieceError, match="DQN"):
        Policy(VECTOR, Discrete(2), algorithm="DQN").value({"obs": np.zeros((1, 3))})
