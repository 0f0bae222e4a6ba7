"""Several migrated policies as the parts of one algorithm in Ray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import ConfigError
from ...v2.connectors.common.flatten_observations import FlattenObservations
from ...v2.connectors.common.module_to_agent_unmapping import ModuleToAgentUnmapping
from ...v2.connectors.connector import ConnectorV2
from ...v2.connectors.env_to_module.defaults import env_to_module_pipeline
from ...v2.connectors.module_to_env.defaults import module_to_env_pipeline
from ...v2.connectors.module_to_env.unbatch_to_individual_items import UnBatchToIndividualItems
from ..wrap.policy_module import LegacyPolicyModule
from ..wrap.triple import wrapped_action_sides, wrapped_agent_sides
from .plan import MigrationPlan
from .ray_algorithm import Acting
from .ray_parts import RayParts


def acting_together(
    plans: Mapping[str, MigrationPlan], parts: RayParts, to_learn: RayParts
) -> Acting:
    """The parts that act for several policies.

    Where the native pieces of all of them are the same ones, these serve all agents; else all
    connectors and networks stay wrapped, since each policy needs its own.

    Args:
        plans: By module id; their applied steps are native.
        parts: Takes what goes to Ray.
        to_learn: Takes what goes into the learner's pipeline there.
    """
    policies = {name: plan.policy for name, plan in plans.items()}
    triples = {name: plan.triple() for name, plan in plans.items()}
    before = {name: _own(each[0].connectors) for name, each in triples.items()}
    after = {name: list(each[2].connectors) for name, each in triples.items()}
    flattens = [(FlattenObservations.__name__, {"multi_agent": False, "agent_ids": None})]
    if _same(before) in ([], flattens) and _same(after) is not None:
        shared: list[ConnectorV2] = [FlattenObservations(multi_agent=True)] if _same(before) else []
        modules = {name: each[1] for name, each in triples.items()}
        to_env = next(iter(after.values()))
        place = [type(each) for each in to_env].index(UnBatchToIndividualItems) + 1
        to_env.insert(place, ModuleToAgentUnmapping())
    else:
        shared = wrapped_agent_sides(policies)
        modules = {
            name: LegacyPolicyModule.of(plan.policy, custom=plan.custom)
            for name, plan in plans.items()
        }
        to_env = list(
            module_to_env_pipeline(
                custom=wrapped_action_sides(policies), is_multi_agent=True, normalize_actions=False
            ).connectors
        )
    to_module = env_to_module_pipeline(custom=shared).connectors
    learner = {name: plan.learner_pieces() for name, plan in plans.items()}
    if _same(learner) is None:
        raise ConfigError(
            "what these policies do with rewards before they learn differs",
            found=str({name: _told(pieces) for name, pieces in learner.items()}),
            hint="a learner of Ray's has one pipeline for all: write the policies one by one.",
        )
    return Acting(
        policies,
        {name: parts.take(module) for name, module in modules.items()},
        parts.take_all(to_module),
        parts.take_all(to_env),
        to_learn.take_all(next(iter(learner.values()))),
        (None, None),
    )


def _own(pieces: list[ConnectorV2]) -> list[ConnectorV2]:
    """The pieces before the defaults."""
    default = {type(each) for each in env_to_module_pipeline().connectors}
    return [each for each in pieces if type(each) not in default]


def _same(pieces: Mapping[str, list[ConnectorV2]]) -> list[Any] | None:
    """What the pieces of all of them are; None where they differ."""
    descriptions = [_told(each) for each in pieces.values()]
    return descriptions[0] if all(each == descriptions[0] for each in descriptions) else None


def _told(pieces: list[ConnectorV2]) -> list[Any]:
    """What pieces are and how they are set, their spaces apart."""
    return [
        (
            type(each).__name__,
            {
                name: setting
                for name, setting in each.get_ctor_args_and_kwargs()[1].items()
                if not name.startswith("input_")
            },
        )
        for each in pieces
    ]
