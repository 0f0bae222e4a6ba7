"""From a config's builder functions to its three pipelines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Space

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError
from ..connectors.common.agent_to_module_mapping import AgentMapping
from ..connectors.connector import ConnectorV2
from ..connectors.env_to_module.env_to_module_pipeline import (
    EnvToModulePipeline,
    env_to_module_pipeline,
)
from ..connectors.learner.learner_connector_pipeline import (
    LearnerConnectorPipeline,
    learner_pipeline,
)
from ..connectors.module_to_env.module_to_env_pipeline import (
    ModuleToEnvPipeline,
    module_to_env_pipeline,
)

if TYPE_CHECKING:
    from .algorithm_config import AlgorithmConfig

SINGLE_ENV_KEY = "__env_single__"
"""Under which spaces of one of its environments are given."""


def build_env_to_module(
    config: AlgorithmConfig, env: Any, spaces: Mapping[str, Any] | None, device: Any
) -> EnvToModulePipeline:
    """Build the pipeline from episodes to a forward batch."""
    arguments = (env, spaces, device)
    pipeline = env_to_module_pipeline(
        *env_spaces(config, env, spaces),
        custom=custom_pieces(config, "env_to_module_connector", arguments),
        agents=_agents(config),
        device=device,
        add_defaults=config.add_default_connectors_to_env_to_module_pipeline,
    )
    _append(pipeline, custom_pieces(config, "env_to_module_connector_end", arguments))
    return pipeline


def build_module_to_env(
    config: AlgorithmConfig, env: Any, spaces: Mapping[str, Any] | None
) -> ModuleToEnvPipeline:
    """Build the pipeline from a module's outputs to actions."""
    pipeline = module_to_env_pipeline(
        *env_spaces(config, env, spaces),
        custom=custom_pieces(config, "module_to_env_connector", (env, spaces)),
        is_multi_agent=config.is_multi_agent,
        normalize_actions=config.normalize_actions,
        clip_actions=config.clip_actions,
        add_defaults=config.add_default_connectors_to_module_to_env_pipeline,
    )
    _append(pipeline, custom_pieces(config, "module_to_env_connector_end", (env, spaces)))
    return pipeline


def build_learner(
    config: AlgorithmConfig,
    observation_space: Space[Any] | None,
    action_space: Space[Any] | None,
    device: Any,
) -> LearnerConnectorPipeline:
    """Build the pipeline from sampled episodes to a train batch."""
    arguments = (
        _first(observation_space, config.observation_space),
        _first(action_space, config.action_space),
    )
    pipeline = learner_pipeline(
        *arguments,
        custom=custom_pieces(config, "learner_connector", arguments),
        agents=_agents(config),
        device=device,
        add_defaults=config.add_default_connectors_to_learner_pipeline,
    )
    _append(pipeline, custom_pieces(config, "learner_connector_end", arguments))
    return pipeline


def env_spaces(
    config: AlgorithmConfig, env: Any, spaces: Mapping[str, Any] | None
) -> tuple[Any, Any]:
    """Return both spaces of one environment: from the env, the spaces, or the config."""
    given = spaces or {}
    pair = given.get(SINGLE_ENV_KEY) or given.get(DEFAULT_MODULE_ID) or (None, None)
    return (
        _first(_space_of(env, "observation_space"), pair[0], config.observation_space),
        _first(_space_of(env, "action_space"), pair[1], config.action_space),
    )


def custom_pieces(
    config: AlgorithmConfig, setting: str, arguments: tuple[Any, ...]
) -> list[ConnectorV2]:
    """Return the result of a custom builder: one piece, several or none.

    Raises:
        ConfigError: The builder returned something else.
    """
    builder = getattr(config, f"_{setting}")
    if builder is None:
        return []
    given = call_with_fitting(builder, arguments)
    pieces = list(given) if isinstance(given, (list, tuple)) else [given]
    if given is None or not all(isinstance(piece, ConnectorV2) for piece in pieces):
        raise ConfigError(
            f"the function given as {setting}",
            expected="a ConnectorV2, or a list or tuple of them",
            found=repr(given),
        )
    return pieces


def call_with_fitting(builder: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a builder with as many of the arguments as it takes.

    Example:
        >>> call_with_fitting(lambda env: env, ("env", "spaces", "device"))
        'env'
    """
    try:
        parameters = inspect.signature(builder).parameters.values()
    except (TypeError, ValueError):  # Built-ins do not always say.
        return builder(*arguments)
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return builder(*arguments)
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes = sum(each.kind in by_position for each in parameters)
    return builder(*arguments[:takes])


def _agents(config: AlgorithmConfig) -> AgentMapping | None:
    if not config.is_multi_agent:
        return None
    return AgentMapping(config.modules_by_id, config.policy_mapping_fn)


def _append(pipeline: Any, pieces: Iterable[ConnectorV2]) -> None:
    for piece in pieces:
        pipeline.append(piece)


def _space_of(env: Any, name: str) -> Any:
    return _first(getattr(env, f"single_{name}", None), getattr(env, name, None))


def _first(*given: Any) -> Any:
    return next((each for each in given if each is not None), None)
