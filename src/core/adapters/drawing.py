"""Adapters as pictures: what stands before, the steps, what stands behind, number by number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from .. import nest
from ..errors import RlconnectError
from ..pages.document import flow
from ..spaces.text import short_space
from ..types import Nest
from .step import Bound, Step
from .wiring import wiring_of

if TYPE_CHECKING:
    from .chain import BoundChain


def drawn(bound: BoundChain) -> str:
    """Each way through an adapter: its steps as boxes, below them which number goes where."""
    chain, parts = bound.chain, []
    if chain.obs:
        ends = (("environment", bound.env_observation_space), ("policy", bound.observation_space))
        parts.append(_way(ends, chain.obs, bound.obs))
        parts.append(_wired(ends, lambda value: _observed(bound, value), "obs"))
    if chain.action:
        ends = (("policy", bound.policy_action_space), ("environment", bound.action_space))
        parts.append(_way(ends, chain.action, bound.actions))
        parts.append(_wired(ends, lambda value: [bound.act(value)], "action"))
    if chain.reward:
        parts.append(flow([("reward", ""), *map(_box, chain.reward), ("policy", "")]))
    if chain.agents:
        parts.append(flow([(f"agent {new}", f"plays {old}") for new, old in chain.agents.items()]))
    return "".join(parts)


def drawn_of(pieces: Iterable[Any]) -> str:
    """The adapters among the pieces of pipelines, in order."""
    parts = []
    for piece in pieces:
        try:
            bound: Any = getattr(piece, "adapter", None)
        except RlconnectError:  # one for several agents, or without its spaces
            continue
        if hasattr(bound, "env_observation_space"):
            parts.append(drawn(bound))
    return "".join(parts)


_Ends = tuple[tuple[str, spaces.Space[Any]], tuple[str, spaces.Space[Any]]]


def _way(ends: _Ends, steps: Sequence[Step], bounds: Sequence[Bound]) -> str:
    (begins, first), (arrives, last) = ends
    between = ["", *(short_space(each.space) for each in bounds[:-1])]
    boxes = [(begins, short_space(first)), *map(_box, steps), (arrives, short_space(last))]
    return flow(boxes, between)


def _box(step: Step) -> tuple[str, str]:
    name, _, settings = str(step).partition("(")
    return name, settings.removesuffix(")")


def _wired(ends: _Ends, call: Any, root: str) -> str:
    (begins, space), (arrives, out_space) = ends
    try:
        with np.errstate(all="ignore"):  # made-up numbers may be of any size
            wiring = wiring_of(space, out_space, call, root)
    except Exception:  # a made-up value need not suit a step of the user's
        return ""
    return "" if wiring is None else wiring.drawn((begins, arrives))


def _observed(bound: BoundChain, value: Nest) -> list[Nest]:
    """The adapted observations; where steps remember, those of the next step too."""
    if not bound.memory:
        return [bound.observe(value)]
    rows = len(nest.a_leaf(value))
    first = np.ones(rows, bool)
    observed, memory = bound.observe_next(value, bound.start(rows), first)
    same = nest.map_structure(lambda leaf: np.repeat(leaf[:1], rows, 0), value)
    return [observed, bound.observe_next(same, memory, ~first)[0]]
