"""Pipelines around a grown module: what the old pieces made, and features they never knew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Space

from ...core import nest
from ...core.adapters import AdapterChain, Cast, Clip, KeepBeside, Rescale, Scale, Step
from ...core.arrays.batching import batch as batched
from ...core.arrays.moments import Moments
from ...core.errors import PieceError
from ...core.formulas.running_stat import RunningStat
from ...core.spaces.values import sampled_courses
from ...core.spaces.walk import flat_dim, leaf_spaces
from ...core.types import Array
from ...v2.connectors.common.flatten_observations import FlattenObservations
from ...v2.connectors.env_to_module.adapt_observations import AdaptObservations
from ...v2.connectors.env_to_module.env_to_module_pipeline import ORDER
from ...v2.connectors.env_to_module.mean_std_filter import MeanStdFilter
from ..triple import V2Triple

_PROBES: Final = 64
_POINTWISE: Final = (Cast, Clip, Rescale, Scale)


def with_features(triple: V2Triple, keep: Sequence[int] | None) -> tuple[V2Triple, tuple[int, ...]]:
    """Let features that a triple's adapter leaves out reach its module.

    Args:
        triple: With its adapter in front; its env-to-module pipeline is changed.
        keep: Places of the features; those that change nothing that the policy sees if None.

    Returns:
        The triple, and the places.

    Raises:
        PieceError: A piece in front of the module cannot work beside other features.
    """
    pipeline, sees = triple.env_to_module, triple.observation_space
    front = _in_front(pipeline.connectors)
    adapters, rest = _adapters(front)
    steps = tuple(step for piece in adapters for step in piece.chain.obs)
    features = _unseen(steps, sees) if keep is None else tuple(keep)
    if not features:
        return triple, ()
    space: Any = sees
    chain = AdapterChain(obs=[KeepBeside(steps, features)])
    pieces: list[Any] = [AdaptObservations(sees, chain=chain)]
    for piece in rest:
        space = pieces[-1].observation_space
        pieces.append(_beside(piece, space, len(features), _bounds_of(sees, features)))
    if isinstance(pieces[-1].observation_space, (spaces.Tuple, spaces.Dict)):
        pieces.append(FlattenObservations(pieces[-1].observation_space))
    for piece in front:
        pipeline.remove(piece)
    for piece in reversed(pieces):
        pipeline.prepend(piece)
    pipeline.input_observation_space = sees
    return triple, features


def feature_names(space: Space[Any], features: Sequence[int]) -> list[str]:
    """What features are called: `v[1]` in a Dict, `[4]` in a vector.

    Example:
        >>> feature_names(spaces.Dict({"v": spaces.Box(-1, 1, (2,)), "m": spaces.Discrete(2)}), [3])
        ['v[1]']
    """
    if isinstance(space, spaces.Box):
        return [f"[{place}]" for place in features]
    names = [
        f"{'.'.join(map(str, path))}[{place}]"
        for path, leaf in leaf_spaces(space)
        for place in range(flat_dim(leaf))
    ]
    return [names[place] for place in features]


def _in_front(pieces: Sequence[Any]) -> list[Any]:
    """The pieces before the default ones."""
    defaults = [place for place, piece in enumerate(pieces) if type(piece) in ORDER]
    return list(pieces[: defaults[0]] if defaults else pieces)


def _adapters(pieces: list[Any]) -> tuple[list[Any], list[Any]]:
    """The adapters in front of all, which become one, and the pieces behind them.

    One that only scales all numbers alike does so to features beside as well.
    """
    count = 0
    for place, piece in enumerate(pieces):
        if type(piece) is not AdaptObservations:
            break
        if not all(map(_is_pointwise, piece.chain.obs)):
            count = place + 1
    return pieces[:count], pieces[count:]


def _is_pointwise(step: Step) -> bool:
    """Whether a step does the same to every number."""
    return isinstance(step, _POINTWISE) and not any(
        isinstance(value, tuple) for value in vars(step).values()
    )


def _unseen(steps: Sequence[Step], space: Space[Any]) -> tuple[int, ...]:
    """Places of the features that change nothing of what steps give, found by changing them."""
    bound = AdapterChain(obs=steps).bind(space, spaces.Discrete(1))
    before, after = (
        batched(sampled_courses(space, count=1, length=_PROBES, seed=seed, with_corners=False)[0])
        for seed in (0, 1)
    )
    seen = _seen(bound, before)

    def is_unseen(path: Sequence[Any], rows: Any) -> bool:
        return _same(seen, _seen(bound, _put(before, path, rows)))

    places: list[int] = []
    start = 0
    for path, leaf in leaf_spaces(space):
        mine, other = _at(before, path), _at(after, path)
        is_whole = isinstance(space, spaces.Box)
        if isinstance(leaf, spaces.Box) and leaf.shape and (is_whole or len(leaf.shape) == 1):
            for place in range(leaf.shape[-1]):
                rows = mine.copy()
                rows[..., place] = other[..., place]
                if is_unseen(path, rows):
                    places.append(start + place)
        elif is_unseen(path, other):
            places += range(start, start + flat_dim(leaf))
        start += flat_dim(leaf)
    return tuple(places)


def _at(value: Any, path: Sequence[Any]) -> Any:
    for key in path:
        value = value[key]
    return value


def _put(value: Any, path: Sequence[Any], leaf: Any) -> Any:
    """A nest with another leaf at a path."""
    if not path:
        return leaf
    key: Any = path[0]
    changed = _put(value[key], path[1:], leaf)
    if isinstance(value, tuple):
        return (*value[:key], changed, *value[key + 1 :])
    return {**value, key: changed}


def _seen(bound: Any, rows: Any) -> list[Any]:
    if not bound.memory:
        return nest.flatten(bound.observe(rows))
    count = len(nest.a_leaf(rows))
    return nest.flatten(bound.observe_next(rows, bound.start(count), np.ones(count, bool))[0])


def _same(mine: list[Any], other: list[Any]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(mine, other, strict=True))


def _bounds_of(space: Any, features: Sequence[int]) -> tuple[Array, Array]:
    """What is known of the features' range."""
    if isinstance(space, spaces.Box):
        return space.low[..., list(features)], space.high[..., list(features)]
    unknown = np.full(len(features), np.inf)
    return -unknown, unknown


