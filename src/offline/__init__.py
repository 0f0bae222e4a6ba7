"""Recorded samples of any RLlib, as episodes and as batches, read without Ray.

`open_dataset` says what lies at a path and reads it piece by piece. Read `dataset` first, then of
`readers` `json_lines` (one line, one batch) and `old_batches` (what a line holds). Nothing a file
holds is executed: packed columns are pickles, which go through the vault's machine as data.
"""

from __future__ import annotations

from typing import Final

from ..core.importing.lazy_names import lazy_names

_HOME: Final = {
    "BatchActor": "..bridge.over_data.acting",
    "Runs": ".runs",
    "act_on": "..bridge.over_data.acting",
    "appraise": "..bridge.over_data.appraisal",
    "infer": "..bridge.over_data.acting",
    "open_runs": ".runs",
    "DamagedDataWarning": ".damaged",
    "Dataset": ".dataset",
    "Estimate": ".estimators",
    "evaluate": "..bridge.over_data.evaluation",
    "open_dataset": ".dataset",
    "through": "..bridge.over_data.through",
    "train_batches": ".train_batches",
}

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)
