"""Parquet files as RLlib's new stack records them: episodes packed with msgpack, or steps."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...core.errors import ConfigError
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


def write_row_file(path: Path, episodes: Sequence[Any]) -> Path:
    """Write the steps of episodes into one file, a row each; an older one is replaced in one step.

    Raises:
        MissingExtraError: pyarrow is not installed.
        ConfigError: A column is no array of numbers.
    """
    with extra_needed("pyarrow", f"writing {path}"):
        import pyarrow as pa
        from pyarrow import parquet
    parts = [_columns(episode.to_numpy()) for episode in episodes]
    names = [name for name in parts[0] if all(name in part for part in parts)]
    fields, arrays = [], []
    for name in names:
        field, array = _of_column(pa, name, np.concatenate([part[name] for part in parts]))
        fields.append(field)
        arrays.append(array)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced_file(path) as fresh:
        parquet.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), fresh)
    return path


def _columns(episode: Any) -> dict[str, Any]:
    steps = len(episode)
    ends = np.zeros((2, steps), bool)
    ends[:, -1:] = [[bool(episode.is_terminated)], [bool(episode.is_truncated)]]
    columns = {
        "eps_id": np.full(steps, str(episode.id_)),
        "obs": episode.get_observations(slice(0, steps)),
        "actions": episode.get_actions(slice(0, steps)),
        "rewards": np.asarray(episode.get_rewards(slice(0, steps)), np.float64),
        "new_obs": episode.get_observations(slice(1, steps + 1)),
        "terminateds": ends[0],
        "truncateds": ends[1],
    }
    for name in episode.extra_model_outputs:
        columns[name] = episode.get_extra_model_outputs(name, slice(0, steps))
    for name, column in columns.items():
        if isinstance(column, (Mapping, tuple)) or np.asarray(column).dtype.hasobject:
            raise ConfigError(
                f"column {name!r} is no array, which rows of a file hold alone",
                found=type(column).__name__,
                hint="record whole episodes: config.offline_data(output_write_episodes=True).",
            )
    return columns


def _of_column(pa: Any, name: str, column: Any) -> tuple[Any, Any]:
    """A column as Ray Data keeps it: arrays as flat lists, their shape beside the field."""
    if column.ndim == 1:
        array = pa.array(column)
        return pa.field(name, array.type), array
    width = int(np.prod(column.shape[1:]))
    ends = pa.array(np.arange(len(column) + 1, dtype=np.int64) * width)
    array = pa.LargeListArray.from_arrays(ends, pa.array(np.ascontiguousarray(column).reshape(-1)))
    marks = {
        "ARROW:extension:name": "ray.data.arrow_tensor_v2",
        "ARROW:extension:metadata": json.dumps(column.shape[1:]),
    }
    return pa.field(name, array.type, metadata=marks), array
