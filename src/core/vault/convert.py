"""A copy of any checkpoint in our own format: no pickle in it, every array bit for bit.

Policies of the old stack become one checkpoint of ours. A folder of the new stack keeps its
layout, each pickle or msgpack file of it as a folder `<name>.rlconnect`, so that whatever opens the
one opens the other. The copy is read back and compared before it is put in place.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import CheckpointWriteError, MissingPartError, UnknownNameError
from ..text.shell import command
from . import file_names
from .audit.files import with_audit
from .audit.wrappings import HEAD, bytes_in_text, starts_pickle
from .chosen import chosen
from .decode.load_limits import limits_in_force
from .decoding import Decoding
from .files.archives import write_zip
from .files.places import named, on_disk
from .files.reading import part_of, read_bytes
from .layout import locate
from .opening import of_newest, open_checkpoint
from .own.atomic import make_parents, replaced_file, replaced_folder
from .own.document import encode
from .own.own_format import read_folder
from .own.stand_ins import PlainStandIns, live_stand_ins
from .own.write_errors import refusals
from .own.writer import save_folder
from .readers.own_records import document_of, save_records
from .records.records import Checkpoint, Problem
from .save_manifest import KEY as SAVE_KEY

_TEXTS: Final = (file_names.MIGRATION_FILE, file_names.CERTIFICATE_FILE)
_MOST_NOTES: Final = 200
_PLAYER: Final = re.compile(r"player_[0-9]+")
_Notes = dict[tuple[str, str], Problem]
"""What is not kept, each once, by its place and what it is."""


@dataclass(frozen=True)
class Conversion:
    """The result of `convert`: names of policies or modules, and the size of the copy in bytes.

    `arrays` counts those that were compared, bit for bit; `not_kept` tells what the copy does not
    hold, with its place and why.
    """

    source: str
    out: str
    kind: str
    names: tuple[str, ...]
    arrays: int
    size: int
    not_kept: tuple[Problem, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def convert(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    policies: Iterable[str] | None = None,
) -> Conversion:
    """Write a copy of a checkpoint without a pickle in it; nothing of the checkpoint runs.

    Args:
        path: Any checkpoint, or a URL of one.
        out: The folder to make, or one `.zip`. It must not be there yet.
        policies: Only these policies or modules; all of them otherwise.

    Raises:
        CheckpointError: The checkpoint cannot be read, or holds no weights.
        CheckpointWriteError: Something lies at `out`, the disk refuses, or the copy differs.
        UnknownNameError: There is no policy or module of some name.
    """
    target = Path(os.path.abspath(out))
    _check_free(target)
    with on_disk(path, limits_in_force()) as source:
        return replace(_convert(source, target, policies), source=named(path))


def _convert(source: Path, target: Path, policies: Iterable[str] | None) -> Conversion:
    with _staged(target) as folder:
        if os.path.isfile(source / file_names.ACTOR_FILE):
            result = _write_players(source, folder, policies)
        else:
            result = of_newest(source, lambda checkpoint: _write(checkpoint, folder, policies))
        size = sum(file.stat().st_size for file in folder.rglob("*") if os.path.isfile(file))
    return replace(result, source=str(source), out=str(target), size=size)


def _write_players(source: Path, folder: Path, policies: Iterable[str] | None) -> Conversion:
    """An actor of several players: each by itself, and the file that says who plays whom."""
    players = sorted(p.name for p in source.iterdir() if _PLAYER.fullmatch(p.name))
    if not players:
        raise MissingPartError(
            f"{source} names players, but none of their folders is there",
            hint="copy the whole folder again from where it came from.",
        )
    if policies is not None:
        raise UnknownNameError(
            f"{source} is an actor of several players, which have folders instead of names",
            hint="convert all of them, or the folder of one: "
            + command("convert", source / players[0], "--out", f"{players[0]}.zip"),
        )
    folder.mkdir()
    _copy(source, file_names.ACTOR_FILE, folder)
    names: list[str] = []
    notes: list[Problem] = []
    arrays = 0
    for player in players:
        written = _write(part_of(source, player), folder / player, None)
        names += [f"{player}/{name}" for name in written.names]
        notes += [replace(note, where=f"{player}/{note.where}") for note in written.not_kept]
        arrays += written.arrays
    return Conversion("", "", "actor", tuple(names), arrays, 0, tuple(notes))


def _write(source: Path, folder: Path, policies: Iterable[str] | None) -> Conversion:
    """A copy of one checkpoint in a folder that is not there yet, read back and compared."""
    checkpoint = with_audit(open_checkpoint(source))
    chosen = _chosen(checkpoint, policies)
    notes: _Notes = {}
    count = 0
    if checkpoint.policies or checkpoint.stack == "rlconnect" or policies is not None:
        _write_records(chosen, folder, notes)
    else:
        count = _write_tree(source, folder, notes)
    for reference in checkpoint.foreign:
        _note(notes, reference.where, f"{reference.name}: code of its author; its name is kept")
    for call in checkpoint.unsafe:
        _note(notes, call.where, f"{call.name}({call.arguments}): {call.what}")
    copy = open_checkpoint(folder)
    count = max(count, _compare(chosen, copy))
    return Conversion("", "", copy.kind, tuple(chosen.acting), count, 0, tuple(notes.values()))


def _note(notes: _Notes, where: str, what: str) -> None:
    if len(notes) < _MOST_NOTES:
        notes.setdefault((where, what), Problem(where, what))


def _chosen(checkpoint: Checkpoint, policies: Iterable[str] | None) -> Checkpoint:
    acting = checkpoint.acting
    if not acting and not checkpoint.components:
        raise MissingPartError(
            f"{checkpoint.path} holds no policy or module to convert",
            hint=f"see what is left of it: {command('inspect', checkpoint.path)}",
        )
    if policies is None:
        return checkpoint
    names = chosen(acting, policies, checkpoint.path)
    return replace(
        checkpoint,
        policies={name: part for name, part in checkpoint.policies.items() if name in names},
        modules={name: part for name, part in checkpoint.modules.items() if name in names},
    )


@contextmanager
def _staged(target: Path) -> Iterator[Path]:
    """A folder to make and fill; in one step it becomes `target`, zipped where that asks for it."""
    with refusals(target):
        make_parents(target)
    if target.suffix.lower() == ".zip":
        with tempfile.TemporaryDirectory(prefix="rlconnect-") as place:
            folder, packed = Path(place, "copy"), Path(place, "copy.zip")
            yield folder
            write_zip(folder, packed)
            if not os.path.isfile(folder / file_names.ACTOR_FILE):
                open_checkpoint(packed)
            with replaced_file(target, before=lambda: _check_free(target)) as staged:
                shutil.copyfile(packed, staged)
        return
    with replaced_folder(target, check=lambda: _check_free(target)) as staged:
        room = Path(tempfile.mkdtemp(dir=staged))
        yield room / "copy"
        for entry in list((room / "copy").iterdir()):
            os.rename(entry, staged / entry.name)
        shutil.rmtree(room)


def _check_free(target: Path) -> None:
    if os.path.lexists(target):
        raise CheckpointWriteError(
            f"cannot write to {target}: something lies there",
            hint="choose a folder or .zip that is not there yet.",
        )


def _copy(source: Path, name: str, folder: Path, most: int | None = None) -> None:
    limits = limits_in_force()
    most = limits.max_json_bytes if most is None else most
    (folder / name).write_bytes(read_bytes(part_of(source, name), limits, most=most))


def _write_records(checkpoint: Checkpoint, folder: Path, notes: _Notes) -> None:
    save_records(folder, checkpoint, change=lambda data: _without_pickles(data, notes, ""))
    for part in checkpoint.components:
        if part.pieces or part.filters:
            _note(notes, part.path, "its pipeline is not kept where single modules are chosen")


def _without_pickles(value: Any, notes: _Notes, place: str) -> Any:
    """Plain data without the pickles in it: the running episodes of old files."""
    if isinstance(value, dict):
        return {key: _without_pickles(v, notes, f"{place}/{key}"[:200]) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_without_pickles(part, notes, place) for part in value)
    if isinstance(value, (bytes, str)):
        raw = bytes_in_text(value) if isinstance(value, str) else value
        if starts_pickle(raw[:HEAD]):
            _note(notes, place.lstrip("/"), "pickled bytes")
            return None
    return value


def write_without_pickles(source: Path, folder: Path) -> tuple[Problem, ...]:
    """Write a folder of the new stack into another one, its files as documents of ours.

    Each file is read back and compared. Gives what is not kept.
    """
    notes: _Notes = {}
    _write_tree(source, folder, notes)
    return tuple(notes.values())


def _write_tree(source: Path, folder: Path, notes: _Notes) -> int:
    decoding, count = Decoding(source, limits_in_force()), 0
    for node in locate(source, limits_in_force()).walk():
        place = folder / node.path.relative_to(source)
        place.mkdir(parents=True, exist_ok=True)
        if node.role == "own":
            _copy_own(node.path, place)
            continue
        names = {}
        files = {file_names.STATE_KEY: node.state_file, file_names.CLASS_KEY: node.class_file}
        for key, file in files.items():
            if file is not None:
                stem = file.name.partition(".")[0]
                count += _write_file(
                    decoding, file, place / f"{stem}{file_names.DOCUMENT_ENDING}", notes
                )
                names[key] = f"{stem}{file_names.DOCUMENT_ENDING}"
        if node.metadata_file:
            metadata = {**node.metadata, **names}
            metadata.pop(SAVE_KEY, None)  # which files another save wrote
            text = json.dumps(metadata, indent=1)
            (place / node.metadata_file).write_text(text, encoding="utf-8")
        for name in _TEXTS:
            if os.path.isfile(node.path / name):
                _copy(node.path, name, place)
        if os.path.isdir(node.path / file_names.SOURCE):
            (place / file_names.SOURCE).mkdir()
            _copy_own(node.path / file_names.SOURCE, place / file_names.SOURCE)
    return count


def _copy_own(source: Path, folder: Path) -> None:
    for name in (file_names.OWN_MANIFEST, *read_folder(source).files):
        _copy(source, name, folder, limits_in_force().max_file_bytes)


def _write_file(decoding: Decoding, file: Path, place: Path, notes: _Notes) -> int:
    """One file of a component as a document, read back and compared."""
    where = decoding.place(file)
    value = decoding.require(file, "component")
    plain = PlainStandIns(
        lambda inside, what: _note(notes, f"{where}: {inside}".rstrip(": "), what)
    ).plain(value)
    place.parent.mkdir(parents=True, exist_ok=True)
    save_folder(place, {"value": plain}, kind="component")
    again = PlainStandIns(lambda inside, what: None)
    back = again.plain(Decoding(place.parent, limits_in_force()).require(place, "component"))
    expected = again.plain(live_stand_ins(plain))
    if encode({"value": back}) != encode({"value": expected}):
        raise CheckpointWriteError(f"the copy of {where} differs from it; nothing was written")
    return sum(1 for _ in _arrays(plain))


def _compare(source: Checkpoint, copy: Checkpoint) -> int:
    """Refuse a copy if one of its arrays differs; return how many were compared."""
    before, after = (dict(_arrays(document_of(each))) for each in (source, copy))
    lost = [name for name, array in before.items() if not _is_same(array, after.get(name))]
    if lost or not set(source.acting) <= set(copy.acting):
        raise CheckpointWriteError(
            f"the copy differs from {source.path} in {', '.join(lost[:3]) or 'its policies'}; "
            "nothing was written"
        )
    return len(before)


def _arrays(value: Any, place: str = "") -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _arrays(part, f"{place}/{key}")
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _arrays(part, f"{place}/{index}")
    elif isinstance(value, np.ndarray):
        yield place, value


def _is_same(one: np.ndarray[Any, Any], other: Any) -> bool:
    return (
        isinstance(other, np.ndarray)
        and one.shape == other.shape
        and one.dtype == other.dtype
        and one.tobytes() == other.tobytes()
    )
