"""What plays a policy: its plan where all of it has one, or its own pieces."""

from __future__ import annotations

import copy
from typing import Any

from ...legacy.policy.policy import Policy
from ..triple import V2Triple, is_triple
from .legacy_plan import legacy_plan
from .pipeline_player import PipelinePlayer
from .player import PlannedPlayer, Player


def player_of(native: Any, *, is_mine: bool = False) -> Player:
    """What plays a policy of either stack, or an exported one: a copy of it unless it `is_mine`."""
    if isinstance(native, Policy):
        return policy_player(native, is_mine=is_mine)
    if is_triple(native):
        return triple_player(V2Triple.of(native), is_mine=is_mine)
    from .program_player import ProgramPlayer

    return ProgramPlayer(native)


def policy_player(policy: Policy, *, is_mine: bool = False) -> Player:
    """What plays a policy of the old stack: its plan, or its connectors."""
    from ...legacy.policy.default_connectors import create_connectors_for_policy

    mine = policy if is_mine else copy.deepcopy(policy)
    if mine.agent_connectors is None or mine.action_connectors is None:
        create_connectors_for_policy(mine, mine.config)
    plan = legacy_plan(mine)
    return PipelinePlayer(mine, plan) if plan.missing else PlannedPlayer(plan, mine, legacy_plan)


def triple_player(triple: V2Triple, *, is_mine: bool = False) -> Player:
    """What plays pipelines and a module: their plan, or they themselves."""
    from .episode_player import EpisodePlayer
    from .v2_plan import v2_plan

    mine = triple if is_mine else copy.deepcopy(triple)
    plan = v2_plan(mine)
    return EpisodePlayer(mine, plan) if plan.missing else PlannedPlayer(plan, mine, v2_plan)
