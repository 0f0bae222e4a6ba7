"""A straight-line program over batched values, numpy arrays and torch tensors alike.

Registers hold one array a batch, `(B, *shape)`; constants are arrays without a batch axis. Where a
value lies is known when the program is written down, so that a step does nothing but compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...core import array_namespace as xp
from ...core import nest
from ...core.errors import SpaceError
from ...core.types import Array, Nest

MOST_STEPS: Final = 500
KINDS: Final = frozenset(
    ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
)
"""The dtypes that numpy and torch share."""


class Untraceable(Exception):
    """Why a function has no formula; its text ends the sentence "this function ..."."""


@dataclass(frozen=True)
class Operand:
    """What a step takes: a register, in a shape and dtype, or a constant.

    Args:
        at: The register's number; None of a constant.
        shape: Of one item.
        dtype: To compute in.
        constant: The constant, in that dtype.
    """

    at: int | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    constant: Array | None = None

    @classmethod
    def of(cls, value: Any, dtype: Any) -> Operand:
        """A constant in a dtype."""
        array = np.asarray(value).astype(shared(np.dtype(dtype)))
        return cls(None, array.shape, array.dtype, array)


@dataclass(frozen=True)
class _Step:
    call: Callable[..., Any]
    operands: tuple[Operand, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Tape:
    """What is recorded while a function runs.

    What goes in are `items`: a nest of arrays and numbers.
    """

    def __init__(self, items: Nest) -> None:
        self._inputs = [np.asarray(leaf) for leaf in nest.flatten(items)]
        self._steps: list[_Step] = []
        for leaf in self._inputs:
            shared(leaf.dtype)

    def write(
        self,
        call: Callable[..., Any],
        operands: Sequence[Operand],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> int:
        """Write down a step; the number of the register that holds what it gives.

        `call` is `(rows, *values) -> value` over batches, of numpy or torch; shape and dtype are of
        one item of what it gives.
        """
        if len(self._steps) == MOST_STEPS:
            raise Untraceable(f"takes more than {MOST_STEPS} steps")
        self._steps.append(_Step(call, tuple(operands), shape, shared(dtype)))
        return len(self._inputs) + len(self._steps) - 1

    def formula(self, result: Nest) -> tuple[Callable[..., Nest], tuple[Array, ...]]:
        """What was recorded as `(values, *constants) -> values`, and the constants.

        `result` has numbers of registers in the form of what comes out.
        """
        inputs, outputs = self._inputs, nest.flatten(result)
        numbered = list(enumerate(self._steps, len(inputs)))
        needed = set(outputs)
        for at, step in reversed(numbered):
            if at in needed:
                needed.update(operand.at for operand in step.operands if operand.at is not None)
        steps = [(at, step) for at, step in numbered if at in needed]
        constants = tuple(
            operand.constant
            for _, step in steps
            for operand in step.operands
            if operand.constant is not None
        )
        is_plain = nest.is_leaf(result)

        def formula(values: Nest, *constants: Any) -> Nest:
            leaves = nest.flatten(values)
            registers = {
                at: xp.cast(_fit(leaf, operand.shape), operand.dtype)
                for at, (leaf, operand) in enumerate(zip(leaves, inputs, strict=True))
            }
            rows = registers[0].shape[0]
            rest = iter(constants)
            for at, step in steps:
                operands = [
                    next(rest)
                    if operand.at is None
                    else _shaped(registers[operand.at], operand, rows)
                    for operand in step.operands
                ]
                registers[at] = xp.cast(step.call(rows, *operands), step.dtype)
            results = [registers[at] for at in outputs]
            return results[0] if is_plain else nest.unflatten_as(result, results)

        return formula, constants


def shared(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype itself, once torch is known to have it, too."""
    if dtype.name not in KINDS:
        raise Untraceable(f"computes in {dtype.name}, which tensors do not have")
    return dtype


def _fit(leaf: Any, shape: tuple[int, ...]) -> Any:
    if tuple(leaf.shape[1:]) != shape:
        raise SpaceError(
            "this value is not what the function was traced with",
            expected=f"shape (batch, {', '.join(map(str, shape))})",
            found=f"shape {tuple(leaf.shape)}",
            hint="compile_actor(actor, observation_space=...) traces for another space.",
        )
    return leaf


def _shaped(value: Any, operand: Operand, rows: int) -> Any:
    value = xp.cast(value, operand.dtype)
    fits = tuple(value.shape[1:]) == operand.shape
    return value if fits else value.reshape((rows, *operand.shape))


_TORCH: Final = {
    "equal": "eq",
    "power": "pow",
    "rint": "round",
    "invert": "bitwise_not",
    "degrees": "rad2deg",
    "radians": "deg2rad",
}


def elementwise(name: str) -> Callable[..., Any]:
    """A function of numpy's name, element by element, as a step's call."""

    def call(rows: int, *values: Any) -> Any:
        space = xp.namespace(values[0])
        return getattr(space, name if space is np else _TORCH.get(name, name))(*values)

    return call


def along_last(name: str) -> Callable[..., Any]:
    """A function along the last axis, such as a sum, as a step's call."""

    def call(rows: int, value: Any) -> Any:
        return getattr(xp.namespace(value), name)(value, -1)

    return call


def moving(shape: tuple[int, ...], place: slice | None, *, has_index: bool) -> Callable[..., Any]:
    """Elements of flat values laid side by side, as a step's call.

    They are those at `place` if they are neighbours; with `has_index` the last operand says which.
    """

    def call(rows: int, *values: Any) -> Any:
        pieces = values[:-1] if has_index else values
        space = xp.namespace(pieces[0])
        flat = [
            piece if piece.ndim == 2 else space.broadcast_to(piece, (rows, *piece.shape))
            for piece in pieces
        ]
        pool = flat[0] if len(flat) == 1 else xp.concatenate(flat, 1)
        if has_index:
            pool = pool.take(values[-1], 1) if space is np else pool.index_select(1, values[-1])
        elif place is not None:
            pool = pool[:, place]
        return pool.reshape((rows, *shape))

    return call
