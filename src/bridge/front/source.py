"""What the verbs take, as type checkers read it; `loading/natives` makes policies of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ...legacy.policy.policy import Policy
from ..actor.actor import Actor
from ..loading.natives import Natives
from ..migrate.plan import MigrationPlan
from ..triple import V2Triple
from .loaded_policies import LoadedPolicies
from .loaded_policy import LoadedPolicy

Loaded: TypeAlias = LoadedPolicies | LoadedPolicy
"""What `rlconnect.load` gave."""

Source: TypeAlias = (
    str
    | os.PathLike[str]
    | Loaded
    | Policy
    | V2Triple
    | Actor
    | MigrationPlan
    | Natives
    | Mapping[str, Any]
    | Sequence[Any]
)
"""A path or URL, something loaded, a policy of either stack, or several by id."""
