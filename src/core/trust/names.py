"""Look up the names of a file; all unknown ones are told in one error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from ..errors import UnknownClassError
from ..importing.torch_needed import torch_needed
from ..vault.decode.standins import GlobalRef
from .words import NOTHING, PROCESS, Trust


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


_MOST_SHOWN: Final = 8
_LONGEST: Final = 200
_OWN_FACTS: Final = ("class_name", "missing", "kinds")


def find(name: str, slot: Slot, trust: Trust = NOTHING) -> Any:
    """The object for a file's name in a slot; None if it is unknown or does not fit.

    The caller's words count first, then our own table, then what `rlconnect.trust` was given.
    """
    if not name:
        return None
    for lookup in (trust.find, PROCESS.exactly, slot.table, PROCESS.find):
        answer = lookup(name)
        if answer is not None and slot.fits(answer):
            return answer
    return None


def resolve(name: str, slot: Slot, trust: Trust = NOTHING, call: str = "") -> Any:
    """The object for a file's name in a slot; an error if it is unknown or does not fit.

    `call` is what the caller called, for the error: "from_checkpoint".
    """
    names = Names(trust)
    answer = names.find(name, slot)
    names.check(call)
    return answer


class Names:
    """Looks up the names of one file, and remembers the unknown ones.

    `missing` has the names that nobody knows, and the slots they stand in.
    """

    def __init__(self, trust: Trust = NOTHING) -> None:
        self.trust = trust
        self.missing: dict[str, Slot] = {}

    def find(self, name: str, slot: Slot) -> Any:
        """The object for a name; an inert stand-in if it is unknown."""
        answer = find(name, slot, self.trust)
        if answer is None:
            self.missing.setdefault(name, slot)
            module, _, last = name.rpartition(".")
            return GlobalRef(module, last)
        return answer

    def check(self, call: str = "") -> None:
        """Raise an error for the unknown names, if any."""
        if self.missing:
            raise unknown(self.missing, call)


def unknown(
    missing: dict[str, Slot], call: str = "", *, what: str = "the checkpoint needs", **facts: Any
) -> UnknownClassError:
    """The error for unknown names, with the call that would let them in.

    `what` is how the message begins.
    """
    names = list(missing)
    shown = [f"{name[:_LONGEST]!r} ({missing[name].kind})" for name in names[:_MOST_SHOWN]]
    listed = ", ".join(shown)
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    registers = dict.fromkeys(slot.register for slot in missing.values() if slot.register)
    them = "it" if len(names) == 1 else "them"
    hint = f"pass {them}: {call or 'from_checkpoint'}(..., {words(names)})"
    return UnknownClassError(
        f"{what} {listed}{more}, which rlconnect does not have",
        hint=", or call ".join([hint, *registers, "rlconnect.trust(...) once"]) + ".",
        **{
            "class_name": names[0],
            "missing": names,
            "kinds": {name: missing[name].kind for name in names},
            **facts,
        },
    )


def words(names: Iterable[str]) -> str:
    """How a caller would let names in: `trust=[Mine]`."""
    first_names = list(names)[:_MOST_SHOWN]
    short = [name.rpartition(".")[2] for name in first_names]
    if all(each.isidentifier() for each in short) and len(set(short)) == len(short):
        return f"trust=[{', '.join(short)}]"
    return "trust={" + ", ".join(f"{name[:_LONGEST]!r}: ..." for name in first_names) + "}"


def together(*steps: Callable[[], Any]) -> list[Any]:
    """Do several things, and raise one error for all the names that they miss."""
    results: list[Any] = []
    failed: list[UnknownClassError] = []
    for step in steps:
        try:
            results.append(step())
        except UnknownClassError as error:
            failed.append(error)
    if failed:
        kinds = {name: kind for error in failed for name, kind in error.facts["kinds"].items()}
        slots = {name: Slot(kind) for name, kind in kinds.items() if name}
        if len(failed) == 1 or not slots:
            raise failed[0]
        others = {**failed[-1].facts, **failed[0].facts}
        rest = {key: fact for key, fact in others.items() if key not in _OWN_FACTS}
        raise unknown(slots, **rest) from failed[0]
    return results
