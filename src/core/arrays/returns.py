"""Rewards and values into returns, advantages and value targets.

All of them are one recurrence, `y[t] = x[t] + decay[t] * y[t + 1]`, run backwards by
`reverse_scan` along the first axis and for any further axes.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .. import array_namespace as xp
from .. import nest
from ..columns import Columns
from ..errors import EpisodeError
from ..types import Array

_BLOCK: Final = 32
_LONG: Final = 1 << 13


def reverse_scan(x: Any, decay: Any) -> Any:
    """`y[t] = x[t] + decay[t] * y[t + 1]` for all t, with nothing after the end.

    `decay` broadcasts against `x`, `(T, ...)`; 0 starts afresh, so many episodes fit into one axis.

    Example:
        >>> reverse_scan(np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.0, 0.5]))
        array([1.5, 1. , 1. ])
    """
    if xp.is_tensor(x):
        y, factor = x, decay + xp.namespace(x).zeros_like(x)
        reach = 1
        while reach < x.shape[0]:
            y = xp.concatenate([y[:-reach] + factor[:-reach] * y[reach:], y[-reach:]])
            nothing = xp.namespace(x).zeros_like(factor[-reach:])
            factor = xp.concatenate([factor[:-reach] * factor[reach:], nothing])
            reach *= 2
        return y
    y = np.array(x)
    factor = np.array(np.broadcast_to(decay, y.shape), y.dtype)
    scan_in_place(y, factor)
    return y


def scan_in_place(y: Array, factor: Array) -> None:
    """Solve the recurrence in `y`; `factor` is used up."""
    length = len(y)
    if length >= _LONG:
        cut = length % _BLOCK
        _scan_blocks(y[cut:], factor[cut:])
        # The few rows that fill no block come first; what follows them is known.
        for step in range(cut - 1, -1, -1):
            y[step] += factor[step] * y[step + 1]
        return
    reach, product = 1, factor[: length - 1]
    while reach < length and product.any():  # Else every episode is shorter than the reach.
        y[:-reach] += product * y[reach:]
        product = product[:-reach] * product[reach:]
        reach *= 2


def _scan_blocks(y: Array, factor: Array) -> None:
    """Scan a long axis in blocks that are processed in parallel, step by step.

    What each block passes on to the previous one follows the same recurrence.
    """
    local = y.reshape(-1, _BLOCK, *y.shape[1:])
    product = factor.reshape(local.shape)
    carried = np.empty_like(local[:, 0])
    for step in range(_BLOCK - 2, -1, -1):
        np.multiply(product[:, step], local[:, step + 1], out=carried)
        local[:, step] += carried
        product[:, step] *= product[:, step + 1]
    first = local[:, 0].copy()
    scan_in_place(first, product[:, 0].copy())
    product[:-1] *= first[1:, None]
    local[:-1] += product[:-1]


_STRETCH: Final = 1 << 15


def discount_cumsum(x: Any, gamma: float) -> Any:
    """`y[t] = x[t] + gamma * x[t + 1] + gamma**2 * x[t + 2] + ...` along the first axis.

    Args:
        x: Rewards of one episode; further axes are apart from each other.
        gamma: Discount per step.

    Returns:
        float64, as RLlib's.

    Example:
        >>> discount_cumsum(np.array([0.0, 1.0, 2.0, 3.0]), 0.9)
        array([4.707, 5.23 , 4.7  , 3.   ])
    """
    return reverse_scan(xp.cast(x, np.float64), gamma)


def returns_to_go(rewards: Any, ends: Any, gamma: float) -> Any:
    """Discounted returns for many episodes laid end to end.

    `ends` says of each step, `(T,)`, whether it is the last of its episode.
    """
    goes_on = 1.0 - xp.cast(xp.as_array(ends), np.float64)
    values = xp.cast(xp.as_array(rewards), np.float64)
    return reverse_scan(values, gamma * goes_on.reshape((-1,) + (1,) * (values.ndim - 1)))


def compute_value_targets(
    values: Any,
    rewards: Any,
    terminateds: Any,
    truncateds: Any,
    gamma: float,
    lambda_: float,
) -> Any:
    """Compute value targets of concatenated episodes by generalized advantage estimation.

    Args:
        values: Predicted values, `(T,)`. The value after the last step counts as 0, so a
            truncated episode carries one more step to bootstrap from.
        rewards: As long.
        terminateds: Whether a step terminated its episode, so that no value follows.
        truncateds: Whether a step is the last known step of its episode.
        gamma: Discount per step.
        lambda_: How far advantages reach; 0 looks one step ahead, 1 to the end.

    Returns:
        float32: advantages plus values.
    """
    if not any(map(xp.is_tensor, (values, rewards, terminateds, truncateds))):
        arrays = [np.asarray(each) for each in (values, rewards, terminateds, truncateds)]
        return _value_targets(*arrays, gamma=gamma, lambda_=lambda_)
    value = xp.cast(xp.as_array(values), np.float64)
    reward = xp.cast(xp.as_array(rewards), np.float64)
    terminated = xp.cast(xp.as_array(terminateds), np.float64)
    truncated = xp.cast(xp.as_array(truncateds), np.float64)
    following = xp.concatenate([value[1:], 0 * value[:1]])
    delta = reward + gamma * (1.0 - terminated) * following - value
    goes_on = (1.0 - terminated) * (1.0 - truncated)
    return xp.cast(reverse_scan(delta, gamma * lambda_ * goes_on) + value, np.float32)


def _value_targets(
    values: Array,
    rewards: Array,
    terminateds: Array,
    truncateds: Array,
    *,
    gamma: float,
    lambda_: float,
) -> Array:
    """The same for arrays, from the end on in stretches that stay in a processor's cache."""
    targets = np.empty(values.shape, np.float32)
    value_after = advantage_after = 0.0
    for stop in range(len(values), 0, -_STRETCH):
        at = slice(max(0, stop - _STRETCH), stop)
        value, ended = values[at], np.flatnonzero(terminateds[at])  # Ends are few.
        y = np.empty(value.shape)
        np.multiply(value[1:], gamma, out=y[:-1], dtype=np.float64)
        y[-1] = gamma * value_after
        y[ended] = 0.0
        y += rewards[at]
        y -= value
        factor = np.full(value.shape, gamma * lambda_)
        factor[ended] = 0.0
        factor[np.flatnonzero(truncateds[at])] = 0.0
        y[-1] += factor[-1] * advantage_after
        scan_in_place(y, factor)
        value_after, advantage_after = float(value[0]), float(y[0])
        y += value
        targets[at] = y
    return targets


