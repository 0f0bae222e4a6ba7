"""Returns, advantages and targets: RLlib's numbers."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.arrays import returns
from rlconnect.core.arrays.returns import reverse_scan
from rlconnect.core.errors import EpisodeError

RECORDED = np.load(Path(__file__).parents[2] / "golden" / "formulas" / "returns.npz")
VALUES, REWARDS = RECORDED["values"], RECORDED["rewards"]
TERMINATEDS, TRUNCATEDS = RECORDED["terminateds"], RECORDED["truncateds"]


@pytest.mark.parametrize(("gamma", "lambda_"), [(0.95, 0.9), (1.0, 1.0), (0.5, 0.0)])
def test_value_targets_are_rllibs(gamma, lambda_):
    """Many episodes end to end: terminations stop values, both ends stop advantages."""
    torch = pytest.importorskip("torch")
    columns = (VALUES, REWARDS, TERMINATEDS, TRUNCATEDS)

    result = returns.compute_value_targets(*columns, gamma, lambda_)
    tensor = returns.compute_value_targets(*map(torch.from_numpy, columns), gamma, lambda_)

    assert result.dtype == np.float32
    np.testing.assert_allclose(result, RECORDED[f"targets/{gamma}/{lambda_}"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tensor.numpy(), result, rtol=1e-6, atol=1e-6)


def test_long_batches_are_no_other_than_short_ones(rng):
    """Targets of 70,000 steps, taken in stretches, are those of one step after the other."""
    steps = 70_000
    values, rewards = rng.normal(size=(2, steps)).astype(np.float32)
    terminateds, truncateds = rng.random((2, steps)) < 0.001
    following = np.append(values[1:], 0.0) * ~terminateds
    ends = terminateds | truncateds

    result = returns.compute_value_targets(values, rewards, terminateds, truncateds, 0.99, 0.95)

    advantages = looped(rewards + 0.99 * following - np.float64(values), 0.99 * 0.95 * ~ends)
    np.testing.assert_allclose(result, advantages + values, rtol=1e-5, atol=1e-5)


def test_an_open_end_counts_as_zero():
    """Without an appended step nothing is known to follow."""
    result = returns.compute_value_targets(
        list(VALUES), list(REWARDS), list(TERMINATEDS), [False] * len(VALUES), 0.95, 0.9
    )

    np.testing.assert_allclose(result, RECORDED["open_end"], rtol=1e-5, atol=1e-6)


def test_discounted_sums_are_rllibs():
    """float64, whatever goes in."""
    result = returns.discount_cumsum(REWARDS, 0.97)

    assert result.dtype == np.float64
    np.testing.assert_allclose(result, RECORDED["cumsum"], rtol=1e-12)


def test_returns_to_go_start_afresh_with_every_episode():
    """Episodes laid end to end do not see each other."""
    ends = np.zeros(len(REWARDS), bool)
    ends[[9, 30, -1]] = True

    result = returns.returns_to_go(REWARDS, ends, 0.97)

    parts = [returns.discount_cumsum(part, 0.97) for part in np.split(REWARDS, [10, 31])]
    np.testing.assert_allclose(result, np.concatenate(parts), rtol=1e-12)


@pytest.mark.parametrize(("use_gae", "use_critic"), [(True, True), (False, True), (False, False)])
def test_advantages_of_a_rollout_are_rllibs(use_gae, use_critic):
    """Both columns are added, with RLlib's dtypes and numbers."""
    rollout = {"rewards": REWARDS, "vf_preds": VALUES}

    result = returns.compute_advantages(rollout, 0.7, 0.9, 0.8, use_gae, use_critic)

    assert result is rollout
    for name in ("advantages", "value_targets"):
        expected = RECORDED[f"rollout/{use_gae}/{use_critic}/{name}"]
        assert rollout[name].dtype == expected.dtype
        np.testing.assert_allclose(rollout[name], expected, rtol=1e-5, atol=1e-6)


def test_advantages_of_episodes_side_by_side_are_those_of_each(rng):
    """Time comes first; further axes are episodes."""
    rewards, values = rng.normal(size=(2, 12, 3))
    last = np.array([0.0, 1.0, -1.0])

    advantages, targets = returns.gae(rewards, values, last, 0.9, 0.8)

    for lane in range(3):
        one = returns.gae(rewards[:, lane], values[:, lane], last[lane], 0.9, 0.8)
        np.testing.assert_allclose(advantages[:, lane], one[0], rtol=1e-6)
        np.testing.assert_allclose(targets[:, lane], one[1], rtol=1e-6)


