"""JSON text that people can read and diff, and that strangers may send.

Writing puts one entry on a line, so that a change of one value changes one line; what is short
stays on one line. Reading refuses everything RFC 8259 leaves open: duplicate keys, NaN,
integers without end, nesting without end. `own_format` builds on both.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptCheckpointError, LimitExceededError
from ..decode.load_limits import Budget, Limits, allow_more, limits_in_force, one_load

Json = Any
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
WIDTH: Final = 96
TAG: Final = "$"
ESCAPED: Final = "$$"
_SCALARS: Final = (str, int, float, bool, type(None))
_MAX_DIGITS: Final = 20
_SHORT: Final = 1 << 12
_CHUNK: Final = 1 << 20
_MANY: Final = 1 << 18
_NO_MARKS: Final = bytes(set(range(256)) - set(b'[]{}",'))


def format_json(tree: Json) -> str:
    r"""Write `tree` as text: one entry a line, small lists on one line, newline at the end.

    Example:
        >>> print(format_json({"kind": "policy", "hiddens": [64, 64]}), end="")
        {
          "kind": "policy",
          "hiddens": [64, 64]
        }
    """
    return "\n".join(_lines(tree, "", is_row=False)) + "\n"


def compact(tree: Json) -> str:
    """Write `tree` on one line; equal trees give equal text."""
    return json.dumps(tree, ensure_ascii=False, allow_nan=False)


def is_tag(tree: Json) -> bool:
    """True if `tree` is an object whose first key is a tag such as `$tuple`."""
    if not isinstance(tree, dict) or not tree:
        return False
    first = next(iter(tree))
    return first.startswith(TAG) and not first.startswith(ESCAPED)


def _lines(tree: Json, head: str, *, is_row: bool) -> Iterator[str]:
    """The lines of one value, its first one after `head`, unindented below it."""
    if not isinstance(tree, (dict, list)) or not tree:
        yield head + compact(tree)
        return
    is_list = isinstance(tree, list)
    # One row of an array is one line however long: its numbers belong together.
    is_last_row = is_row and not any(isinstance(item, list) for item in tree)
    is_flat = is_list or is_tag(tree)
    if is_last_row or (is_flat and _short_size(tree, WIDTH - len(head)) is not None):
        yield head + compact(tree)
        return
    items = list(tree.items()) if isinstance(tree, dict) else [("", item) for item in tree]
    yield head + ("[" if is_list else "{")
    for index, (key, item) in enumerate(items):
        inner = "" if is_list else compact(key) + ": "
        waiting = ""
        for position, line in enumerate(
            _lines(item, inner, is_row=is_row if is_list else key == "$inline")
        ):
            if position:
                yield "  " + waiting
            waiting = line
        yield "  " + waiting + ("" if index == len(items) - 1 else ",")
    yield "]" if is_list else "}"


def _short_size(tree: Json, room: int) -> int | None:
    """The width of `tree` on one line, or None if it takes more than `room` or is structure."""
    if isinstance(tree, _SCALARS):
        size = len(compact(tree)) if not isinstance(tree, str) or len(tree) <= room else room + 1
        return size if size <= room else None
    if isinstance(tree, dict) and tree and not is_tag(tree):
        return None
    size = 2
    items = tree.values() if isinstance(tree, dict) else tree
    for item in items:
        part = _short_size(item, room - size)
        if part is None:
            return None
        size += part + 2
    if isinstance(tree, dict):
        size += sum(len(key) + 4 for key in tree)
    return size if size <= room else None


def parse_json(data: bytes, name: str, limits: Limits | None = None) -> Json:
    """Read JSON from untrusted bytes."""
    limits = limits or limits_in_force()
    if len(data) > limits.max_json_bytes:
        raise LimitExceededError(
            f"{name} is too long for a JSON file",
            expected=f"at most {limits.max_json_bytes:,} bytes",
            found=f"{len(data):,}",
            file=name,
        )
    measure(data, name, limits)

    def integer(text: str) -> int:
        if len(text) > _MAX_DIGITS:
            raise LimitExceededError(
                f"{name} holds an integer of {len(text):,} digits",
                expected=f"at most {_MAX_DIGITS}",
                file=name,
            )
        return int(text)

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise _corrupt(name, f"the number {text[:30]} is beyond a float")
        return value

    def constant(text: str) -> None:
        raise _corrupt(name, f"{text} is no JSON number")

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        table = dict(items)
        if len(table) != len(items):
            ((twice, _),) = Counter(key for key, _ in items).most_common(1)
            raise _corrupt(name, f"the key {twice[:60]!r} stands twice in one object")
        return table

    try:
        text = data.decode("utf-8")
        return json.loads(
            text,
            parse_int=integer,
            parse_float=number,
            parse_constant=constant,
            object_pairs_hook=pairs,
        )
    except UnicodeDecodeError as error:
        raise _corrupt(name, f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _corrupt(
            name, f"{error.msg.lower()} in line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise LimitExceededError(
            f"{name} is nested too deeply to read from here",
            hint="call from a shallower stack.",
            file=name,
        ) from None


def measure(data: bytes, name: str, limits: Limits) -> None:
    """Check depth, number of values and unfolded size against the load's budget before parsing."""
    with one_load(limits) as budget:
        budget.admit(len(data) - data.count(0))  # zeros are no JSON, but the holes of a file
        check_text(data, name, budget)


