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
    config: AlgorithmConfig, spec: RLModuleSpec | MultiRLModuleSpec | None
) -> RLModuleSpec | MultiRLModuleSpec:
    """A user's spec with the algorithm's defaults, or these alone; without spaces."""
    if isinstance(spec, MultiRLModuleSpec):
        copies = {key: replace(single) for key, single in spec.rl_module_specs.items()}
        return replace(spec, rl_module_specs=copies)
    default = config.get_default_rl_module_spec()
    return default if spec is None else filled(spec, default)


def filled(spec: RLModuleSpec, default: RLModuleSpec) -> RLModuleSpec:
    """A copy of a spec that takes what it leaves empty from another."""
    copied = replace(default)
    copied.update(spec)
    return copied


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
    pair = (spaces or {}).get(DEFAULT_MODULE_ID) or env_spaces(config, env, spaces)
    return _completed(config, replace(spec), pair, inference_only)


def multi_spec(
    config: AlgorithmConfig,
    env: Any,
    spaces: Mapping[str, Any] | None,
    inference_only: bool,
    single: RLModuleSpec | None,
) -> MultiRLModuleSpec:
    """The specs of all modules of a config."""
    of_config: Any = config.rl_module_spec
    is_multi = isinstance(of_config, MultiRLModuleSpec)
    default: Any = config.get_default_rl_module_spec() if is_multi else (single or of_config)
    if isinstance(default, MultiRLModuleSpec):  # of an algorithm for several modules alone
        default = RLModuleSpec()
    if is_multi and single is not None:
        default = filled(single, default)
    multi = of_config if is_multi else MultiRLModuleSpec()
    specs = {}
    for module_id in _module_ids(config, multi):
        settings = config.get_config_for_module(module_id)
        spec = multi[module_id] if module_id in multi else RLModuleSpec()
        spec = filled(spec, replace(default))
        if spec.learner_only and inference_only:
            continue
        policy = config.policies.get(module_id)
        named = getattr(policy, "observation_space", None), getattr(policy, "action_space", None)
        seen = _module_spaces(config, module_id, env, spaces)
        pair = [
            of_env if of_policy is None else of_policy
            for of_policy, of_env in zip(named, seen, strict=True)
        ]
        specs[module_id] = _completed(settings, spec, pair, inference_only or None)
    multi.rl_module_specs = specs
    multi.inference_only = bool(specs) and all(spec.inference_only for spec in specs.values())
    return multi


def _module_ids(config: AlgorithmConfig, spec: MultiRLModuleSpec) -> list[str]:
    """Return the ids of the spec, if it has any; otherwise those of the policies."""
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
    pair = observation_space, action_space
    if not all(isinstance(space, gym_spaces.Dict) for space in pair):
        return pair
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
