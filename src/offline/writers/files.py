"""Data written file by file: what is written stays, and is not made again after an interruption."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from ...core.errors import ConfigError
from ...core.vault.own.atomic import replaced_file

_T = TypeVar("_T")

MARK: Final = ".unfinished"
"""Lies in a folder until all of it is written, and says what it is made of."""

Progress = Callable[[int], None]
"""Told how many steps more were written."""


class Folder:
    """A folder that is filled file by file, and goes on where it was interrupted.

    It has to be new, empty, or left unfinished by the same `source`, which is data that JSON can
    hold.
    """

    def __init__(self, path: Path, source: Any) -> None:
        self.path = path
        self._mark = path / MARK
        told = json.dumps(source, sort_keys=True)
        if os.path.isfile(self._mark):
            if self._mark.read_text(encoding="utf-8") != told:
                raise ConfigError(
                    f"{path} was begun from other data",
                    hint="name another folder, or remove this one.",
                )
        elif os.path.exists(path) and (not os.path.isdir(path) or any(path.iterdir())):
            raise ConfigError(f"{path} is there already", hint="name a new folder.")
        else:
            path.mkdir(parents=True, exist_ok=True)
            with replaced_file(self._mark) as staged:
                staged.write_text(told, encoding="utf-8")

    def fill(
        self,
        name: str,
        items: Iterable[_T],
        write: Callable[[Path, list[_T]], Any],
        count: Callable[[Path], int],
        steps: Callable[[_T], int],
        most: int,
        progress: Progress | None,
    ) -> None:
        """Write items into files of up to `most` steps.

        `items` come in the same order each time; `name` has a place for the number of a file, of
        which `write` writes all items or none, `count` tells how many a written one has.
        """
        number, done = 0, 0
        while (file := self.path / name.format(number)).is_file():
            done += count(file)
            number += 1
        rest = iter(items)
        for item in islice(rest, done):
            if progress is not None:
                progress(steps(item))
        for part in _parts(rest, steps, most):
            write(self.path / name.format(number), part)
            number += 1
            if progress is not None:
                progress(sum(map(steps, part)))

    def finish(self) -> None:
        """Say that all is written."""
        self._mark.unlink(missing_ok=True)


def _parts(items: Iterator[_T], steps: Callable[[_T], int], most: int) -> Iterator[list[_T]]:
    part: list[_T] = []
    total = 0
    for item in items:
        count = steps(item)
        if part and total + count > most:
            yield part
            part, total = [], 0
        part.append(item)
        total += count
    if part:
        yield part