@pytest.mark.parametrize("steps", [1, 3, 9])
def test_nstep_transitions_are_rllibs(steps):
    """Rewards add up, the last columns come from as far ahead as there is."""
    batch = {
        "rewards": np.arange(1.0, 6.0, dtype=np.float32),
        "new_obs": np.arange(1.0, 6.0)[:, None],
        "terminateds": np.array([0, 0, 0, 0, 1], bool),
        "truncateds": np.zeros(5, bool),
    }

    returns.adjust_nstep(steps, 0.9, batch)

    for name, column in batch.items():
        expected = RECORDED[f"nstep/{steps}/{name}"]
        assert column.dtype == expected.dtype
        np.testing.assert_allclose(column, expected, rtol=1e-6)


def test_nstep_refuses_more_than_one_episode():
    """Rewards of the next episode must not reach back over an end."""
    batch = {"rewards": np.ones(3), "terminateds": np.array([False, True, False])}

    with pytest.raises(EpisodeError, match="row 1 of 3"):
        returns.adjust_nstep(2, 0.9, batch)


@pytest.mark.parametrize(("lengths", "T"), [([3, 4, 3], 2), ([1, 2, 1, 3, 2], 3)])
def test_bootstrapped_values_are_rllibs(lengths, T):
    """The value after each chunk, over the bounds of episodes."""
    values = np.arange(float(sum(lengths) + len(lengths)))

    result = returns.extract_bootstrapped_values(values, lengths, T)

    np.testing.assert_array_equal(result, RECORDED[f"bootstrapped/{T}"])


@pytest.mark.parametrize(("count", "T", "match"), [(13, 3, "whole chunks"), (9, 2, "one more")])
def test_bootstrapping_refuses_what_does_not_fit(count, T, match):
    """Steps that fill no chunk, values that are no episode's."""
    with pytest.raises(EpisodeError, match=match):
        returns.extract_bootstrapped_values(np.zeros(count), [3, 4, 3], T)


def test_advantages_are_normalized_with_a_floor():
    """Mean 0 and deviation 1, unless nothing varies; torch alike."""
    torch = pytest.importorskip("torch")
    varied, constant = REWARDS, np.full(4, 2.5, np.float32)

    result = returns.normalize_advantages(varied)

    np.testing.assert_allclose([result.mean(), result.std()], [0, 1], atol=1e-6)
    np.testing.assert_array_equal(returns.normalize_advantages(constant), np.zeros(4))
    tensor = returns.normalize_advantages(torch.from_numpy(varied))
    np.testing.assert_allclose(tensor.numpy(), result, atol=1e-6)


@pytest.mark.parametrize(
    ("y", "pred", "expected"),
    [
        ([1.0, 2, 3], [1, 2, 2.5], 0.9166667),  # The three recorded with Ray 2.60.0.
        ([1.0, 1, 1], [1, 2, 2.5], -1.0),
        ([1.0, 2, 3], [10, -20, 30], -1.0),
    ],
)
def test_explained_variance_is_rllibs(y, pred, expected):
    """Never below -1, and -1 where there is nothing to explain."""
    torch = pytest.importorskip("torch")

    assert returns.explained_variance(np.array(y), np.array(pred)) == pytest.approx(expected)
    tensor = returns.explained_variance(torch.tensor(y), torch.tensor(pred))
    assert tensor.item() == pytest.approx(expected)


def test_missing_columns_are_named():
    """The error lists what there is."""
    with pytest.raises(EpisodeError, match="'vf_preds' is missing"):
        returns.compute_advantages({"rewards": REWARDS}, 0.0)
    with pytest.raises(EpisodeError, match="use_critic"):
        returns.compute_advantages({"rewards": REWARDS}, 0.0, use_critic=False)


def looped(x, decay):
    y, following = np.zeros_like(x), 0.0
    for place in range(len(x) - 1, -1, -1):
        following = y[place] = x[place] + decay[place] * following
    return y


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.sampled_from([0.0, 0.5, 0.99, 1.0])), max_size=40)
)
def test_the_scan_is_its_loop(pairs):
    """The doubling scan equals one step after the other, resets included."""
    x, decay = np.array(pairs, float).reshape(-1, 2).T

    result = reverse_scan(x, decay)

    np.testing.assert_allclose(result, looped(x, decay), rtol=1e-12, atol=1e-9)


def test_the_scan_keeps_its_input_and_takes_tensors(rng):
    """Further axes are apart from each other; torch gives the same numbers in one graph."""
    torch = pytest.importorskip("torch")
    x, decay = rng.normal(size=(13, 2, 3)), rng.integers(0, 2, (13, 2, 3)) * 0.9
    before = x.copy()

    result = reverse_scan(x, decay)
    scan = torch.compile(reverse_scan, backend="eager", fullgraph=True)
    tensor = scan(torch.from_numpy(x), torch.from_numpy(decay))

    np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(result[:, 1, 2], looped(x[:, 1, 2], decay[:, 1, 2]), rtol=1e-12)
    np.testing.assert_allclose(tensor.numpy(), result, rtol=1e-12)
