"""Episodes in files: one msgpack document each, arrays in it, nothing that could run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ...core.data.budget import one_load
from ...core.errors import (
    CheckpointError,
    CheckpointNotFoundError,
    CorruptCheckpointError,
    UnknownFormatError,
)
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.decoding import Decoding
from ...core.vault.files.reading import entries
from ...core.vault.own.atomic import replaced_file
from ...core.vault.own.write_errors import refusals
from ..episodes.multi_agent import MultiAgentEpisode
from ..episodes.single_agent import SingleAgentEpisode
from ..recorded.episode_parquet import MAPPING
from ..saving.checkpoint_files import packed_state, plain_state

FORMAT: Final = "rlconnect.episodes"
VERSION: Final = 1
SUFFIX: Final = ".msgpack"

_KINDS: Final[dict[str, Any]] = {"single": SingleAgentEpisode, "multi": MultiAgentEpisode}


def write_episodes(path: str | os.PathLike[str], episodes: Sequence[Any]) -> Path:
    """Write episodes into one file; an older one of that name is replaced in one step.

    Args:
        path: The file; it gets the suffix `.msgpack`.
        episodes: Of one agent or of several.

    Returns:
        The file.
    """
    file = Path(path)
    if file.suffix != SUFFIX:
        file = Path(f"{file}{SUFFIX}")
    states = []
    for episode in episodes:
        episode.to_numpy()
        kind = "multi" if isinstance(episode, MultiAgentEpisode) else "single"
        state = {**episode.get_state()}
        # A function is in no file; which module each agent had is.
        state.pop(MAPPING, None)
        states.append({"kind": kind, "state": plain_state(state)})
    document = {"format": FORMAT, "version": VERSION, "episodes": states}
    with refusals(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    with replaced_file(file) as fresh:
        Path(fresh).write_bytes(packed_state(document))
    return file


def read_episodes(path: str | os.PathLike[str]) -> list[Any]:
    """Read the episodes of a file, or of all such files in a folder, by name.

    Args:
        path: The file or folder.

    Raises:
        CheckpointNotFoundError: Nothing lies there.
        CheckpointError: It holds no episodes, or they cannot be read.
    """
    place = Path(path)
    if os.path.isdir(place):
        listed = entries(place, limits_in_force())
        files = [place / each.name for each in listed if each.name.endswith(SUFFIX)]
        if not files:
            raise CheckpointNotFoundError(f"{place} holds no files of episodes ({SUFFIX})")
        with one_load():
            return [episode for file in files for episode in _episodes(file, None)]
    if not os.path.isfile(place):
        raise CheckpointNotFoundError(f"there are no episodes at {place}")
    return _episodes(place, named=place)


def _episodes(place: Path, named: Path | None) -> list[Any]:
    held = Decoding(place.parent, limits_in_force(), named).load(place, "episodes")
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise UnknownFormatError(f"{place} holds no episodes", expected=FORMAT)
    if held.get("version") != VERSION:
        raise UnknownFormatError(
            f"{place} was written by another release",
            expected=f"version {VERSION}",
            found=str(held.get("version")),
        )
    try:
        return [_read(each["kind"], each["state"]) for each in held["episodes"]]
    except CheckpointError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptCheckpointError(f"{place}: {error!r}") from error


def _read(kind: str, state: dict[str, Any]) -> Any:
    if kind == "multi":
        state = {**state, MAPPING: MultiAgentEpisode().agent_to_module_mapping_fn}
    return _KINDS[kind].from_state(state)


class EpisodeWriter:
    """Records what is sampled, a file for each call.

    Args:
        folder: Where to; what lies there stays.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._count = len(list(self._folder.glob(f"*{SUFFIX}")))

    def write(self, episodes: Sequence[Any]) -> None:
        """Write episodes into a new file."""
        if episodes:
            write_episodes(self._folder / f"episodes_{self._count:06d}", episodes)
            self._count += 1
