"""Steps over numpy arrays with their constants laid out beforehand, a whole batch at a time.

numpy takes two long arrays of one shape several times as fast as it takes one constant row after
row. Layouts are kept for the last shapes that came; the formulas stay what they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from ..runtime.cache import LastFew
from ..types import Array

LARGEST: Final = 1 << 17
"""Constants are laid out up to that many numbers; beyond, reading them costs what they save."""


@dataclass(frozen=True)
class Selection:
    """Neighbouring places of the last axis, as a formula.

    Args:
        start: The first.
        stop: The one behind the last.
        width: How many places there are.

    Example:
        >>> Selection(1, 3, 4)(np.array([5.0, 6.0, 7.0, 8.0]))
        array([6., 7.])
    """

    start: int
    stop: int
    width: int

    @property
    def place(self) -> Any:
        """Those places as an index."""
        return ..., slice(self.start, self.stop)

    def __call__(self, value: Any) -> Any:
        """Those places, as a view."""
        return value[..., self.start : self.stop]

    def widened(self, constant: Array, neutral: float) -> Array:
        """A constant of the selected places for all of them; the others get a neutral number."""
        wide = np.full(self.width, neutral, constant.dtype)
        wide[self.start : self.stop] = constant
        return wide


class PerFeature:
    """An elementwise formula, its constants in the shape of the values they meet.

    `neutral` has for each constant a number that changes no value; it is empty if there is no such.

    Example:
        >>> double = PerFeature(lambda value, factor: value * factor, [np.array([2.0, 3.0])])
        >>> double(np.ones((2, 2)))
        array([[2., 3.],
               [2., 3.]])
    """

    def __init__(
        self, formula: Callable[..., Any], constants: Sequence[Array], neutral: Sequence[float] = ()
    ) -> None:
        self.formula, self.constants, self.neutral = formula, tuple(constants), tuple(neutral)
        self._laid = LastFew(lambda shape: [_laid_out(each, shape) for each in self.constants])

    def __call__(self, value: Array) -> Any:
        """The formula's value."""
        return self.formula(value, *self._laid[value.shape])

    def behind(self, selection: Selection) -> Callable[[Array], Any] | None:
        """A selection and then this, as this on all features and the selection after it.

        None where that gains nothing: most features are left out, or constants are no rows.
        """
        size = selection.stop - selection.start
        is_by_row = all(each.ndim < 2 for each in self.constants)
        if not (self.neutral and is_by_row and 2 * size >= selection.width):
            return None
        pairs = zip(self.constants, self.neutral, strict=True)
        wide_constants = [selection.widened(*pair) for pair in pairs]

        def layout(shape: tuple[int, ...]) -> list[Array]:
            fits = shape[-1:] == (selection.width,)
            return [_laid_out(each, shape) for each in wide_constants] if fits else []

        formula, place, last_few = self.formula, selection.place, LastFew(layout)

        def call(value: Array) -> Any:
            constants = last_few[value.shape]
            return formula(value, *constants)[place] if constants else self(value[place])

        return call


class ArrayStep(Protocol):
    """A step bound to its space, such as `Bound`."""

    @property
    def formula(self) -> Callable[..., Any]:
        """`(value, *constants) -> value`."""

    @property
    def constants(self) -> tuple[Array, ...]:
        """The arrays that it takes after the value."""

    @property
    def arrays(self) -> Callable[[Any], Any] | None:
        """The same for numpy alone, where there is a quicker form."""


def on_arrays(steps: Sequence[ArrayStep]) -> Callable[[Any], Any] | None:
    """Steps without memory as one function of arrays; None where there are none."""
    calls: list[Callable[[Any], Any]] = []
    for each in steps:
        call = _call_of(each)
        last = calls[-1] if calls else None
        joined = None
        if isinstance(last, Selection) and isinstance(call, PerFeature):
            joined = call.behind(last)
        calls[len(calls) - (joined is not None) :] = [call if joined is None else joined]
    if len(calls) < 2:
        return calls[0] if calls else None
    if len(calls) == 2:
        first, second = calls
        return lambda value: second(first(value))

    def run(value: Any) -> Any:
        for call in calls:
            value = call(value)
        return value

    return run


def _call_of(step: ArrayStep) -> Callable[[Any], Any]:
    if step.arrays is not None:
        return step.arrays
    formula, constants = step.formula, step.constants
    if not constants:
        return formula
    if len(constants) == 1:
        (only,) = constants
        return lambda value: formula(value, only)
    return lambda value: formula(value, *constants)


def _laid_out(constant: Array, shape: tuple[int, ...]) -> Array:
    fits = constant.size > 1 and shape[-constant.ndim :] == constant.shape
    size = math.prod(shape)
    if not fits or constant.shape == shape or size > LARGEST:
        return constant
    return np.ascontiguousarray(np.broadcast_to(constant, shape))