def gae(rewards: Any, values: Any, last_value: Any, gamma: float, lambda_: float) -> Any:
    """Advantages and value targets of one episode, or of several side by side.

    Rewards and values are `(T, ...)`; the value after the last step is 0 where the episode
    terminated.
    """
    reward, value = xp.cast(xp.as_array(rewards), np.float64), xp.as_array(values)
    value = xp.cast(value, np.float64)
    last = xp.cast(last_value, np.float64) + 0 * value[:1]
    following = xp.concatenate([value[1:], last])
    advantages = reverse_scan(reward + gamma * following - value, gamma * lambda_)
    return xp.cast(advantages, np.float32), xp.cast(advantages + value, np.float32)


def compute_advantages(
    rollout: MutableMapping[str, Any],
    last_r: float,
    gamma: float = 0.9,
    lambda_: float = 1.0,
    use_gae: bool = True,
    use_critic: bool = True,
    rewards: Any = None,
    vf_preds: Any = None,
) -> MutableMapping[str, Any]:
    """Add `advantages` and `value_targets` to the columns of one episode.

    Args:
        rollout: Columns; `rewards`, and `vf_preds` where a critic is used, are read.
        last_r: The value after the last step; 0 where the episode terminated.
        gamma: Discount per step.
        lambda_: How far advantages reach, with `use_gae`.
        use_gae: Generalised advantage estimation; else returns.
        use_critic: Subtract the predicted values from the returns.
        rewards: Instead of the column.
        vf_preds: Instead of the column.

    Returns:
        `rollout` itself.

    Raises:
        EpisodeError: A column that is needed is missing, or GAE is asked for without a critic.
    """
    rewards = _column(rollout, Columns.REWARDS) if rewards is None else rewards
    if use_gae and not use_critic:
        raise EpisodeError("use_gae=True needs the values of a critic: set use_critic=True.")
    if use_critic and vf_preds is None:
        vf_preds = _column(rollout, Columns.VF_PREDS)
    if use_gae:
        advantages, targets = gae(rewards, vf_preds, last_r, gamma, lambda_)
    else:
        reward = np.asarray(rewards, np.float64)
        with_last = np.concatenate([reward, np.full_like(reward[:1], last_r)])
        returns = discount_cumsum(with_last, gamma)[:-1].astype(np.float32)
        advantages = returns - vf_preds if use_critic else returns
        targets = returns if use_critic else np.zeros_like(returns)
    rollout[Columns.ADVANTAGES] = xp.cast(advantages, np.float32)
    rollout[Columns.VALUE_TARGETS] = targets
    return rollout


