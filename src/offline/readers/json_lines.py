"""Files of JSON lines: one line, one batch or one step, each standing by itself.

A line is read within bounds of its own, so memory is that of the longest one. What cannot be read
costs itself only: a cut last line, noise, a text that is no UTF-8, a column whose bytes flipped.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, TypeVar

from ...core.data.budget import Budget, Limits, corrupt, one_load
from ...core.data.damage import at
from ...core.errors import CheckpointError, LimitExceededError, RlconnectError
from ...core.vault.files.json_text import check_text
from ..damaged import Damage
from .places import Place

try:
    import orjson

    _quick_loads: Callable[[bytes], Any] = orjson.loads
except ImportError:
    _quick_loads = json.loads

_T = TypeVar("_T")
_MEMBER: Final = re.compile(rb'\s*([{,])\s*"([^"]*)"\s*:\s*(["\[])')


def read_lines(
    place: Place,
    limits: Limits,
    damage: Damage,
    make: Callable[[dict[str, Any], Budget], _T],
    wanted: Collection[bytes] = (),
) -> Iterator[tuple[int, _T]]:
    """What `make` makes of each line that can be read, with its number from 1.

    Args:
        place: The file.
        limits: Bounds for one line.
        damage: Told of each line that cannot be read.
        make: Takes the object of one line and the budget for what it unfolds to.
        wanted: Which members of the object are needed; others may be passed over unread.
    """
    number = 0
    try:
        with place.open() as file:
            while line := file.readline(limits.max_json_bytes + 1):
                number += 1
                if len(line) > limits.max_json_bytes and not line.endswith(b"\n"):
                    raise LimitExceededError(
                        "this line and what follows it is not read",
                        expected=f"at most {limits.max_json_bytes:,} bytes a line",
                        hint="pass larger limits=Limits(max_json_bytes=...).",
                    )
                if line.isspace():
                    continue
                try:
                    made = _one_line(line, limits, make, wanted)
                except RlconnectError as error:
                    damage.note(place.name, number, error)
                    continue
                yield number, made
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        damage.note(place.name, number + 1, CheckpointError(f"it cannot be read on: {error}"))
    except LimitExceededError as error:
        damage.note(place.name, number, error)


def _one_line(
    line: bytes,
    limits: Limits,
    make: Callable[[dict[str, Any], Budget], _T],
    wanted: Collection[bytes],
) -> _T:
    with one_load(limits) as budget, at():
        budget.admit(len(line))
        text = with_members(line, wanted) if wanted else line
        value = parsed(text, budget, "this line")
        if not isinstance(value, dict):
            raise corrupt("this is no batch", expected="a JSON object", found=value)
        return make(value, budget)


def with_members(text: bytes, wanted: Collection[bytes]) -> bytes:
    r"""An object's text without its other members, if it is plainly made of texts and lists.

    Example:
        >>> with_members(b'{"a": [1, [2]], "b": "c", "d": [], "e": [4]}\n', [b"b", b"e"])
        b'{"b": "c","e": [4]}'
        >>> with_members(b'{"a": [{"b": 1}], "b": [2]}', [b"b"])
        b'{"a": [{"b": 1}], "b": [2]}'
    """
    if b"\\" in text:
        return text
    kept: list[bytes] = []
    stop, mark = 0, b"{"
    while (member := _MEMBER.match(text, stop)) and member[1] == mark:
        begin = member.end() - 1
        if member[3] == b'"':
            stop = text.find(b'"', begin + 1) + 1
        else:  # up to the last bracket before the next text, which is to be the next name
            after = text.find(b'"', begin)
            stop = text.rfind(b"]", begin, after if after >= 0 else len(text)) + 1
        if not stop:
            return text
        if member[2] in wanted:
            kept.append(text[member.start(2) - 1 : stop])
        mark = b","
    return b"{%b}" % b",".join(kept) if text[stop:].strip() == b"}" else text


def parsed(text: bytes, budget: Budget, name: str) -> Any:
    """The value of a text of JSON; numbers may be infinite, as Python writes them.

    Raises:
        CorruptCheckpointError: It is none.
        LimitExceededError: It unfolds to more than the budget.
    """
    check_text(text, name, budget)
    try:
        return _quick_loads(text)
    except ValueError:
        pass  # numbers that are not finite, or damage that the other one tells of
    try:
        return json.loads(text.decode())
    except UnicodeDecodeError as error:
        raise corrupt(f"{name} is no UTF-8 text", found=f"byte {error.start:,}") from None
    except ValueError as error:
        raise corrupt(f"{name} is no JSON", found=str(error)[:80]) from None
