"""What a policy's head gives, and where that is in the head of a larger action space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ...core.types import Array

SILENT: Final = 1e-7
"""The probability with which a new action starts, where nobody asks for more: too small to be
seen at first, and a weight that can learn."""

_DRAWN: Final = 256
_STEADY: Final = 0.05
"""The deviation with which a new number of an action starts, as a share of its range."""


@dataclass(frozen=True)
class Outputs:
    """Where the inputs of the old distribution of actions are among those of the new one.

    Args:
        action_space: The new one.
        places: The place of each old input.
        biases: What new ones start with, by place.
        silent: Places of new choices, each with the places of the old choices beside it.
    """

    action_space: spaces.Space[Any]
    places: Array
    biases: dict[int, float] = field(default_factory=dict)
    silent: tuple[tuple[Array, Array], ...] = ()

    def rows(self, atoms: int = 1) -> Array:
        """The places, for heads that give several numbers an action."""
        return (self.places[:, None] * atoms + np.arange(atoms)).reshape(-1)


def outputs_of(
    gives: spaces.Space[Any],
    takes: spaces.Space[Any],
    act: Callable[[Any], Any],
    *,
    is_stretched: bool,
) -> Outputs | None:
    """Where outputs for one action space are in a head for another one.

    Args:
        gives: What the policy gives.
        takes: What the environment takes.
        act: The adapter's function from the one to the other.
        is_stretched: Whether numbers of actions are given in [-1, 1].

    Returns:
        None where no larger head does what the adapter does: it stays in front of the environment.
    """
    if isinstance(gives, spaces.Discrete) and isinstance(takes, spaces.Discrete):
        return _choices(gives, takes, act)
    if gives == takes and _is_identity(gives, act):
        return Outputs(takes, np.arange(_width(gives)))
    if isinstance(gives, spaces.Box) and isinstance(takes, spaces.Box):
        return _numbers(gives, takes, act, is_stretched)
    is_several = isinstance(gives, (spaces.Discrete, spaces.MultiDiscrete))
    if is_several and isinstance(takes, spaces.MultiDiscrete):
        return _several_choices(gives, takes, act)
    return None


def silent_bias(inputs: Array, old: Array, probability: float) -> float:
    """The bias that gives a new choice a probability beside the old ones.

    Args:
        inputs: Inputs of the old distribution `(n, width)`.
        old: Which of them the choice stands beside.
        probability: 0 for one that is nowhere to be seen.
    """
    logits = inputs[:, old].astype(np.float64)
    highest = logits.max(-1, keepdims=True)
    together = highest[:, 0] + np.log(np.exp(logits - highest).sum(-1))
    at = np.median(together) if probability else together.min()
    share = probability or SILENT
    return float(at + np.log(share / (1 - share)))


def _choices(gives: Any, takes: Any, act: Callable[[Any], Any]) -> Outputs | None:
    numbers = np.arange(gives.start, gives.start + gives.n)
    places = np.asarray(act(numbers)) - int(takes.start)
    if len(set(places.tolist())) < len(places):
        return None  # two actions became one
    rest = np.setdiff1d(np.arange(takes.n), places)
    return Outputs(takes, places, silent=((rest, np.arange(gives.n)),) if len(rest) else ())


def _several_choices(gives: Any, takes: Any, act: Callable[[Any], Any]) -> Outputs | None:
    sizes = [int(gives.n)] if isinstance(gives, spaces.Discrete) else gives.nvec.tolist()
    drawn = _drawn(gives)
    sources = _sources(drawn.reshape(len(drawn), -1), np.asarray(act(drawn)))
    if sources is None or np.ndim(takes.nvec) != 1:
        return None
    starts, old_starts = np.cumsum([0, *takes.nvec]), np.cumsum([0, *sizes])
    places = np.zeros(old_starts[-1], np.intp)
    biases, silent = {}, []
    for target, (source, value) in enumerate(sources):
        choices = starts[target] + np.arange(takes.nvec[target])
        if source is None:
            low = float(np.log(SILENT))
            chosen = int(value)
            biases.update({int(at): 0.0 if at == choices[chosen] else low for at in choices})
            continue
        size = sizes[source]
        if size > len(choices):
            return None
        places[old_starts[source] : old_starts[source + 1]] = choices[:size]
        if size < len(choices):
            silent.append((choices[size:], old_starts[source] + np.arange(size)))
    kept = {source for source, _ in sources if source is not None}
    return Outputs(takes, places, biases, tuple(silent)) if len(kept) == len(sizes) else None


def _numbers(
    gives: spaces.Box, takes: spaces.Box, act: Callable[[Any], Any], is_stretched: bool
) -> Outputs | None:
    if len(gives.shape) != 1 or len(takes.shape) != 1:
        return None
    drawn = _drawn(gives)
    sources = _sources(drawn, np.asarray(act(drawn)))
    if sources is None:
        return None
    size, more = gives.shape[0], takes.shape[0]
    means, biases = np.zeros(size, np.intp), {}
    for target, (source, value) in enumerate(sources):
        low, high = float(takes.low[target]), float(takes.high[target])
        if source is not None:
            if (low, high) != (float(gives.low[source]), float(gives.high[source])):
                return None  # the same number would be stretched or clipped otherwise
            means[source] = target
            continue
        is_bounded = is_stretched and np.isfinite([low, high]).all()
        spread = 2.0 if is_bounded else min(high - low, 2.0)
        biases[target] = 2 * (value - low) / (high - low) - 1 if is_bounded else value
        biases[more + target] = float(np.log(_STEADY * spread))
    if len({source for source, _ in sources if source is not None}) < size:
        return None
    return Outputs(takes, np.concatenate([means, more + means]), biases)


def _sources(before: Array, after: Array) -> list[tuple[int | None, float]] | None:
    """For each number of adapted actions the one it is a copy of, or what it always is."""
    sources: list[tuple[int | None, float]] = []
    for column in after.T:
        same = [place for place, number in enumerate(before.T) if np.array_equal(number, column)]
        if same:
            sources.append((same[0], 0.0))
        elif (column == column[0]).all():
            sources.append((None, float(column[0])))
        else:
            return None
    return sources


def _drawn(space: Any) -> Array:
    """Actions of a space, no two numbers of which go together."""
    rng = np.random.default_rng(0)
    if isinstance(space, spaces.Discrete):
        return np.resize(np.arange(space.start, space.start + space.n), _DRAWN)
    if isinstance(space, spaces.MultiDiscrete):
        return rng.integers(0, space.nvec, (_DRAWN, *space.nvec.shape))
    low, high = np.clip(space.low, -1e3, 1e3), np.clip(space.high, -1e3, 1e3)
    return np.asarray(rng.uniform(low, high, (_DRAWN, *space.shape)), space.dtype)


def _is_identity(space: Any, act: Callable[[Any], Any]) -> bool:
    if not isinstance(space, (spaces.Box, spaces.MultiDiscrete)):
        return True  # nothing adapts actions of parts
    drawn = _drawn(space)
    return np.array_equal(drawn, act(drawn))


def _width(space: Any) -> int:
    from ...v2.modules.action_distributions import distribution_class

    kind: Any = distribution_class(space)
    return int(kind.required_input_dim(space=space))
