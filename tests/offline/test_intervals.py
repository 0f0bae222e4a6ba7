"""Intervals hold the value as often as they say."""

import numpy as np
import pytest
from rlconnect.core.formulas.intervals import interval_of, student_quantile
from rlconnect.offline.estimators import METHODS, Steps, judged

from tests.offline.tabular import METHODS as SOUND
from tests.offline.tabular import covered


@pytest.fixture(scope="module")
def shares():
    """How often intervals hold known values, in 400 data sets of 40 random worlds."""
    return covered(worlds=40, repeats=10, episodes=150, apart=0.3, seed=3)[0]


@pytest.mark.parametrize("method", SOUND)
def test_intervals_hold_known_values(method, shares):
    """Nearly 95 % of them; intervals that held 88 % would be found out 98 times in 100."""
    assert 0.915 <= shares[method] <= 0.985


def test_heavy_tails_make_wide_intervals(rng):
    """Few heavy weights tell little of how much they vary: plain normal intervals hold too few."""
    held, plain = [], []
    for _ in range(400):
        drawn = np.exp(rng.normal(0, 1.2, 80))
        mean, half = drawn.mean(), 1.96 * drawn.std(ddof=1) / np.sqrt(80)
        held.append(interval_of(drawn, mean).holds(np.exp(0.72)))
        plain.append(abs(mean - np.exp(0.72)) <= half)

    assert np.mean(held) > np.mean(plain) + 0.01


@pytest.mark.parametrize(("freedom", "expected"), [(4, 2.776), (10, 2.228), (1e6, 1.960)])
def test_quantiles_are_students(freedom, expected):
    """As tables have them."""
    assert student_quantile(0.975, freedom) == pytest.approx(expected, abs=2e-3)


def test_too_little_says_nothing():
    """One episode has no spread; equal ones have none to speak of."""
    assert interval_of(np.array([1.0]), 1.0).low == -np.inf
    assert interval_of(np.ones(5), 1.0).high == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_a_policy_that_did_it_itself_is_worth_what_it_got(method, rng):
    """With weights of 1 each method gives the recorded mean; a model's values have to be right."""
    lengths = np.array([3, 1, 5, 2])
    rewards = rng.normal(size=11)
    later = np.zeros(12)
    for place in range(10, -1, -1):
        is_end = place in np.cumsum(lengths) - 1
        later[place] = rewards[place] + (0 if is_end else 0.9 * later[place + 1])
    steps = Steps(lengths, rewards, np.ones(11), later[:11], later[:11])

    found = judged(method, steps, 0.9)

    expected = later[:11][steps.starts].mean()
    assert found.values.mean() == pytest.approx(expected)
    assert found.influence.mean() == pytest.approx(expected)


def test_estimates_are_those_written_out(rng):
    """Each method, as a loop over episodes and steps has it."""
    lengths, gamma = np.array([4, 2, 4, 3]), 0.9
    count = int(lengths.sum())
    columns = rng.normal(size=(3, count))
    ratios = rng.uniform(0.5, 2, count)
    steps = Steps(lengths, columns[0], ratios, columns[1], columns[2])
    episodes = [slice(a, b) for a, b in zip(steps.starts, steps.ends + 1, strict=True)]
    weights = [np.cumprod(ratios[each]) for each in episodes]
    rewards, chosen, values = ([c[e] for e in episodes] for c in columns)

    expected = {
        "is": [
            sum(w * r * gamma ** np.arange(len(r))) for w, r in zip(weights, rewards, strict=True)
        ],
        "dr": [
            v[0]
            + sum(
                gamma**t * w[t] * (r[t] + gamma * (v[t + 1] if t + 1 < len(r) else 0) - q[t])
                for t in range(len(r))
            )
            for w, r, q, v in zip(weights, rewards, chosen, values, strict=True)
        ],
    }
    for method, each in expected.items():
        np.testing.assert_allclose(judged(method, steps, gamma).values, each)
