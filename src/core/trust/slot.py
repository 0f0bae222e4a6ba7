"""A kind of place where a file may name a class or function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..importing.torch_needed import torch_needed


@dataclass(frozen=True)
class Slot:
    """A kind of place in a file, and the values allowed there.

    `table` gives what rlconnect itself has under a dotted name, None where it has nothing. `fits`
    says whether something may stand there at all, whoever gave it. `register` is the call that lets
    files name one for the whole process.
    """

    kind: str
    table: Callable[[str], Any] = lambda name: None
    fits: Callable[[Any], bool] = lambda thing: True
    register: str = ""


def by_path(homes: Mapping[str, str], package: str) -> Callable[[str], Any]:
    """A table of a package's own names, each loaded when a file first names it.

    `homes` has by the last part of a dotted name where it lives in the package, `.module` or
    `.module:Name`.
    """

    def fetch(name: str) -> Any:
        last = name.rpartition(".")[2]
        if last not in homes:
            return None
        module, _, own_name = homes[last].partition(":")
        with torch_needed(last):
            return getattr(import_module(module, package), own_name or last)

    return fetch
