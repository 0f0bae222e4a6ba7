"""What plays a policy: its plan where all of it has one, or its own pieces."""

from __future__ import annotations

import copy
from typing import Any

from ...legacy.policy.policy import Policy
from ..triple import V2Triple, is_triple
from .legacy_plan import legacy_plan
from .pipeline_player import PipelinePlayer
from .player import PlannedPlayer, Player


def player_of(native: Any) -> Player:
    """What plays a copy of a policy of either stack, or an exported one."""
    if isinstance(native, Policy):
        return policy_player(native)
    if is_triple(native):
        return triple_player(V2Triple.of(native))
    from .program_player import ProgramPlayer

    return ProgramPlayer(native)


def policy_player(policy: Policy) -> Player:
    """What plays a copy of a policy of the old stack: its plan, or its connectors."""
    from ...legacy.policy.default_connectors import create_connectors_for_policy

    copied = copy.deepcopy(policy)
    if copied.agent_connectors is None or copied.action_connectors is None:
        create_connectors_for_policy(copied, copied.config)
    plan = legacy_plan(copied)
    return (
        PipelinePlayer(copied, plan) if plan.missing else PlannedPlayer(plan, copied, legacy_plan)
    )


def triple_player(triple: V2Triple) -> Player:
    """What plays copies of pipelines and a module: their plan, or they themselves."""
    from .episode_player import EpisodePlayer
    from .v2_plan import v2_plan

    copied = copy.deepcopy(triple)
    plan = v2_plan(copied)
    return EpisodePlayer(copied, plan) if plan.missing else PlannedPlayer(plan, copied, v2_plan)
