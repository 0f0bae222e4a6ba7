"""Episodes in Parquet files as RLlib's new stack records them: one a row, packed with msgpack."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core.errors import MissingExtraError
from ...core.vault.own.atomic import replaced_file
from ..saving.checkpoint_files import packed_state, plain_state

SUFFIX = ".parquet"


def write_episode_file(path: str | os.PathLike[str], episodes: Sequence[Any]) -> Path:
    """Write episodes into one file; an older one of that name is replaced in one step.

    Args:
        path: The file.
        episodes: Of one agent each, as far as RLlib is to read them.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError(
            f"writing {path} needs pyarrow, which is not installed",
            hint='pip install "rlconnect[offline]"',
        ) from None
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