def adjust_nstep(n_step: int, gamma: float, batch: MutableMapping[str, Any]) -> None:
    """Turn the columns of one episode into n-step transitions, in place.

    The rewards of `n_step` steps are discounted and added; `new_obs`, `terminateds` and
    `truncateds` are those of the last of them, or of the last step there is.

    Args:
        n_step: How many steps a transition spans.
        gamma: Discount per step.
        batch: Columns of one episode or a piece of it.

    Raises:
        EpisodeError: The episode ends before its last row.
    """
    rewards = np.asarray(_column(batch, Columns.REWARDS))
    length = len(rewards)
    for name in (Columns.TERMINATEDS, Columns.TRUNCATEDS):
        if name in batch and np.asarray(batch[name])[:-1].any():
            raise EpisodeError(
                f"column {name!r} ends an episode in the middle",
                expected="the rows of one episode",
                found=f"an end at row {int(np.argmax(batch[name]))} of {length}",
            )
    ends = np.minimum(np.arange(length) + n_step - 1, length - 1)
    for name in (Columns.NEXT_OBS, Columns.TERMINATEDS, Columns.TRUNCATEDS):
        if name in batch:
            batch[name] = nest.map_structure(lambda column: column[ends], batch[name])
    total = np.array(rewards)
    for step in range(1, min(n_step, length)):
        total[:-step] += (gamma**step * rewards[step:]).astype(total.dtype)
    batch[Columns.REWARDS] = total


def normalize_advantages(advantages: Any, floor: float = 1e-4) -> Any:
    """Advantages with mean 0 and deviation 1, unless their deviation is below `floor`."""
    if xp.is_tensor(advantages):
        deviation = advantages.std(unbiased=False).clamp(min=floor)
        return (advantages - advantages.mean()) / deviation
    centred = advantages - advantages.mean()
    centred /= max(floor, np.sqrt(np.square(centred).mean()))
    return centred


def explained_variance(y: Any, pred: Any) -> Any:
    """Return the share of the variance of `y` that a prediction explains, at least -1.

    Example:
        >>> float(explained_variance(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])))
        1.0
    """
    lib = xp.namespace(y)
    variance, rest = y.var(0), (y - pred).var(0)
    is_flat = variance == 0
    share = 1.0 - rest / lib.where(is_flat, lib.ones_like(variance), variance)
    return lib.where(is_flat, -lib.ones_like(variance), xp.clip(share, -1.0, None))


def extract_bootstrapped_values(
    vf_preds: npt.ArrayLike, episode_lengths: Sequence[int], T: int
) -> Array:
    """The value after each chunk of `T` steps, for episodes that carry one step more.

    Args:
        vf_preds: Values of all steps, each episode followed by the value of its extra step.
        episode_lengths: Steps without the extra one.
        T: Length of a chunk; chunks run on from one episode into the next.

    Raises:
        EpisodeError: The steps do not fill whole chunks, or are not as many as the values.
    """
    values = np.asarray(vf_preds)
    lengths = np.asarray(episode_lengths, np.int64)
    steps = int(lengths.sum())
    if steps % T:
        raise EpisodeError(
            "the episodes do not fill whole chunks",
            expected=f"a number of steps that {T} divides",
            found=f"{steps} steps",
        )
    if len(values) != steps + len(lengths):
        raise EpisodeError(
            "the values do not fit the episodes",
            expected=f"{steps + len(lengths)} values, one more than steps per episode",
            found=f"{len(values)}",
        )
    places = np.arange(steps) + np.repeat(np.arange(len(lengths)), lengths)
    return np.asarray(values[places[T - 1 :: T] + 1])


def _column(columns: MutableMapping[str, Any], name: str) -> Any:
    try:
        return columns[name]
    except KeyError:
        raise EpisodeError(
            f"column {name!r} is missing", found=f"columns {sorted(map(str, columns))}"
        ) from None
