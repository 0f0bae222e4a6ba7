"""Files of JSON lines: one line, one batch or one step, each standing by itself.

A line is read within bounds of its own, so memory is that of the longest one. What cannot be read
costs itself only: a cut last line, noise, a text that is no UTF-8, a column whose bytes flipped.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeVar

from ...core.data.budget import Budget, Limits, allow_more, corrupt, one_load
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
_LONG: Final = 1 << 20
_FACTOR: Final = 64
"""Bytes of lines for each byte of a packed file."""
_MEMBER: Final = re.compile(rb'\s*([{,])\s*"([^"]*)"\s*:\s*(["\[])')


def read_lines(
    place: Place,
    limits: Limits,
    damage: Damage,
    make: Callable[[Any, Budget], _T],
    wanted: Collection[bytes] | None = None,
) -> Iterator[tuple[int, _T]]:
    """What `make` makes of each line that can be read, with its number from 1.

    Members that are not `wanted` may be passed over unread; if it is empty, none is. `make` then
    gets a mapping, of a long line one that reads a member when it is asked for it; without
    `wanted` dicts alone.
    """
    number = blank_lines = 0
    try:
        with place.open() as file:
            disk_bytes = place.disk_bytes
            longest = limits.base_memory // 8 + 4 * disk_bytes
            bytes_left = limits.base_memory + _FACTOR * disk_bytes
            most = min(longest, limits.max_json_bytes)
            while line := file.readline(most + 1):
                number += 1
                bytes_left -= len(line)
                if bytes_left < 0 or (len(line) > most and not line.endswith(b"\n")):
                    raise LimitExceededError(
                        "this line and what follows it is not read",
                        expected=f"at most {most:,} bytes a line",
                        hint=allow_more("max_json_bytes" if most < longest else "base_memory"),
                    )
                if line.isspace():
                    blank_lines += 1
                    if blank_lines > limits.max_entries:
                        raise LimitExceededError(
                            f"more than {limits.max_entries:,} lines are empty",
                            hint=allow_more("max_entries"),
                        )
                    continue
                try:
                    made = _one_line(line, disk_bytes, limits, make, wanted)
                except RlconnectError as error:
                    damage.note(place.name, number, error)
                    continue
                line = b""  # so that the next one does not come on top of it
                yield number, made
                del made
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        damage.note(place.name, number + 1, CheckpointError(f"it cannot be read on: {error}"))
    except LimitExceededError as error:
        damage.note(place.name, number, error)


def text_among(found: Iterable[Place]) -> list[Place]:
    """The files of JSON, by their names."""
    return [place for place in found if place.suffix in (".json", ".jsonl", "")]


def first_lines(
    found: Iterable[Place],
    limits: Limits,
    make: Callable[[Any, Budget], _T],
    wanted: Collection[bytes] | None = None,
) -> Iterator[_T]:
    """What `make` makes of the first line of each file that can be read; see `read_lines`."""
    for place in found:
        for _, made in islice(read_lines(place, limits, Damage(), make, wanted), 1):
            yield made


def _one_line(
    line: bytes,
    disk_bytes: int,
    limits: Limits,
    make: Callable[[Any, Budget], _T],
    wanted: Collection[bytes] | None,
) -> _T:
    with one_load(limits) as budget, at():
        budget.admit(min(len(line), disk_bytes))
        is_long = len(line) > _LONG
        places = None if wanted is None or not (wanted or is_long) else members_of(line)
        if places is None:
            value = parsed(line, budget, "this line")
        else:
            if wanted:
                places = {name: place for name, place in places.items() if name in wanted}
            if is_long:
                check_text(line, "this line", budget)
                value = _Members(line, places)
            else:
                kept = (b'"%b":%b' % (name, line[place]) for name, place in places.items())
                value = parsed(b"{%b}" % b",".join(kept), budget, "this line")
        if not isinstance(value, Mapping):
            raise corrupt("this is no batch", expected="a JSON object", found=value)
        return make(value, budget)


class _Members(Mapping[str, Any]):
    """The object of a long line: a member takes memory while somebody looks at it."""

    def __init__(self, text: bytes, places: Mapping[bytes, slice]) -> None:
        self._text = text
        self._places = {name.decode(): place for name, place in places.items()}

    def __getitem__(self, name: str) -> Any:
        return _loaded(self._text[self._places[name]], "this line")

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def members_of(text: bytes) -> dict[bytes, slice] | None:
    r"""Where the values of an object's members stand, if all are plainly texts or lists.

    Example:
        >>> members_of(b'{"a": [1, [2]], "b": "c"}')
        {b'a': slice(6, 14, None), b'b': slice(21, 24, None)}
        >>> members_of(b'{"a": [{"b": 1}]}')
    """
    if b"\\" in text:
        return None
    places: dict[bytes, slice] = {}
    stop, mark = 0, b"{"
    while (member := _MEMBER.match(text, stop)) and member[1] == mark:
        begin = member.end() - 1
        if member[3] == b'"':
            stop = text.find(b'"', begin + 1) + 1
        else:  # up to the last bracket before the next text, which is to be the next name
            after = text.find(b'"', begin)
            stop = text.rfind(b"]", begin, after if after >= 0 else len(text)) + 1
        if not stop:
            return None
        places[member[2]] = slice(begin, stop)
        mark = b","
    return places if text[stop:].strip() == b"}" else None


def parsed(text: bytes, budget: Budget, name: str) -> Any:
    """The value of a text of JSON; numbers may be infinite, as Python writes them."""
    check_text(text, name, budget)
    return _loaded(text, name)


def _loaded(text: bytes, name: str) -> Any:
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
