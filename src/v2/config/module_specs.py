"""From a config to the specs of its modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gymnasium import spaces as gym_spaces

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError, RlconnectError
from ..connectors.common.agent_to_module_mapping import AgentToModuleMapping
from ..modules.model_config import as_settings
from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.spec import RLModuleSpec
from .connector_builders import env_spaces

if TYPE_CHECKING:
    from .algorithm_config import AlgorithmConfig


def with_defaults(
    config: AlgorithmConfig, given: RLModuleSpec | MultiRLModuleSpec | None
) -> RLModuleSpec | MultiRLModuleSpec:
    """A user's spec with the algorithm's defaults, or these alone; without spaces."""
    if isinstance(given, MultiRLModuleSpec):
        return replace(
            given,
            rl_module_specs={key: replace(spec) for key, spec in given.rl_module_specs.items()},
        )
    default = config.get_default_rl_module_spec()
    if given is None:
        return default
    return filled(given, default)


def filled(given: RLModuleSpec, default: RLModuleSpec) -> RLModuleSpec:
    """A copy of a spec that takes what it leaves empty from another."""
    made = replace(default)
    made.update(given)
    return made


def single_spec(
    config: AlgorithmConfig,
    env: Any,
    spaces: Mapping[str, Any] | None,
    inference_only: bool | None,
) -> RLModuleSpec:
    """The spec of the one module of a config.

    Raises:
        ConfigError: Specs are given by id, and the default id is not among them.
    """
    spec: Any = config.rl_module_spec
    if isinstance(spec, MultiRLModuleSpec):
        if DEFAULT_MODULE_ID not in spec:
            raise ConfigError(
                "the rl_module_spec holds several modules",
                hint="use config.get_multi_rl_module_spec().",
            )
        spec = filled(spec[DEFAULT_MODULE_ID], config.get_default_rl_module_spec())
    made = replace(spec)
    pair = (spaces or {}).get(DEFAULT_MODULE_ID) or env_spaces(config, env, spaces)
    return _completed(config, made, pair, inference_only)


def multi_spec(
    config: AlgorithmConfig,
    env: Any,
    spaces: Mapping[str, Any] | None,
    inference_only: bool,
    single: RLModuleSpec | None,
) -> MultiRLModuleSpec:
    """The specs of all modules of a config."""
    given: Any = config.rl_module_spec
    is_multi = isinstance(given, MultiRLModuleSpec)
    default: Any = config.get_default_rl_module_spec() if is_multi else (single or given)
    if isinstance(default, MultiRLModuleSpec):  # of an algorithm for several modules alone
        default = RLModuleSpec()
    if is_multi and single is not None:
        default = filled(single, default)
    made = given if is_multi else MultiRLModuleSpec()
    specs = {}
    for module_id in _module_ids(config, made):
        settings = config.get_config_for_module(module_id)
        spec = made[module_id] if module_id in made else RLModuleSpec()
        spec = filled(spec, replace(default))
        if spec.learner_only and inference_only:
            continue
        policy = config.policies.get(module_id)
        pair = (
            getattr(policy, "observation_space", None),
            getattr(policy, "action_space", None),
        )
        found = _module_spaces(config, module_id, env, spaces)
        both = tuple(
            own if own is not None else other for own, other in zip(pair, found, strict=True)
        )
        specs[module_id] = _completed(settings, spec, both, inference_only or None)
    made.rl_module_specs = specs
    made.inference_only = bool(specs) and all(spec.inference_only for spec in specs.values())
    return made


def _module_ids(config: AlgorithmConfig, spec: MultiRLModuleSpec) -> list[str]:
    """Those of the spec first, if it has any; else the policies'."""
    if not spec.rl_module_specs:
        return [*config.policies]
    others = [*config.policies] if config.is_multi_agent else []
    return [*dict.fromkeys([*spec.rl_module_specs, *others])]


def _completed(
    config: AlgorithmConfig, spec: RLModuleSpec, pair: Any, inference_only: bool | None
) -> RLModuleSpec:
    if spec.observation_space is None:
        spec.observation_space = pair[0]
    if spec.action_space is None:
        spec.action_space = pair[1]
    spec.model_config = {**config.model_config, **as_settings(spec.model_config)}
    if inference_only is not None:
        spec.inference_only = inference_only
    return spec


def _module_spaces(
    config: AlgorithmConfig, module_id: str, env: Any, spaces: Mapping[str, Any] | None
) -> Any:
    if spaces and module_id in spaces:
        return spaces[module_id]
    observation_space, action_space = env_spaces(config, env, spaces)
    if not config.is_multi_agent:
        return observation_space, action_space
    by_agent = [isinstance(each, gym_spaces.Dict) for each in (observation_space, action_space)]
    if not all(by_agent):
        return observation_space, action_space
    mapping = AgentToModuleMapping(
        observation_space,
        action_space,
        rl_module_specs=[module_id],
        agent_to_module_mapping_fn=config.policy_mapping_fn,
    )
    try:
        return mapping.observation_space[module_id], mapping.action_space[module_id]
    except RlconnectError:  # No agent is mapped to it yet.
        return None, None
