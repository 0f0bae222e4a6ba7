"""Specs of modules as they lie in files."""

from __future__ import annotations

from typing import Final

from ...core.trust.arguments import Records
from .multi_spec import MultiRLModuleSpec
from .spec import RLModuleSpec

RECORDS: Final[Records] = {
    "MultiAgentRLModuleSpec": MultiRLModuleSpec.in_file,
    "MultiRLModuleSpec": MultiRLModuleSpec.in_file,
    "RLModuleSpec": RLModuleSpec.in_file,
    "SingleAgentRLModuleSpec": RLModuleSpec.in_file,
}
"""What makes a spec of the attributes that a pickle holds of one, by its class's name."""
