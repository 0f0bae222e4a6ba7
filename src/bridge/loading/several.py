"""Writing an actor of several players as one folder; `core.vault.players` reads it.

Policies of the old stack together are saved in our own format instead, as they always were.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...core.data.keys import table_of
from ...core.errors import RlconnectError
from ...core.vault.decode.load_limits import DEFAULT_LIMITS
from ...core.vault.file_names import ACTOR_FILE
from ...core.vault.files.json_text import format_json
from ...core.vault.files.reading import entries
from ...core.vault.own.document import encode
from ...core.vault.players import FORMAT, saved_players


def save_several(
    sources: Mapping[str, Any],
    save_one: Callable[[str, Any, Path], None],
    actor: Mapping[str, Any],
    folder: Path,
) -> None:
    """Write players into a folder.

    `actor` is what the actor is beside them, as plain data; the folder is empty.
    """
    for number, (name, source) in enumerate(sources.items()):
        save_one(name, source, folder / f"player_{number}")
    content = {"format": FORMAT, "format_version": 1, "players": list(sources), "actor": actor}
    (folder / ACTOR_FILE).write_text(format_json(encode(content)), encoding="utf-8")


def is_several(folder: Path) -> bool:
    """Whether a folder holds an actor of several players, and nothing else."""
    names = {entry.name for entry in entries(folder, DEFAULT_LIMITS)}
    others = {name for name in names if not re.fullmatch(r"player_[0-9]+", name)}
    if others != {ACTOR_FILE}:
        return False
    try:
        return saved_players(folder) is not None
    except RlconnectError:
        return False


def mapping_of(extra: Mapping[str, Any]) -> dict[Any, str] | None:
    """The policy of each agent, as a checkpoint says beside its policies."""
    saved = extra.get("actor")
    if not isinstance(saved, Mapping) or not saved.get("agents"):
        return None
    return {agent: str(name) for agent, name in table_of(saved["agents"]).items()}
