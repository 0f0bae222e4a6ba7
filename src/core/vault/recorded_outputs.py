"""Recorded observations and what a policy made of them, from JSON, JSON lines or `.npz`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import CheckpointError, ConfigError
from ..nets.evidence import Records
from .file_names import JSON_FILES, PLAIN_SETTINGS, RESULTS
from .files.number_files import read_arrays

_MOST_BYTES: Final = 16 << 20
_MOST_ROWS: Final = 256
_OUTPUTS: Final = ("action_dist_inputs", "vf_preds", "q_values")
_BESIDE: Final = ("prev_actions", "prev_rewards")


def read_records(path: str | os.PathLike[str]) -> Records:
    """Records from a file.

    It holds columns by RLlib's names: `obs`, and some of `action_dist_inputs`, `vf_preds` and
    `q_values`; `state_in_0`, ... for a recurrent network. In JSON as one object or one a line, as
    RLlib's `output="..."` writes them without compressed columns, or arrays in a `.npz`.
    """
    file = Path(path)
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ConfigError(
                f"the records in {file}",
                expected=f"at most {_MOST_BYTES >> 20} MiB",
                found=f"{file.stat().st_size:,} bytes",
            )
        columns: Mapping[str, Any] = read_arrays(file) if file.suffix == ".npz" else _json(file)
        return _records(file, columns)
    except OSError as error:
        raise ConfigError(
            f"the records in {file} cannot be read", found=error.strerror or str(error)
        ) from None
    except (CheckpointError, ValueError, RecursionError, TypeError, OverflowError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(
            f"the records in {file}",
            expected="columns `obs` and `action_dist_inputs`, `vf_preds` or `q_values`, in JSON or "
            ".npz",
            found=str(error)[:200],
        ) from None


def records_beside(folder: str | os.PathLike[str]) -> Iterator[Records]:
    """Records among the files of a folder; others are passed over."""
    try:
        with os.scandir(folder) as scan:
            names = sorted(entry.name for entry in scan if entry.is_file(follow_symlinks=False))
    except OSError:
        return
    fitting = [name for name in names if name.endswith((".json", ".jsonl", ".npz"))]
    for name in fitting[:32]:
        if name not in (RESULTS, PLAIN_SETTINGS, *JSON_FILES):
            with suppress(ConfigError):
                yield read_records(Path(folder) / name)


def _json(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    try:
        rows = [json.loads(text)]
    except ValueError:
        rows = [json.loads(line) for line in text.splitlines()[:_MOST_ROWS] if line.strip()]
    batches = [row for row in rows if isinstance(row, dict)]
    if not batches:
        raise ValueError("no object")
    names = [name for name in batches[0] if all(name in batch for batch in batches)]
    return {name: _together([batch[name] for batch in batches]) for name in names}


def _together(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], dict):
        return {key: _together([part[key] for part in parts]) for key in parts[0]}
    if not all(isinstance(part, list) for part in parts):
        return parts
    return [row for part in parts for row in part]


def _records(file: Path, saved: Mapping[str, Any]) -> Records:
    names = ("obs", *_OUTPUTS, *_BESIDE)
    columns = {name: _column(name, saved[name]) for name in names if name in saved}
    if "obs" not in columns or not any(name in columns for name in _OUTPUTS):
        raise ValueError(f"columns {', '.join(map(str, list(saved)[:12]))}")
    states = saved.get("state_in", [])
    numbered = [saved[f"state_in_{i}"] for i in range(64) if f"state_in_{i}" in saved]
    listed = list(states.values()) if isinstance(states, Mapping) else list(states)
    arrays = tuple(np.asarray(state, np.float32) for state in numbered or listed)
    return Records(str(file), columns, arrays)


def _column(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _column(name, part) for key, part in value.items()}
    if isinstance(value, str):
        raise ValueError(f"{name!r} is compressed: write it with compress_columns=[]")
    return np.asarray(value, np.float32)
