"""An actor of several players as one folder: each player's own, and who plays whom.

actor.json          the players' ids in order, who plays whom
player_0/, ...      each player as an actor of it alone is saved

Policies of the old stack together are saved in our own format instead, as they always were.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...core.errors import CorruptCheckpointError, RlconnectError, UnknownNameError
from ...core.keys import table_of
from ...core.vault.files import entries, part_of
from ...core.vault.layout import ACTOR_FILE
from ...core.vault.limits import DEFAULT_LIMITS
from ...core.vault.own.document import encode
from ...core.vault.own.json_text import format_json
from ...core.vault.own.own_format import read_document

_FORMAT: Final = "rlconnect actor"


def save_several(
    sources: Mapping[str, Any],
    save_one: Callable[[str, Any, Path], None],
    actor: Mapping[str, Any],
    folder: Path,
) -> None:
    """Write players into a folder.

    Args:
        sources: What each player is made of, by its id.
        save_one: Saves one of them.
        actor: What the actor is beside them, as plain data.
        folder: An empty one.
    """
    for number, (name, source) in enumerate(sources.items()):
        save_one(name, source, folder / f"player_{number}")
    content = {"format": _FORMAT, "format_version": 1, "players": list(sources), "actor": actor}
    (folder / ACTOR_FILE).write_text(format_json(encode(content)), encoding="utf-8")


def is_several(folder: Path) -> bool:
    """Whether a folder holds an actor of several players, and nothing else."""
    names = {entry.name for entry in entries(folder, DEFAULT_LIMITS)}
    others = {name for name in names if not re.fullmatch(r"player_[0-9]+", name)}
    if others != {ACTOR_FILE}:
        return False
    try:
        return saved_several(folder, None) is not None
    except RlconnectError:
        return False


def saved_several(path: str | os.PathLike[str], wanted: Sequence[str] | None) -> Any:
    """The folders of an actor's players by id, and what it is beside them; None of another folder.

    Args:
        path: The actor's folder.
        wanted: Only these players.

    Raises:
        CorruptCheckpointError: `actor.json` is not what we write.
        UnknownNameError: There is no such player.
    """
    file = Path(path) / ACTOR_FILE
    if not file.is_file():
        return None
    content = read_document(part_of(path, ACTOR_FILE))
    if not isinstance(content, Mapping) or content.get("format") != _FORMAT:
        raise CorruptCheckpointError(f"{file} is no saved actor", expected=repr(_FORMAT))
    names = content.get("players")
    if not isinstance(names, list) or not names:
        raise CorruptCheckpointError(f"{file} names no players", found=repr(names)[:80])
    folders = {str(name): part_of(path, f"player_{at}") for at, name in enumerate(names)}
    for name in wanted or ():
        if name not in folders:
            raise UnknownNameError(
                f"no player {name!r} in {path}", expected=", ".join(map(repr, folders))
            )
    return {name: folders[name] for name in wanted or folders}, content


def mapping_of(extra: Mapping[str, Any]) -> dict[Any, str] | None:
    """Who plays whom, from what a checkpoint holds beside its policies."""
    saved = extra.get("actor")
    if not isinstance(saved, Mapping) or not saved.get("agents"):
        return None
    return {agent: str(name) for agent, name in table_of(saved["agents"]).items()}
