"""Fetches come together as Ray names, orders and fills them."""

import numpy as np
from gymnasium.spaces import Discrete
from rlconnect.legacy.distributions.families import Categorical
from rlconnect.legacy.exploration.exploration import ArraySource, SoftQ, StochasticSampling
from rlconnect.legacy.policy.acting import choose_actions

INPUTS = np.float32([[0.0, 4.0, 2.0]])
EXTRA = {"q_values": INPUTS}


def choose(exploration, *, through=None, explore=False, bare=False):
    return choose_actions(
        through or Categorical(3),
        INPUTS,
        EXTRA,
        exploration,
        explore=explore,
        timestep=0,
        rng=np.random.default_rng(0),
        bare_when_greedy=bare,
    )


def test_greedy_fetches_say_one_and_zero():
    """Without exploration the probability is one and its logarithm zero."""
    actions, fetches = choose(StochasticSampling(Discrete(3)))

    assert actions.tolist() == [1]
    assert list(fetches) == ["q_values", "action_dist_inputs", "action_prob", "action_logp"]
    assert fetches["action_prob"].tolist() == [1.0]
    assert fetches["action_logp"].tolist() == [0.0]
    assert fetches["action_prob"].dtype == np.float32


def test_a_temperature_shows_in_q_values_too():
    """SoftQ scales the reported Q values along with the inputs, explored or not."""
    _, fetches = choose(SoftQ(Discrete(3), temperature=2.0))

    np.testing.assert_array_equal(fetches["q_values"], INPUTS / 2)
    np.testing.assert_array_equal(fetches["action_dist_inputs"], INPUTS / 2)
    np.testing.assert_array_equal(EXTRA["q_values"], INPUTS)


def test_bare_fetches_hold_the_inputs_alone():
    """Where a policy reports nothing else without exploration, nothing else is there."""
    assert list(choose(StochasticSampling(Discrete(3)), bare=True)[1]) == ["action_dist_inputs"]
    assert len(choose(StochasticSampling(Discrete(3)), bare=True, explore=True)[1]) == 4


def test_any_source_of_actions_will_do():
    """A callable makes the source from the prepared inputs."""
    seen = []

    def source(inputs):
        seen.append(inputs)
        return ArraySource(Categorical(3), inputs, np.random.default_rng(0))

    actions, _ = choose(SoftQ(Discrete(3), temperature=2.0), through=source)

    assert actions.tolist() == [1]
    np.testing.assert_array_equal(seen[0], INPUTS / 2)
