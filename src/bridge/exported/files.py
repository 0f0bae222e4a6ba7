"""A program of a policy and its manifest, as two files side by side."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.files.reading import read_bytes
from ...core.vault.own.atomic import make_parents, replaced_file
from ...core.vault.own.flushing import flush_file
from ...core.vault.own.leftovers import removed
from ...core.vault.own.write_errors import refusal, refusals

_ENDINGS: Final = (".onnx", ".pt2")
MANIFEST_ENDING: Final = ".json"


def program_in(path: Path) -> Path | None:
    """An exported policy's file: the path itself, what its manifest is of, or the one in a folder.

    That is a `.onnx` or `.pt2` file, its `.json`, or a folder; others give None.
    """
    if os.path.isdir(path):
        try:
            manifests = [file for file in path.iterdir() if file.suffix == ".json"]
        except OSError:  # what reads the folder next says why
            return None
        programs = {_program_at(manifest) for manifest in manifests} - {None}
        return programs.pop() if len(programs) == 1 else None
    return _program_at(path)


def _program_at(path: Path) -> Path | None:
    file = path.with_name(path.name.removesuffix(".json"))
    is_one = file.suffix in _ENDINGS and os.path.isfile(file) and os.path.isfile(path)
    return file if is_one else None


def write_artifact(target: Path, data: bytes, manifest: str) -> None:
    """Write an artifact and its manifest; never does one lie beside another's.

    Both are on the disk before the older manifest goes and the two take their places.
    """
    beside = target.with_name(target.name + MANIFEST_ENDING)
    with refusals(target):
        make_parents(target)
        older = b""
        if os.path.isfile(beside):
            limits = limits_in_force()
            older = read_bytes(beside, limits, most=limits.max_json_bytes, follow=True)
    try:
        with replaced_file(beside) as described:
            described.write_text(manifest, encoding="utf-8")
            flush_file(described)
            with replaced_file(target, before=lambda: _make_room(beside)) as staged:
                staged.write_bytes(data)
            older = b""
    except BaseException:
        if older and not os.path.exists(beside):  # The artifact it is of is still there.
            with replaced_file(beside) as described:
                described.write_bytes(older)
        raise


def _make_room(beside: Path) -> None:
    removed(beside)
    if os.path.exists(beside):
        raise refusal(
            beside, "a program has the older one open", "close that program, or save elsewhere."
        )
