"""Decode the files of one checkpoint, and remember what they named and what went wrong.

One `Decoding` serves one `open_checkpoint` call. A file that cannot be decoded becomes a
`Problem` while others go on: what survives is always offered.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ..errors import CheckpointError, CorruptCheckpointError
from .audit.calls import unsafe_calls
from .decode.constructors import CONSTRUCTORS
from .decode.load_limits import Limits, one_load
from .decode.pickle_machine import PickleMachine, Trace
from .decode.standins import GlobalRef, Opaque
from .decode.torch_file import decode_torch
from .decode.walk import named_places
from .file_names import DOCUMENT_ENDING, ENCODINGS
from .files.other_files import HEAD, other_file_error
from .files.reading import PassingBytes, read_bytes, read_passing
from .records.records import (
    CallRecord,
    FileRecord,
    ForeignReference,
    Problem,
    ProblemKind,
    warn_of_unsafe,
)

# Modules whose names in a file are no news: they are what RLlib itself stands on.
_FAMILIAR: Final = frozenset(sys.stdlib_module_names) - {"__main__"} | {
    "ray",
    "rlconnect",
    "numpy",
    "gym",
    "gymnasium",
    "torch",
    "tensorflow",
    "keras",
    "packaging",
    "cloudpickle",
    "tree",
    "msgpack",
    "msgpack_numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "__builtin__",
    "copy_reg",
}
_MAX_FOREIGN: Final = 200


class Decoding:
    """Reads files of one checkpoint within limits.

    Places are told relative to `root`; `named` is the file that the caller named himself, which may
    be a link.
    """

    def __init__(self, root: Path, limits: Limits, named: Path | None = None) -> None:
        self.root = root
        self.named = named
        self.limits = limits
        with one_load(limits) as budget:
            self.budget = budget
        self.problems: list[Problem] = []
        self.skipped: list[str] = []
        self.files: dict[str, FileRecord] = {}
        self._foreign: dict[str, ForeignReference] = {}
        self._unsafe: dict[tuple[str, str], CallRecord] = {}
        self._decoded: dict[Path, Any] = {}  # a component's class file is asked for more than once

    def place(self, path: Path) -> str:
        """A path inside the checkpoint as people read it."""
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.name

    def problem(self, where: str, what: str, hint: str = "", kind: ProblemKind = "note") -> None:
        """Note what is missing or damaged, once."""
        new = Problem("" if where == "." else where, what, hint, kind)
        if new not in self.problems:
            self.problems.append(new)

    def attempt(self, path: Path | None, role: str, what: str) -> Any:
        """The decoded content of a file, or None with a problem noted."""
        if path is None:
            return None
        try:
            return self.decode(path, role)
        except CheckpointError as error:
            self.damage(path, error, what)
            return None

    def damage(self, path: Path, error: CheckpointError, what: str = "it") -> None:
        """Note that a file cannot be read."""
        self.problem(
            self.place(path), f"{what} cannot be read: {error.summary}", error.hint, "damaged"
        )

    def require(self, path: Path, role: str) -> Any:
        """The decoded content of a file that the description cannot do without."""
        try:
            return self.decode(path, role)
        except CheckpointError as error:
            place = self.place(path)
            if place in error.message:
                raise
            message = {"expected": error.expected, "found": error.found, "hint": error.hint}
            raise type(error)(f"{place}: {error.message}", **message, **error.facts) from None

    def load(self, path: Path, role: str) -> Any:
        """As `require`, with a warning where an ordinary unpickler would run programs."""
        value = self.require(path, role)
        warn_of_unsafe(self.unsafe)
        return value

    def decode(self, path: Path, role: str) -> Any:
        """The decoded content of a pickle, msgpack or torch file."""
        if path not in self._decoded and path.suffix == DOCUMENT_ENDING:
            self._decoded[path] = self._document(path, role)
        if path not in self._decoded:
            follow = path == self.named
            encoding = ENCODINGS.get(path.suffix, "pickle")
            read = read_passing if encoding == "pickle" else read_bytes
            data = read(path, self.limits, follow=follow, budget=self.budget)
            place = self.place(path)
            self.files[place] = FileRecord(place, len(data), role)
            head = bytes((data if isinstance(data, bytes) else data.data)[:HEAD])
            try:
                self._decoded[path] = self.decode_bytes(data, place, encoding)
            except CorruptCheckpointError as error:
                raise other_file_error(place, head) or error from None
        return self._decoded[path]

    def _document(self, path: Path, role: str) -> Any:
        """The data of a folder in our own format that replaces a pickle."""
        from .own.own_format import read_folder
        from .own.stand_ins import live_stand_ins

        saved = read_folder(path, limits=self.limits)
        place = self.place(path)
        size = sum(file.stat().st_size for file in path.iterdir() if os.path.isfile(file))
        self.files[place] = FileRecord(place, size, role)
        value = live_stand_ins(saved.document.get("value"))
        self.note_foreign(value, place)
        return value

    def decode_bytes(
        self, data: bytes | memoryview | PassingBytes, place: str, encoding: str
    ) -> Any:
        """The value in `data`, which lies at `place`."""
        budget, trace = self.budget, Trace()
        budget_left = budget.left

        def machine(
            content: bytes | memoryview, take_out: Callable[[int, int], bytes] | None = None
        ) -> PickleMachine:
            return PickleMachine(
                content, budget, constructors=CONSTRUCTORS, trace=trace, take_out=take_out
            )

        value = None
        try:
            if isinstance(data, PassingBytes):
                value = machine(data.data, data.take).load()
            elif encoding == "msgpack":
                from .decode.msgpack_file import array_in, decode_msgpack

                def look(pickled: bytes) -> None:
                    with suppress(CheckpointError):
                        machine(pickled).load()

                value = decode_msgpack(
                    data, budget, hook=lambda held: array_in(held, budget, on_pickle=look)
                )
            elif encoding == "torch":
                value = decode_torch(data, machine)
            else:
                value = machine(data).load()
        except CheckpointError:
            budget.left = budget_left  # what was made is gone; other files shall not lack it
            raise
        finally:  # what stands before the damage, an ordinary unpickler would have called
            for call in unsafe_calls(trace, value, place):
                self._unsafe.setdefault((call.name, call.how), call)
        self.skipped.extend(f"{place}: {why}" for why in trace.skipped)
        self.note_foreign(value, place, trace.references)
        return value

    def note_foreign(
        self, value: Any, place: str, references: Mapping[tuple[str, str], int] | None = None
    ) -> None:
        """Collect the user's own classes and functions that a value names, and where."""
        if references is not None and not any(map(_is_telling, references)):
            return
        for path, part in named_places(value):
            name = _foreign(part, f"{place}: {path}" if path else place)
            if name and name.name not in self._foreign and len(self._foreign) < _MAX_FOREIGN:
                self._foreign[name.name] = name

    @property
    def unsafe(self) -> tuple[CallRecord, ...]:
        """Calls that would run programs if an ordinary unpickler opened these files."""
        return tuple(self._unsafe.values())[:_MAX_FOREIGN]

    @property
    def foreign(self) -> tuple[ForeignReference, ...]:
        """The user's own classes and functions, in the order they were met."""
        return tuple(self._foreign.values())


def _is_telling(pair: tuple[str, str]) -> bool:
    return _is_foreign_module(pair[0]) or pair[1] in ("_make_function", "_make_skeleton_class")


def _is_foreign_module(module: str) -> bool:
    return bool(module) and module.partition(".")[0] not in _FAMILIAR


def _foreign(part: Any, where: str) -> ForeignReference | None:
    if isinstance(part, Opaque) and part.is_by_value:
        if not _is_foreign_module(part.by_value_name):
            return None
        kind = "function" if "func" in part.ref.name else "class"
        return ForeignReference(part.by_value_name, f"{kind} by value", where, _python_of(part))
    if isinstance(part, GlobalRef) and _is_foreign_module(part.module):
        return ForeignReference(part.path, "class or function", where)
    return None


def _python_of(function: Opaque) -> str:
    """Versions of Python whose code objects take as many arguments as this one was given."""
    code = function.args[0] if function.args else None
    count = len(code.args) if isinstance(code, Opaque) else 0
    return {15: "3.7 or older", 16: "3.8 to 3.10", 18: "3.11 or newer"}.get(count, "")
