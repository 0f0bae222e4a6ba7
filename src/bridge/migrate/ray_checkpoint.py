"""Migrated policies as new-stack checkpoints that Ray itself loads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError
from ...core.vault.file_names import ENV_TO_MODULE, MODULE, MODULE_TO_ENV
from ...core.vault.files.json_text import format_json
from ...core.vault.own.document import encode
from ...core.vault.saved_tree import replaced_tree
from ...legacy.connectors.adapted import acted_space
from ...legacy.policy.policy import Policy
from ...v2.connectors.common.agent_to_module_mapping import ModuleToAgentUnmapping
from ...v2.connectors.common.flatten_observations import FlattenObservations
from ...v2.connectors.connector import ConnectorV2
from ...v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline
from ...v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline
from ...v2.connectors.module_to_env.unbatch_to_individual_items import UnBatchToIndividualItems
from ..wrap.policy_module import LegacyPolicyModule
from ..wrap.triple import wrapped_action_sides, wrapped_agent_sides
from .checkpoint import write_evidence
from .native_plan import NativePlan
from .plan import MigrationPlan
from .ray_algorithm import Acting, RayAlgorithm
from .ray_parts import RayNeeds, RayParts

_NEEDS: Final = "ray.json"


def to_ray(
    plan: MigrationPlan | Mapping[str, MigrationPlan],
    path: str | os.PathLike[str],
    *,
    only_module: bool = False,
    env: str | None = None,
    policy_mapping_fn: Any = None,
) -> RayNeeds:
    """Write a migrated policy, or several as one algorithm, so that Ray loads it.

    Ray's `Algorithm.from_checkpoint(path)` creates an algorithm that can sample, and continue
    training from these weights. For a single policy, the folder also contains its components:
    `rl_module`, which
    `RLModule.from_checkpoint` loads, and the pipelines `env_to_module_connector` and
    `module_to_env_connector`. What Ray has no class for is named by those of
    `rlconnect.ray_pieces`: such an export opens where both are installed. `ray.json` in the folder
    says what it needs.

    Args:
        plan: Its applied steps are native, the others stay wrapped. Several by module id make one
            algorithm.
        path: The folder to write.
        only_module: Whether to write only the module of a single policy.
        env: The registered name of the environment; by default the one in the config.
        policy_mapping_fn: The module of each agent, for several policies: a dict keyed by agent id,
            or a function that Ray can import. By default, the agent's own name.

    Returns:
        What Ray needs to load the folder.

    Raises:
        ConfigError: A part has no class in Ray and none in `rlconnect.ray_pieces`; it is named.
    """
    if not isinstance(plan, MigrationPlan):
        return _several(plan, Path(path), env, policy_mapping_fn)
    if isinstance(plan, NativePlan):
        return _parts_of(plan, Path(path), only_module)
    gives = plan.policy.action_space
    parts = RayParts(gives if _acts_otherwise(plan.policy) else None)
    env_to_module, module, module_to_env = plan.triple()
    learner = RayParts()
    module = parts.take(module)
    with replaced_tree(Path(os.path.abspath(path))) as folder:
        module.save_to_path(folder / MODULE)
        if only_module:
            return parts.needs()
        acting = Acting(
            {DEFAULT_MODULE_ID: plan.policy},
            {DEFAULT_MODULE_ID: module},
            parts.take_all(env_to_module.connectors),
            parts.take_all(module_to_env.connectors),
            learner.take_all(plan.learner_pieces()),
            (env_to_module.input_observation_space, env_to_module.input_action_space),
            parts.module_action_space,
        )
        acting.save_pipelines(folder)
        write_evidence(plan, folder)
        algorithm = RayAlgorithm(acting, env=env)
        algorithm.save(folder)
        return _write_needs(parts.needs(to_learn=learner.faces(), **algorithm.facts()), folder)


def _parts_of(plan: NativePlan, path: Path, only_module: bool) -> RayNeeds:
    """Write the module and the pipelines of a policy of the new stack; its algorithm stays away."""
    parts = RayParts(None)
    triple = plan.triple()
    module = parts.take(triple.module)
    before, after = triple.env_to_module, triple.module_to_env
    with replaced_tree(Path(os.path.abspath(path))) as folder:
        module.save_to_path(folder / MODULE)
        if only_module:
            return parts.needs()
        for pipeline, name in ((before, ENV_TO_MODULE), (after, MODULE_TO_ENV)):
            spaces = pipeline.input_observation_space, pipeline.input_action_space
            for_ray = type(pipeline)(*spaces, connectors=parts.take_all(pipeline.connectors))
            for_ray.save_to_path(folder / name)
        write_evidence(plan, folder)
        return _write_needs(parts.needs(), folder)


def _several(
    plans: Mapping[str, MigrationPlan],
    path: Path,
    env: str | None,
    policy_mapping_fn: Any,
) -> RayNeeds:
    if not plans:
        raise ConfigError(
            "an algorithm of no policies", expected="plans by module id, at least one"
        )
    native = [name for name, plan in plans.items() if isinstance(plan, NativePlan)]
    if native:
        raise ConfigError(
            "only policies of the old stack become one algorithm of Ray",
            found=f"of the new stack: {', '.join(native)}",
            hint="write these one by one: to_ray(plan, path) of each.",
        )
    parts, learner = RayParts(), RayParts()
    acting = acting_together(plans, parts, learner)
    algorithm = RayAlgorithm(acting, env=env, policy_mapping_fn=policy_mapping_fn)
    with replaced_tree(Path(os.path.abspath(path))) as folder:
        algorithm.save(folder)
        plans_data = {"policies": {name: plan.to_dict() for name, plan in plans.items()}}
        needs = parts.needs(to_learn=learner.faces(), **algorithm.facts())
        return _write_needs(needs, folder, **plans_data)


def _acts_otherwise(policy: Policy) -> bool:
    """Whether the environment takes other actions than the policy's network gives."""
    pieces = policy.action_connectors.connectors if policy.action_connectors else ()
    return acted_space(policy) != policy.action_space or not all(
        type(piece).__module__.startswith(f"{__name__.partition('.')[0]}.") for piece in pieces
    )


