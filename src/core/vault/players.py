"""An actor of several players as one folder: each player's own, and who plays whom.

actor.json          the players' ids in order, who plays whom
player_0/, ...      each player as an actor of it alone is saved
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from ..errors import CorruptCheckpointError
from .chosen import chosen
from .file_names import ACTOR_FILE
from .files.reading import part_of
from .own.own_format import read_document
from .records.records import Checkpoint, ModuleRecord, PolicyRecord

FORMAT: Final = "rlconnect actor"
_Part = TypeVar("_Part")


def saved_players(
    path: str | os.PathLike[str], ids: Sequence[str] | None = None
) -> tuple[dict[str, Path], Mapping[str, Any]] | None:
    """The folders of an actor's players by id, and what it is itself; None of another folder."""
    file = Path(path) / ACTOR_FILE
    if not os.path.isfile(file):
        return None
    content = read_document(part_of(path, ACTOR_FILE))
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise CorruptCheckpointError(f"{file} is no saved actor", expected=repr(FORMAT))
    names = content.get("players")
    if not isinstance(names, list) or not names:
        raise CorruptCheckpointError(f"{file} names no players", found=repr(names)[:80])
    folders = {str(name): part_of(path, f"player_{at}") for at, name in enumerate(names)}
    return chosen(folders, ids or None, path, kind="player"), content


def read_players(root: Path, open_one: Callable[[Path], Checkpoint]) -> Checkpoint | None:
    """The checkpoints of an actor's players as one, parts by player; None of another folder."""
    saved = saved_players(root)
    if saved is None:
        return None
    folders, content = saved
    policies: dict[str, PolicyRecord] = {}
    modules: dict[str, ModuleRecord] = {}
    opened: list[Checkpoint] = []
    for name, folder in folders.items():
        player = _placed(open_one(folder), folder.name)
        opened.append(player)
        for policy in player.policies.values():
            policies[name] = policy
        for module in player.modules.values():
            modules[name] = module
    return replace(
        opened[0],
        path=str(root),
        kind="actor",
        is_ours=True,
        policies={name: replace(each, id=name) for name, each in policies.items()},
        modules={name: replace(each, id=name) for name, each in modules.items()},
        components=_joined(each.components for each in opened),
        problems=_joined(each.problems for each in opened),
        files=_joined(each.files for each in opened),
        foreign=_joined(each.foreign for each in opened),
        unsafe=_joined(each.unsafe for each in opened),
        skipped=_joined(each.skipped for each in opened),
        extra={"actor": content.get("actor", {})},
    )


def _placed(checkpoint: Checkpoint, folder: str) -> Checkpoint:
    """A player's checkpoint, its parts told by their places in the actor's folder."""

    def below(place: str) -> str:
        return f"{folder}/{place}".rstrip("/")

    return replace(
        checkpoint,
        components=tuple(replace(e, path=below(e.path)) for e in checkpoint.components),
        problems=tuple(replace(e, where=below(e.where)) for e in checkpoint.problems),
        files=tuple(replace(e, name=below(e.name)) for e in checkpoint.files),
    )


def _joined(parts: Iterable[tuple[_Part, ...]]) -> tuple[_Part, ...]:
    return tuple(part for each in parts for part in each)