def _beside(piece: Any, space: Any, count: int, bounds: tuple[Array, Array]) -> Any:
    """A piece as it works where features stand behind those that it knew."""
    if type(piece) is AdaptObservations and all(map(_is_pointwise, piece.chain.obs)):
        return AdaptObservations(space, chain=piece.chain)
    if type(piece) is FlattenObservations and not piece.keys_to_remove:
        return FlattenObservations(space)
    if type(piece) is MeanStdFilter and isinstance(space, spaces.Box) and len(space.shape) == 1:
        return _wider_filter(piece, space, count, bounds)
    raise PieceError(
        f"{type(piece).__name__} cannot work where features stand beside those that it knew",
        expected="AdaptObservations, FlattenObservations or MeanStdFilter in front of the module",
        found=f"{space}",
        hint="graft(..., features=[]) keeps the new features out.",
    )


def _wider_filter(
    old: MeanStdFilter, space: spaces.Box, count: int, bounds: tuple[Array, Array]
) -> MeanStdFilter:
    """A filter with as many counts of new features as of the old, spread over their range."""
    _, kwargs = old.get_ctor_args_and_kwargs()
    settings = {name: value for name, value in kwargs.items() if not name.startswith("input_")}
    wider = MeanStdFilter(space, **settings)
    low, high = (end.astype(np.float64) for end in bounds)
    is_bounded = np.isfinite(low) & np.isfinite(high) & (high - low < 1e6)
    low, high = np.where(is_bounded, low, 0.0), np.where(is_bounded, high, np.sqrt(12.0))
    middle = np.where(is_bounded, (low + high) / 2, 0.0)
    deviation = (high - low) / np.sqrt(12.0)  # of a number anywhere in its range
    state = old.get_state()
    for agent_state in state.values():
        agent_state["shape"] = np.array(space.shape, np.int64)
        agent_state["running_stats"] = [
            _wider_stat(agent_state["running_stats"][0], middle, deviation)
        ]
    wider.set_state(state)
    return wider


def _wider_stat(state: dict[str, Any], middle: Array, deviation: Array) -> dict[str, Any]:
    stat = RunningStat.from_state(state, with_delta=False)
    pushes, mean, sum_sq = stat.total
    wider = RunningStat((len(mean) + len(middle),))
    wider.total = Moments(
        pushes,
        np.concatenate([mean, middle * (pushes > 0)]),
        np.concatenate([sum_sq, deviation**2 * max(pushes - 1, 0)]),
    )
    return wider.to_state("v2")
