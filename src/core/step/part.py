"""One formula of an actor's step, and its arguments in addition to the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import array_namespace as xp
from .. import nest
from ..formulas.actions import ActionBounds, ActionPlan
from ..formulas.filters import FrozenFilter
from ..types import Array, Nest
from .recall import Column, Look

if TYPE_CHECKING:
    from ..adapters.step import Bound

Formula = Callable[..., Any]


@dataclass(frozen=True)
class Part:
    """A pure function on batched values, for numpy arrays and torch tensors.

    Args:
        name: The name of the connector, piece or adapter step.
        formula: `(value, *constants) -> value`; with a memory `(value, memory, is_first,
            *constants) -> (value, memory)`.
        constants: Arrays that a tensor module holds as buffers.
        memory: What one slot remembers at first, if the part remembers.
        columns: What of the past must be remembered for it.
        looks: How it sees those columns: `(value, past, *constants) -> value`, the past by the
            names of the looks.
        arrays: The formula with its constants for numpy alone, where it has a quicker form.

    Example:
        >>> part = Part("Double", lambda value, factor: value * factor, (np.array(2.0),))
        >>> part.formula(np.array([1.0, 3.0]), *part.constants)
        array([2., 6.])
    """

    name: str
    formula: Formula
    constants: tuple[Array, ...] = ()
    memory: Array | None = None
    columns: tuple[Column, ...] = ()
    looks: tuple[Look, ...] = ()
    arrays: Callable[[Any], Any] | None = None

    @classmethod
    def of(cls, name: str, bound: Bound) -> Part:
        """An adapter's step as a part."""
        return cls(name, bound.formula, bound.constants, bound.memory, arrays=bound.arrays)


@dataclass(frozen=True)
class Contribution:
    """What one connector contributes to a policy's step, so that it can run without records.

    Args:
        obs: What it does to observations.
        reward: What it does to rewards.
        action: Its transformation of actions.
        agents: The policy's names for renamed agents.
        beside: Columns that it adds to the observation.
        forgets: Those of them that contain zeros instead of previous values.
        columns: Columns to remember.
        looks: Inputs of the network in addition to the observation; None if unspecified.
        missing: Its operations without a batched form, which prevent planning.
    """

    obs: tuple[Part, ...] = ()
    reward: tuple[Part, ...] = ()
    action: tuple[Part, ...] = ()
    agents: Mapping[Any, Any] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    forgets: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    looks: tuple[Look, ...] | None = None
    missing: tuple[str, ...] = ()


NOTHING: Final = Contribution()
"""Of what changes no number."""


def moves_numbers(connector: Any) -> Contribution:
    """The `part` of a connector that moves numbers and changes none."""
    return NOTHING


def moves_only(connector: Any) -> bool:
    """Return True if the connector's own class declares that it changes no values."""
    return vars(type(connector)).get("part") is moves_numbers


def says_its_part(connector: Any) -> bool:
    """True if the connector's own class has a `part()`.

    One that is inherited counts for nothing, since a subclass may do anything else.
    """
    return "part" in vars(type(connector))


def contribution_of(connector: Any) -> Contribution | None:
    """The contribution of a connector to a step; None where only the connector knows it."""
    if not says_its_part(connector):
        return None
    contribution: Contribution | None = connector.part()
    return contribution


def filter_part(name: str, filters: Nest) -> Part | None:
    """A filter with fixed statistics: a `FrozenFilter`, or a nest of them and None.

    None where no leaf is filtered.
    """
    leaves = [leaf for leaf in nest.flatten(filters) if leaf is not None]
    if not leaves:
        return None
    constants: list[Array] = []
    places: list[tuple[int | None, int | None]] = []
    for leaf in leaves:
        place = []
        for number in (leaf.mean, leaf.denominator):
            place.append(None if number is None else len(constants))
            constants += [] if number is None else [np.asarray(number)]
        places.append((place[0], place[1]))

    if nest.is_leaf(filters):
        only: FrozenFilter = filters
        (mean_at, deviation_at) = places[0]

        def one(value: Any, *numbers: Any) -> Any:
            mean = None if mean_at is None else numbers[mean_at]
            deviation = None if deviation_at is None else numbers[deviation_at]
            return FrozenFilter(mean, deviation, only.clip)(value)

        return Part(name, one, tuple(constants))

    def each(value: Any, *numbers: Any) -> Any:
        order = iter(places)

        def changed(frozen: FrozenFilter | None, leaf: Any) -> Any:
            if frozen is None:
                return leaf
            mean_at, deviation_at = next(order)
            mean = None if mean_at is None else numbers[mean_at]
            deviation = None if deviation_at is None else numbers[deviation_at]
            return FrozenFilter(mean, deviation, frozen.clip)(leaf)

        return nest.map_structure_up_to(filters, changed, filters, value)

    return Part(name, each, tuple(constants))


def action_part(name: str, plan: ActionPlan, method: str) -> Part:
    """`unsquash` or `clip` of an action plan, its bounds as constants."""
    leaves = [leaf for leaf in nest.flatten(plan.bounds) if leaf is not None]
    constants: list[Array] = []
    for leaf in leaves:
        constants += [leaf.low, leaf.high] + ([] if leaf.half is None else [leaf.half])

    def formula(action: Any, *numbers: Any) -> Any:
        if not xp.is_tensor(nest.a_leaf(action)):
            return getattr(plan, method)(action)
        rest = iter(numbers)

        def changed(bounds: ActionBounds | None, leaf: Any) -> Any:
            if bounds is None:
                return leaf
            low, high = next(rest), next(rest)
            half = None if bounds.half is None else next(rest)
            with_constants = ActionBounds(low, high, half, bounds.one, bounds.is_offset)
            return getattr(with_constants, method)(leaf)

        return nest.map_structure(changed, plan.bounds, action)

    if nest.is_leaf(plan.bounds):
        quick = getattr(plan.bounds, method)

        def plain(action: Any, *numbers: Any) -> Any:
            return quick(action) if isinstance(action, np.ndarray) else formula(action, *numbers)

        return Part(name, plain, tuple(constants))
    return Part(name, formula, tuple(constants))