def _write_needs(needs: RayNeeds, folder: Path, **beside: Any) -> RayNeeds:
    text = format_json(encode({**needs.to_dict(), **beside}))
    (folder / _NEEDS).write_text(text, encoding="utf-8")
    return needs


def acting_together(
    plans: Mapping[str, MigrationPlan], parts: RayParts, to_learn: RayParts
) -> Acting:
    """Combine the components of several policies.

    If their native pieces are the same, all agents share them. Otherwise, all connectors and
    networks stay wrapped, since each policy needs its own.

    Args:
        plans: By module id; their applied steps are native.
        parts: Takes what goes to Ray.
        to_learn: Takes what goes into the learner's pipeline there.
    """
    policies = {name: plan.policy for name, plan in plans.items()}
    triples = {name: plan.triple() for name, plan in plans.items()}
    before = {name: _before_defaults(triple[0].connectors) for name, triple in triples.items()}
    after = {name: list(triple[2].connectors) for name, triple in triples.items()}
    flattens = [(FlattenObservations.__name__, {"multi_agent": False, "agent_ids": None})]
    if _same(before) in ([], flattens) and _same(after) is not None:
        shared: list[ConnectorV2] = [FlattenObservations(multi_agent=True)] if _same(before) else []
        modules = {name: triple[1] for name, triple in triples.items()}
        to_env = next(iter(after.values()))
        place = [type(piece) for piece in to_env].index(UnBatchToIndividualItems) + 1
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
            "these policies transform rewards for training in different ways",
            found=str({name: _settings_of(pieces) for name, pieces in learner.items()}),
            hint="Ray has one learner pipeline for all modules: write the policies one by one.",
        )
    return Acting(
        policies,
        {name: parts.take(module) for name, module in modules.items()},
        parts.take_all(to_module),
        parts.take_all(to_env),
        to_learn.take_all(next(iter(learner.values()))),
        (None, None),
    )


def _before_defaults(pieces: list[ConnectorV2]) -> list[ConnectorV2]:
    """The pieces before the defaults."""
    default = {type(piece) for piece in env_to_module_pipeline().connectors}
    return [piece for piece in pieces if type(piece) not in default]


def _same(pieces: Mapping[str, list[ConnectorV2]]) -> list[Any] | None:
    """Return the common pieces of all policies; None if they differ."""
    descriptions = [_settings_of(of_policy) for of_policy in pieces.values()]
    return descriptions[0] if all(other == descriptions[0] for other in descriptions) else None


def _settings_of(pieces: list[ConnectorV2]) -> list[Any]:
    """Return the classes and settings of pieces, without their spaces."""
    return [
        (
            type(piece).__name__,
            {
                name: setting
                for name, setting in piece.get_ctor_args_and_kwargs()[1].items()
                if not name.startswith("input_")
            },
        )
        for piece in pieces
    ]
