"""From what lies at a path to live policies: of the old stack, of the new one, or exported."""

from __future__ import annotations

import os
from typing import Any

from ...legacy.policy.policy import Policy


def load_policies(path: str | os.PathLike[str], **options: Any) -> dict[str, Policy]:
    """The old-stack policies of a checkpoint by id, be it one or many."""
    loaded = Policy.from_checkpoint(path, **options)
    return loaded if isinstance(loaded, dict) else {loaded.name: loaded}
