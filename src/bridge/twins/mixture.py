"""Old and new pieces in one pair of pipelines around one module."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from gymnasium.spaces import Space

from ... import v2
from ...legacy.connectors.adapted import seen_space
from ...legacy.connectors.context import ConnectorContext
from ...legacy.policy.policy import Policy
from ...v2.connectors.connector import ConnectorV2
from ...v2.connectors.env_to_module.env_to_module_pipeline import (
    EnvToModulePipeline,
    env_to_module_pipeline,
)
from ...v2.connectors.module_to_env.listify_data_for_vector_env import ListifyDataForVectorEnv
from ...v2.connectors.module_to_env.module_to_env_pipeline import BEFORE, ModuleToEnvPipeline
from ...v2.connectors.module_to_env.normalize_and_clip_actions import NormalizeAndClipActions
from ..triple import V2Triple
from ..wrap.action_connector import LegacyActionConnectorV2
from ..wrap.agent_connector import LegacyAgentConnectorV2
from ..wrap.policy_module import LegacyPolicyModule
from .step_order import cast_for_network
from .twin import MigrationStep, Refusal


def mixture(
    policy: Policy,
    steps: Iterable[MigrationStep],
    module: Any,
    *,
    custom: Mapping[str, Any] | None = None,
    observation_space: Space[Any] | None = None,
) -> V2Triple:
    """The policy in the new stack, with native pieces where steps are applied.

    Args:
        policy: The source; it is not changed.
        steps: All of its steps.
        module: Its native module, or why there is none.
        custom: The author's own classes that its network needs.
        observation_space: What the environment gives; what the policy knows if None.
    """
    steps = list(steps)
    (network,) = (step for step in steps if step.side == "network")
    is_native = network.is_applied and network.is_native
    assert not (is_native and isinstance(module, Refusal)), "a refused network is no native step"
    to_module, to_env = mixed_pipelines(
        policy, steps, is_native=is_native, observation_space=observation_space
    )
    mixed_module = (
        copy.deepcopy(module) if is_native else LegacyPolicyModule.of(policy, custom=custom)
    )
    return V2Triple(to_module, mixed_module, to_env)


def mixed_pipelines(
    policy: Policy,
    steps: Iterable[MigrationStep],
    *,
    is_native: bool,
    observation_space: Space[Any] | None = None,
) -> tuple[EnvToModulePipeline, ModuleToEnvPipeline]:
    """The pipelines of a mixture, without the module between them."""
    env_space = observation_space or seen_space(policy)
    by_place = {(step.side, step.place): step for step in steps}
    ctx = ConnectorContext.from_policy(policy)
    copied: dict[int, Any] = {}  # shared objects of connectors are copied once
    agent: list[ConnectorV2] = []
    for place, old in enumerate(_pieces(policy.agent_connectors)):
        step = by_place["agent", place]
        agent += (
            step.twin.make()
            if step.is_applied and step.is_native
            else [LegacyAgentConnectorV2(connector=copy.deepcopy(old, copied), context=ctx)]
        )
    if is_native:
        cast = cast_for_network(policy)
        agent += [] if cast is None else cast.make()
    return (
        env_to_module_pipeline(env_space, policy.action_space, custom=agent),
        ModuleToEnvPipeline(
            env_space,
            policy.action_space,
            connectors=_action_side(policy, by_place, ctx, copied, is_native),
        ),
    )


def _action_side(
    policy: Policy,
    by_place: Mapping[Any, MigrationStep],
    ctx: ConnectorContext,
    copied: dict[int, Any],
    is_native: bool,
) -> list[ConnectorV2]:
    pieces: list[ConnectorV2] = [
        cls() for cls in BEFORE if cls.__name__ != "ModuleToAgentUnmapping"
    ]
    if is_native and squashes(policy):
        pieces.append(v2.SquashGreedyActions())
    has_bounds = False
    for place, old in enumerate(_pieces(policy.action_connectors)):
        step = by_place["action", place]
        if step.is_applied and step.is_native:
            twins = step.twin.make()
            has_bounds |= any(isinstance(twin, NormalizeAndClipActions) for twin in twins)
            pieces += twins
        else:
            twin = copy.deepcopy(old, copied)
            pieces.append(LegacyActionConnectorV2(connector=twin, context=ctx))
    if not has_bounds:  # RLlib's pipelines always have one
        pieces.append(NormalizeAndClipActions(normalize_actions=False, clip_actions=False))
    return [*pieces, ListifyDataForVectorEnv()]


def learner_pieces(steps: Iterable[MigrationStep]) -> list[ConnectorV2]:
    """Native pieces for the front of the learner's pipeline."""
    return [piece for step in steps if step.is_native for piece in step.twin.learner()]


def squashes(policy: Policy) -> bool:
    """Whether the policy's best actions are bent into bounds, which V2 leaves to a piece."""
    return bool(policy.networks.torch().head.distribution.kind == "squashed_gaussian")


def _pieces(pipeline: Any) -> list[Any]:
    return list(pipeline.connectors)
