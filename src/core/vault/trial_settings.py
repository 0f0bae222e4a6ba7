"""The settings of the trial that a checkpoint comes from.

Ray 1 writes no settings into its checkpoints. Tune keeps them as `params.pkl` and `params.json` in
the trial's folder, which is the one above; whoever takes a checkpoint away lays them beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ..errors import CheckpointError
from .decoding import Decoding
from .files import read_json
from .old_policy import plain_config

_PICKLED: Final = "params.pkl"  # the whole of it
_PLAIN: Final = "params.json"  # classes and functions are only text here


def trial_settings(folder: Path, decoding: Decoding) -> dict[str, Any]:
    """The settings in or above a checkpoint's folder; empty where there are none.

    Args:
        folder: Where the checkpoint's files lie.
        decoding: Reads the files, and notes one that is damaged.
    """
    for place in (folder, folder.parent):
        for name in (_PICKLED, _PLAIN):
            path = place / name
            found = plain_config(_content(path, decoding)) if path.is_file() else {}
            if "env" in found:  # without one, it is the file of some other program
                return found
    return {}


def _content(path: Path, decoding: Decoding) -> Any:
    if path.name == _PICKLED:
        return decoding.attempt(path, "settings", "the trial's settings")
    try:
        return read_json(path, decoding.limits)
    except CheckpointError as error:
        decoding.damage(path, error, "the trial's settings")
        return {}
