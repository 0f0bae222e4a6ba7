"""An actor of several players as one folder: each player's own, and who plays whom.

actor.json          the players' ids in order, who plays whom
player_0/, ...      each player as an actor of it alone is saved
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from ..errors import CorruptCheckpointError
from .chosen import chosen
from .file_names import ACTOR_FILE
from .files.reading import part_of
from .own.own_format import read_document
from .records.records import Checkpoint, fields_of

FORMAT: Final = "rlconnect actor"
_JOINED: Final = ("components", "problems", "files", "foreign", "unsafe", "skipped")


def saved_players(
    path: str | os.PathLike[str], ids: Sequence[str] | None = None
) -> tuple[dict[str, Path], Mapping[str, Any]] | None:
    """The folders of an actor's players by id, and its own data; None for any other folder."""
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
    players = {name: _placed(open_one(folder), folder.name) for name, folder in folders.items()}
    parts = [fields_of(player, _JOINED) for player in players.values()]
    joined: dict[str, Any] = {n: tuple(chain.from_iterable(p[n] for p in parts)) for n in _JOINED}
    return replace(
        next(iter(players.values())),
        path=str(root),
        kind="actor",
        is_ours=True,
        policies=_by_player({name: player.policies for name, player in players.items()}),
        modules=_by_player({name: player.modules for name, player in players.items()}),
        extra={"actor": content.get("actor", {})},
        **joined,
    )


def _by_player(records: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        player: replace(record, id=player)
        for player, by_id in records.items()
        for record in by_id.values()
    }


def _placed(checkpoint: Checkpoint, folder: str) -> Checkpoint:
    """A player's checkpoint with its places relative to the actor's folder."""

    def below(place: str) -> str:
        return f"{folder}/{place}".rstrip("/")

    return replace(
        checkpoint,
        components=tuple(replace(part, path=below(part.path)) for part in checkpoint.components),
        problems=tuple(replace(part, where=below(part.where)) for part in checkpoint.problems),
        files=tuple(replace(part, name=below(part.name)) for part in checkpoint.files),
    )
