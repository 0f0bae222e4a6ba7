"""Explorations pick actions as Ray's do, from an explicit generator."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from rlconnect.core.errors import ConfigError, SpaceError
from rlconnect.core.formulas.schedules import ConstantSchedule
from rlconnect.legacy.distributions.action_leaves import map_actions
from rlconnect.legacy.distributions.choice import distribution_for
from rlconnect.legacy.exploration.exploration import (
    MASKED_Q,
    ArraySource,
    EpsilonGreedy,
    Random,
    SoftQ,
    StochasticSampling,
    random_actions,
)

ROWS = 4000


def source_of(space, row, rng):
    inputs = np.tile(np.array(row, np.float32), (ROWS, 1))
    return ArraySource(distribution_for(space).arrays(), inputs, rng)


def choose(exploration, row, *, explore=True, timestep=50, seed=0):
    rng = np.random.default_rng(seed)
    source = source_of(exploration.action_space, row, rng)
    return exploration.choose(source, explore=explore, timestep=timestep, rng=rng)


@pytest.mark.parametrize(
    "exploration",
    [
        StochasticSampling(Discrete(3)),
        EpsilonGreedy(Discrete(3), epsilon_schedule=ConstantSchedule(1.0)),
        Random(Discrete(3)),
        SoftQ(Discrete(3), temperature=2.0, random_timesteps=1000),
    ],
)
def test_without_exploration_the_best_action_is_taken(exploration):
    """explore=False gives the deterministic action with log-probabilities of zero."""
    actions, logp = choose(exploration, [0.0, 2.0, 1.0], explore=False)

    assert (actions == 1).all()
    assert logp.dtype == np.float32
    assert not logp.any()


def test_sampling_reports_the_log_probability_of_what_it_drew():
    """Frequencies follow the distribution; the log-probability belongs to the drawn action."""
    logits = np.log([0.2, 0.5, 0.3])

    actions, logp = choose(StochasticSampling(Discrete(3)), logits)

    np.testing.assert_allclose(np.bincount(actions) / ROWS, [0.2, 0.5, 0.3], atol=0.03)
    np.testing.assert_allclose(logp, logits[actions], atol=1e-6)


def test_before_random_timesteps_actions_are_random():
    """The random phase ends at `random_timesteps`, and nothing is reported for it."""
    exploration = StochasticSampling(Discrete(3, start=2), random_timesteps=50)

    early, early_logp = choose(exploration, [9.0, 0.0, 0.0], timestep=49)
    late, late_logp = choose(exploration, [90.0, 0.0, 0.0], timestep=50)

    assert set(early) == {2, 3, 4}
    assert not early_logp.any()
    assert set(late) == {0}
    assert late_logp.max() <= 0


def test_epsilon_greedy_mixes_random_and_best():
    """A share of epsilon is uniform over all actions, the rest is the best one."""
    exploration = EpsilonGreedy(Discrete(4), epsilon_schedule=ConstantSchedule(0.4))

    actions, logp = choose(exploration, [0.0, 5.0, 1.0, 2.0])

    np.testing.assert_allclose(np.bincount(actions) / ROWS, [0.1, 0.7, 0.1, 0.1], atol=0.03)
    assert not logp.any()
    assert actions.dtype == np.int32


def test_epsilon_greedy_never_takes_a_masked_action():
    """An action whose value marks it as forbidden is not drawn at random either."""
    exploration = EpsilonGreedy(Discrete(3), epsilon_schedule=ConstantSchedule(1.0))

    actions, _ = choose(exploration, [0.0, MASKED_Q, 1.0])

    np.testing.assert_allclose(np.bincount(actions, minlength=3) / ROWS, [0.5, 0, 0.5], atol=0.03)


def test_epsilon_greedy_works_on_nested_actions():
    """The same rows explore in every leaf of a nested action."""
    space = Dict(a=MultiDiscrete([2, 3]), b=Box(-1, 1, (2,)))
    exploration = EpsilonGreedy(space, epsilon_schedule=ConstantSchedule(0.5))

    actions, _ = choose(exploration, [5, 0, 0, 0, 5, 9.0, 9.0, 0, 0])

    calm = (actions["b"] == 9.0).all(-1)
    assert 0.45 < calm.mean() < 0.55
    assert (actions["a"][calm] == [0, 2]).all()
    assert (np.abs(actions["b"][~calm]) <= 1).all()


def test_soft_q_flattens_the_distribution():
    """A temperature divides the inputs, which is what a policy reports as well."""
    exploration = SoftQ(Discrete(2), temperature=4.0)

    scaled = exploration.prepare(np.float32([[0.0, 8.0]]))

    np.testing.assert_array_equal(scaled, [[0.0, 2.0]])
    with pytest.raises(ConfigError, match="temperature"):
        SoftQ(Discrete(2), temperature=0.0)


def test_timesteps_count_on_when_none_is_given():
    """Without a timestep the exploration counts its own calls."""
    exploration = EpsilonGreedy(Discrete(2), epsilon_schedule=ConstantSchedule(0.0))
    exploration.set_state({"last_timestep": 41})

    choose(exploration, [0.0, 1.0], timestep=None)

    assert exploration.get_state() == {"cur_epsilon": 0.0, "last_timestep": 42}


def test_one_seed_gives_one_batch_of_actions():
    """Everything random comes from the generator that is passed in."""
    space = Tuple([Discrete(3), Box(-1, 1, (2,))])
    exploration = StochasticSampling(space)
    row = np.zeros(7)

    first, second = (choose(exploration, row, seed=3) for _ in range(2))
    other = choose(exploration, row, seed=4)

    np.testing.assert_array_equal(first[0][1], second[0][1])
    np.testing.assert_array_equal(first[1], second[1])
    assert (first[0][1] != other[0][1]).any()


SPACES = [
    Discrete(3, start=2),
    MultiDiscrete([2, 5]),
    MultiBinary(3),
    Box(-1, 2, (2,)),
    Box(-1, 1, ()),
    Box(0, 5, (2, 2), np.int32),
    Box(0, 5, (2,), np.int64),
    Box(-np.inf, np.inf, (2,)),
    Box(np.float32([0, -np.inf]), np.float32([np.inf, 1])),
    Dict(b=Discrete(2), a=Tuple([Box(-3, 3, (1,)), MultiDiscrete([2, 2])])),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_row_lies_in_the_space(space):
    """Each row is a member; one seed gives one batch."""
    batch = random_actions(space, 64, np.random.default_rng(0))
    again = random_actions(space, 64, np.random.default_rng(0))

    for i in range(64):
        assert space.contains(map_actions(lambda leaf, i=i: _item(leaf[i]), batch))
    assert repr(batch) == repr(again)


def _item(value):
    return np.asarray(value) if value.ndim or value.dtype.kind == "f" else int(value)


def test_bounded_components_are_filled_evenly():
    """A bounded Box is uniform, its integer kin includes both ends."""
    rng = np.random.default_rng(1)

    real = random_actions(Box(-1, 2, (2,)), 5000, rng)
    whole = random_actions(Box(0, 5, (1,), np.int32), 5000, rng)

    np.testing.assert_allclose(real.mean(0), 0.5, atol=0.05)
    np.testing.assert_allclose(real.std(0), 3 / np.sqrt(12), atol=0.03)
    assert set(whole.ravel()) == {0, 1, 2, 3, 4, 5}


def test_other_spaces_are_refused():
    """A space without random actions is named."""
    with pytest.raises(SpaceError, match="Text"):
        random_actions(Text(3), 2, np.random.default_rng(0))
