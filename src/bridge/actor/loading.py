"""From checkpoints and live policies to players."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import Any

from ...core.vault import open_checkpoint
from ...legacy.policy import Policy
from .legacy_plan import legacy_plan
from .pipeline_player import PipelinePlayer
from .player import PlannedPlayer, Player
from .saving import mapping_of


def player_of(policy: Policy) -> Player:
    """What plays a copy of a policy of the old stack: its plan, or its connectors."""
    from ...legacy.defaults import create_connectors_for_policy

    own = copy.deepcopy(policy)
    if own.agent_connectors is None or own.action_connectors is None:
        create_connectors_for_policy(own, own.config)
    plan = legacy_plan(own)
    return PipelinePlayer(own, plan) if plan.missing else PlannedPlayer(plan, own, legacy_plan)


def players_of(
    path: str | os.PathLike[str], policy_ids: Sequence[str] | None, **options: Any
) -> tuple[dict[str, Player], Any]:
    """The players of a checkpoint by policy id, and who plays whom if that was saved."""
    checkpoint = open_checkpoint(path)
    loaded = Policy.from_checkpoint(path, policy_ids, **options)
    policies = loaded if isinstance(loaded, dict) else {loaded.name: loaded}
    players = {name: player_of(each) for name, each in policies.items()}
    return players, mapping_of(checkpoint.extra)
