"""Episodes in Parquet files as RLlib's new stack records them: one a row, packed with msgpack."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from ...core.importing.torch_needed import extra_needed
from ...core.vault.own.atomic import replaced_file
from ..saving.checkpoint_files import packed_state, plain_state

SUFFIX = ".parquet"


def write_episode_file(path: str | os.PathLike[str], episodes: Sequence[Any]) -> Path:
    """Write episodes into one file; an older one of that name is replaced in one step.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    with extra_needed("pyarrow", f"writing {path}"):
        import pyarrow as pa
        from pyarrow import parquet
    items = [packed_episode(episode) for episode in episodes]
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replaced_file(file) as fresh:
        parquet.write_table(pa.table({"item": pa.array(items, pa.binary())}), fresh)
    return file


def packed_episode(episode: Any) -> bytes:
    """An episode's state in msgpack, its columns as arrays; without functions."""
    state = {**episode.to_numpy().get_state()}
    state.pop(MAPPING, None)
    return packed_state(plain_state(state))


MAPPING = "agent_to_module_mapping_fn"
"""A function is in no file; which module each agent had is."""


class EpisodeParquetWriter:
    """Records what is sampled as RLlib's runners do: a folder for each call below the env's.

    Args:
        folder: Where to; what lies there stays.
        env: What is acted in; its name is that of a folder.
        most: How many episodes a file has at most.
        write: Writes one file of episodes.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        env: Any,
        most: int | None = None,
        write: Callable[[Path, Sequence[Any]], Any] = write_episode_file,
    ) -> None:
        name = env if isinstance(env, str) else getattr(env, "__name__", "env")
        self._folder = Path(folder) / _NO_NAME.sub("-", name).lower()
        self._most = most
        self._write = write
        self._calls = len(list(self._folder.glob("run-*")))

    def write(self, episodes: Sequence[Any]) -> None:
        """Write episodes into new files."""
        if not episodes:
            return
        self._calls += 1
        most = self._most or len(episodes)
        for number, start in enumerate(range(0, len(episodes), most)):
            name = f"run-000000-{self._calls:05d}/{number:06d}_000000-0{SUFFIX}"
            self._write(self._folder / name, episodes[start : start + most])


_NO_NAME: Final = re.compile(r"[^\w.-]+")
