"""Files of JSON lines: one line, one batch or one step, each standing by itself.

A line is read within bounds of its own, so memory is that of the longest one. What cannot be read
costs itself only: a cut last line, noise, a text that is no UTF-8, a column whose bytes flipped.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

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


def read_lines(
    place: Place,
    limits: Limits,
    damage: Damage,
    make: Callable[[dict[str, Any], Budget], _T],
) -> Iterator[tuple[int, _T]]:
    """What `make` makes of each line that can be read, with its number from 1.

    Args:
        place: The file.
        limits: Bounds for one line.
        damage: Told of each line that cannot be read.
        make: Takes the object of one line and the budget for what it unfolds to.
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
                    made = _one_line(line, limits, make)
                except RlconnectError as error:
                    damage.note(place.name, number, error)
                    continue
                yield number, made
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        damage.note(place.name, number + 1, CheckpointError(f"it cannot be read on: {error}"))
    except LimitExceededError as error:
        damage.note(place.name, number, error)


def _one_line(line: bytes, limits: Limits, make: Callable[[dict[str, Any], Budget], _T]) -> _T:
    with one_load(limits) as budget, at():
        budget.admit(len(line))
        value = parsed(line, budget, "this line")
        if not isinstance(value, dict):
            raise corrupt("this is no batch", expected="a JSON object", found=value)
        return make(value, budget)


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