def check_text(data: bytes, name: str, budget: Budget) -> None:
    """Check a text against a budget that counts its bytes already; see `measure`."""
    limits = budget.limits
    budget.spend(len(data) if data.isascii() else 4 * len(data), name)
    if len(data) <= _SHORT:
        opened = data.count(b"[") + data.count(b"{")
        if opened <= limits.max_depth:
            # It cannot be nested deeper than it has brackets; letters in texts are counted as well.
            _charge(budget, opened, data.count(b'"') // 2, opened + data.count(b","), name)
            return
    quick = _quick_count(data, limits.max_depth)
    if quick is not None:
        _charge(budget, *quick, name)
        return
    depth, backslashes, is_inside = 0, 0, False
    for start in range(0, len(data), _CHUNK):
        text = np.frombuffer(data, np.uint8, min(_CHUNK, len(data) - start), start)
        escaped, backslashes = _escaped(text, backslashes)
        quotes = (text == ord('"')) & ~escaped
        inside = np.logical_xor.accumulate(quotes) ^ is_inside
        is_inside = bool(inside[-1])
        opens = ((text == ord("[")) | (text == ord("{"))) & ~inside
        closes = ((text == ord("]")) | (text == ord("}"))) & ~inside
        depths = depth + np.cumsum(opens.astype(np.int32) - closes)
        deepest, depth = int(depths.max()), int(depths[-1])
        if deepest > limits.max_depth:
            raise LimitExceededError(
                f"{name} is nested {deepest:,} deep",
                expected=f"at most {limits.max_depth}",
                hint=allow_more("max_depth"),
                file=name,
            )
        containers, texts = int(opens.sum()), int(quotes.sum()) // 2
        values = containers + int(((text == ord(",")) & ~inside).sum())
        _charge(budget, containers, texts, values, name)


def _quick_count(data: bytes, max_depth: int) -> tuple[int, int, int] | None:
    """How many containers, texts and values there are; None where only a closer look tells.

    Innermost pairs of brackets are taken out until none is left, two levels at most each time.
    """
    if b"\\" in data:
        return None
    marks = data.translate(None, _NO_MARKS)
    texts = marks.count(b'"')
    if texts > _MANY:
        return None
    if texts:
        marks = b"".join(marks.split(b'"')[::2])
    brackets = marks.translate(None, b",")
    containers = brackets.count(b"[") + brackets.count(b"{")
    values = containers + len(marks) - len(brackets)
    for _ in range(max_depth // 2):
        if not brackets:
            return containers, texts // 2, values
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return None


def _charge(budget: Budget, containers: int, texts: int, values: int, name: str) -> None:
    budget.work(values, name)
    # What CPython takes: a small container, a text, a number, each with its slot.
    budget.spend(containers * 96 + texts * 48 + values * 32, name)


def _escaped(text: Bytes, run: int) -> tuple[Flags, int]:
    """Which bytes an odd number of backslashes precedes; `run` of them stand before `text`.

    Also gives the number that `text` ends with, for the next part.
    """
    index = np.arange(len(text))
    others = np.maximum.accumulate(np.where(text == ord("\\"), -1 - run, index))
    before = np.concatenate([[-1 - run], others[:-1]])
    return (index - 1 - before) % 2 == 1, len(text) - 1 - int(others[-1])


def _corrupt(name: str, what: str) -> CorruptCheckpointError:
    return CorruptCheckpointError(
        f"{name} is no valid JSON: {what}.",
        hint="copy the checkpoint again from where it came from.",
        file=name,
    )
