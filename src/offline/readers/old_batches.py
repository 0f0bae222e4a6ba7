"""One line of the old stack as a batch: columns as lists, nested lists, or packed texts.

The kinds of numbers are those of JSON: floats are float64, as RLlib reads them; packed columns
keep theirs. A column of a Tuple space lies there as a list of its parts, each with all rows.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

import numpy as np

from ...core.data.budget import Budget, checked_int, corrupt
from ...core.data.damage import at
from ...core.errors import CorruptCheckpointError, RlconnectError
from ...core.types import Array
from ...legacy.batches.batch_columns import arrays_of, is_per_sequence
from ...legacy.batches.multi_agent_batch import MultiAgentBatch
from ...legacy.batches.sample_batch import SampleBatch
from .packed import unpack

INFOS: Final = ("infos", "new_infos")
SINGLE: Final = "SampleBatch"
MULTI: Final = "MultiAgentBatch"
_ONE_NUMBER_A_ROW: Final = ("rewards", "dones", "terminateds", "eps_id", "t", "actions")
_NUMBERS_ALONE: Final = frozenset(
    {"rewards", "dones", "terminateds", "truncateds", "eps_id", "agent_index", "t"}
)
_NEEDED: Final = _NUMBERS_ALONE | {"obs", "new_obs", "actions", "type"}
"""Columns without which a line cannot be used; all others are side columns."""
_WHOLE: Final = frozenset({"eps_id", "agent_index", "t"})
_BEYOND: Final = 2.0**63
_CODES: Final = {float: "d", int: "q"}
_NUMBERS: Final = frozenset({int, float, bool})


def is_batch(record: Mapping[str, Any]) -> bool:
    """Whether the object of a line is a batch of the old stack."""
    return record.get("type") in (SINGLE, MULTI)


def batch_of(
    record: Mapping[str, Any], budget: Budget, left_out: list[RlconnectError] | None = None
) -> SampleBatch | MultiAgentBatch:
    """Return the batch of a line.

    Args:
        record: The line.
        budget: What it may take.
        left_out: Collects an error for each side column that cannot be read and is left out; if
            None, such a column is an error.
    """
    kind = record.get("type")
    if kind == MULTI:
        parts = record.get("policy_batches")
        if not isinstance(parts, Mapping):
            raise corrupt("this batch has no policy_batches", expected="an object", found=parts)
        batches = {}
        for policy, columns in parts.items():
            with at(policy):
                if columns is not None:  # of a table: this row has no such policy
                    batches[policy] = _sample_batch(columns, budget, left_out)
        return MultiAgentBatch(batches, checked_int(record.get("count"), "the count of steps"))
    if kind != SINGLE:
        expected = f"a type of {SINGLE} or {MULTI}"
        raise corrupt("this is no batch", expected=expected, found=kind)
    return _sample_batch(record, budget, left_out, "type")


def _sample_batch(
    record: Any, budget: Budget, left_out: list[RlconnectError] | None = None, kind: str = ""
) -> SampleBatch:
    """A batch of columns, of which `kind` is none; they are looked at one after the other."""
    if not isinstance(record, Mapping):
        raise corrupt("this batch has no columns", expected="an object", found=record)
    rows = _rows(record)
    columns: dict[str, Any] = {}
    for name, value in record.items():
        if value is None or name == kind:
            continue
        if name in ("type", "count") and not isinstance(value, (list, str)):
            continue
        try:
            with at(name):
                column = _column(value, rows, budget, name)
                columns[name] = list(column) if name in INFOS else column
        except CorruptCheckpointError as error:
            if left_out is None or name in _NEEDED:
                raise
            left_out.append(error)
    rows = _checked_rows(columns)
    for name in _NUMBERS_ALONE & set(columns):
        if np.shape(columns[name]) != (rows,):
            raise corrupt(f"column {name!r} has no one number a row")
    for name in _WHOLE & set(columns):
        if columns[name].dtype.kind == "f" and not (np.abs(columns[name]) < _BEYOND).all():
            raise corrupt(f"column {name!r} holds what is no step and no number")
    if "dones" in columns and "terminateds" not in columns:
        columns["terminateds"] = columns.pop("dones")
    return SampleBatch.of(columns)


def _rows(record: Mapping[str, Any]) -> int | None:
    """How many rows there are, by the first column that says so before it is decoded."""
    columns = map(record.get, _ONE_NUMBER_A_ROW)
    return next((len(column) for column in columns if isinstance(column, list)), None)


def _column(value: Any, rows: int | None, budget: Budget, name: str) -> Any:
    if isinstance(value, list):
        if name in INFOS:
            return value
        if len(value) != rows and rows is not None and all(_has_rows(part, rows) for part in value):
            return tuple(_column(part, rows, budget, f"{name}.{i}") for i, part in enumerate(value))
        return array_of(value, budget, name)
    if isinstance(value, str):
        return _unpacked(unpack(value, budget, f"column {name!r}"), name)
    if isinstance(value, Mapping):
        return {key: _column(part, rows, budget, f"{name}.{key}") for key, part in value.items()}
    raise corrupt(f"column {name!r} is none", expected="a list or a text", found=value)


def _has_rows(part: Any, rows: int) -> bool:
    if isinstance(part, Mapping):
        return all(_has_rows(each, rows) for each in part.values())
    return isinstance(part, list) and len(part) == rows


def array_of(value: list[Any], budget: Budget, name: str) -> Array:
    """A list of equally built lists of numbers as one array; null counts as not a number."""
    array = _quick_array(value)
    if array is not None:
        return array
    kinds: set[type] = set()
    _collect_kinds(value, kinds)
    if dict in kinds and name == "prev_actions":  # see _of_flat_rows
        value = [_flat(row) for row in value]
        kinds.clear()
        _collect_kinds(value, kinds)
    if str in kinds and kinds <= {str}:
        longest = _longest(value)
        budget.spend(4 * longest * _count(value), f"column {name!r}")
    elif type(None) in kinds and kinds <= _NUMBERS | {type(None)}:
        return np.array(value, np.float64)
    elif not kinds <= _NUMBERS:
        raise corrupt(f"column {name!r} holds no numbers", found=sorted(k.__name__ for k in kinds))
    try:
        array = np.array(value)
    except ValueError:
        array = _of_flat_rows(value, name)
    return array.astype(np.float64) if array.dtype.hasobject else array  # beyond 64 bits


def _quick_array(value: list[Any]) -> Array | None:
    """Lists of lists, each level as long as the others, of numbers that go together; else None."""
    shape = [len(value)]
    while value and type(value[0]) is list:
        if set(map(type, value)) != {list} or len(widths := set(map(len, value))) != 1:
            return None
        shape += widths
        value = list(chain.from_iterable(value))
    kind = type(value[0]) if value else None
    if kind is bool and set(map(type, value)) == {bool}:
        return np.frombuffer(bytearray(value), np.bool_).reshape(shape)
    if kind not in _CODES:
        return None
    array = np.empty(shape, _CODES[kind])
    try:  # which takes texts, null and lists for no numbers, and fractions for no integers
        struct.pack_into(f"{len(value)}{_CODES[kind]}", array.data, 0, *value)
    except (struct.error, OverflowError):
        return None
    return array


def _of_flat_rows(value: list[Any], name: str) -> Array:
    """Rows that are nested differently and hold as many numbers.

    The previous action of an episode's first step is written in the parts of its Dict or Tuple
    space, all others flat.
    """
    rows = [_flat(row) for row in value]
    if len({len(row) for row in rows}) != 1:
        raise corrupt(f"the rows of column {name!r} differ in shape")
    return np.array(rows)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):  # in the order of its keys, as RLlib flattens actions
        value = [value[key] for key in sorted(value)]
    return [v for part in value for v in _flat(part)] if isinstance(value, list) else [value]


def _collect_kinds(value: list[Any], kinds: set[type]) -> None:
    kinds_here = set(map(type, value))
    if list in kinds_here:
        for part in value:
            if type(part) is list:
                _collect_kinds(part, kinds)
        kinds_here.discard(list)
    kinds |= kinds_here


def _longest(value: list[Any]) -> int:
    return max((len(v) if isinstance(v, str) else _longest(v) for v in value), default=0)


def _count(value: list[Any]) -> int:
    return sum(1 if isinstance(v, str) else _count(v) for v in value)


def _unpacked(value: Any, name: str) -> Any:
    """A packed column: an array, or dicts and tuples of arrays."""
    if isinstance(value, dict):
        return {str(key): _unpacked(part, name) for key, part in value.items()}
    if isinstance(value, (tuple, list)) and name not in INFOS:
        return tuple(_unpacked(part, name) for part in value)
    if isinstance(value, list):
        return value
    if not isinstance(value, np.ndarray) or not value.ndim:
        raise corrupt(f"packed column {name!r} is no array", found=type(value).__name__)
    if name in INFOS:
        return value.tolist()
    if value.dtype.hasobject and not all(isinstance(item, np.ndarray) for item in value.flat):
        raise corrupt(f"packed column {name!r} holds no numbers")
    return value


def _checked_rows(columns: Mapping[str, Any]) -> int:
    """How many rows all columns have; those with an entry for each sequence may have others."""
    names: dict[int, str] = {}
    for name, column in columns.items():
        if not is_per_sequence(name):
            for array in [column] if type(column) is np.ndarray else arrays_of(column):
                names.setdefault(len(array), name)
    if len(names) > 1:
        counts = ", ".join(f"{name!r} {rows:,}" for rows, name in names.items())
        raise corrupt("its columns have different numbers of rows", found=counts)
    if not names:
        raise corrupt("this batch has no columns")
    return next(iter(names))
