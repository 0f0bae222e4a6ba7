"""An old trainer config -> its default connectors, in order.

Agents: [clip rewards] [preprocess] [filter] remember the last answer, build the views.
Actions: to numpy, [stretch to the bounds] [clip to the bounds] lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from ...core.errors import ConfigError
from ..connectors.agent.mean_std_filter import SyncedFilterAgentConnector
from ..connectors.connector import Connector
from ..connectors.context import ConnectorContext
from ..connectors.pipeline import ActionConnectorPipeline, AgentConnectorPipeline
from ..connectors.registry import UnknownConnectorError, get_connector, registered_class

_FILTERS: Final = {
    "MeanStdFilter": "MeanStdObservationFilterAgentConnector",
    "ConcurrentMeanStdFilter": "ConcurrentMeanStdObservationFilterAgentConnector",
}

_class_of: Final[Callable[[str], Any]] = cache(registered_class)
"""The class of a built-in connector, whose file is read when a policy first has one."""


def get_agent_connectors_from_config(ctx: ConnectorContext, config: Any) -> AgentConnectorPipeline:
    """The agent connectors that a trainer of `config` gives its policies.

    Args:
        ctx: The context of the policy.
        config: A dict or an `AlgorithmConfig`.

    Raises:
        ConfigError: The observation filter is unknown.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> ctx = ConnectorContext({}, None, Box(-1, 1, (3,)), Discrete(2), {})
        >>> print(get_agent_connectors_from_config(ctx, {"clip_rewards": True}))
        AgentConnectorPipeline
            ClipRewardAgentConnector
            ObsPreprocessorConnector
            StateBufferConnector
            ViewRequirementAgentConnector
    """
    setting = _reader(config)
    connectors: list[Connector] = []
    clip_rewards = setting("clip_rewards", None)
    if clip_rewards is None and _is_atari(setting):
        clip_rewards = True
    if clip_rewards is True:
        connectors.append(_class_of("ClipRewardAgentConnector")(ctx, sign=True))
    elif type(clip_rewards) is float:
        connectors.append(_class_of("ClipRewardAgentConnector")(ctx, limit=abs(clip_rewards)))
    if _preprocesses(setting):
        connectors.append(_class_of("ObsPreprocessorConnector")(ctx))
    if setting("observation_filter", "NoFilter") not in ("NoFilter", None):
        connectors.append(get_synced_filter_connector(ctx, config))
    connectors += [
        _class_of("StateBufferConnector")(ctx),
        _class_of("ViewRequirementAgentConnector")(ctx),
    ]
    return AgentConnectorPipeline(ctx, connectors)


def get_action_connectors_from_config(
    ctx: ConnectorContext, config: Any
) -> ActionConnectorPipeline:
    """The action connectors that a trainer of `config` gives its policies.

    Args:
        ctx: The context of the policy.
        config: A dict or an `AlgorithmConfig`.
    """
    setting = _reader(config)
    connectors: list[Connector] = [_class_of("ConvertToNumpyConnector")(ctx)]
    if setting("normalize_actions", True):
        connectors.append(_class_of("NormalizeActionsConnector")(ctx))
    if setting("clip_actions", False):
        connectors.append(_class_of("ClipActionsConnector")(ctx))
    connectors.append(_class_of("ImmutableActionsConnector")(ctx))
    return ActionConnectorPipeline(ctx, connectors)


def get_synced_filter_connector(
    ctx: ConnectorContext, config: Any = None
) -> SyncedFilterAgentConnector:
    """The filter connector that the context's config asks for.

    Args:
        ctx: The context of the policy.
        config: Read instead of the context's config if given.

    Raises:
        ConfigError: It names no filter that has a connector.
    """
    setting = _reader(ctx.config if config is None else config)
    name = setting("observation_filter", "NoFilter")
    if not isinstance(name, str) or name not in _FILTERS:
        raise ConfigError(
            "no such observation_filter",
            expected="NoFilter, MeanStdFilter or ConcurrentMeanStdFilter",
            found=repr(name),
        )
    connector: SyncedFilterAgentConnector = _class_of(_FILTERS[name])(ctx, clip=None)
    return connector


def create_connectors_for_policy(policy: Any, config: Any) -> None:
    """Create the default connectors of `config` for a policy.

    Sets `policy.agent_connectors` and `policy.action_connectors`.

    Args:
        policy: Has spaces, config, view requirements and initial states.
        config: A dict or an `AlgorithmConfig`.

    Raises:
        ConfigError: The policy has connectors already.
    """
    if getattr(policy, "agent_connectors", None) or getattr(policy, "action_connectors", None):
        raise ConfigError(
            "this policy has connectors already.",
            hint="set agent_connectors and action_connectors to None to make new ones.",
        )
    ctx = ConnectorContext.from_policy(policy)
    policy.agent_connectors = get_agent_connectors_from_config(ctx, config)
    policy.action_connectors = get_action_connectors_from_config(ctx, config)


def restore_connectors_for_policy(policy: Any, connector_config: Sequence[Any]) -> Connector:
    """Restore the connector or pipeline of a checkpoint in the context of `policy`.

    Args:
        policy: Has spaces, config, view requirements and initial states.
        connector_config: The pair (name, params).

    Raises:
        UnknownConnectorError: A connector is not registered. Also a NameError.
    """
    name, params = connector_config
    try:
        return get_connector(name, ConnectorContext.from_policy(policy), params)
    except UnknownConnectorError as error:
        raise UnknownConnectorError(
            f"policy {getattr(policy, 'name', '')!r} cannot be connected: {error.message}",
            hint=error.hint,
            **error.facts,
        ) from error


def maybe_get_filters_for_syncing(rollout_worker: Any, policy_id: str) -> None:
    """Let the worker's `filters` name the filter of a policy's first filter connector, if any."""
    policy = rollout_worker.policy_map[policy_id]
    connectors = (
        policy.agent_connectors[SyncedFilterAgentConnector] if policy.agent_connectors else []
    )
    if connectors:
        rollout_worker.filters[policy_id] = connectors[0].filter


def _reader(config: Any) -> Callable[[str, Any], Any]:
    get = getattr(config, "get", None)
    if get is None:
        return lambda name, default: getattr(config, name, default)
    return lambda name, default: get(name, default)


def _preprocesses(setting: Callable[[str, Any], Any]) -> bool:
    if setting("_disable_preprocessor_api", False):
        return False
    preference = setting("preprocessor_pref", "deepmind")
    return preference is not None and not (_is_atari(setting) and preference == "deepmind")


def _is_atari(setting: Callable[[str, Any], Any]) -> bool:
    is_atari = setting("is_atari", None)
    if is_atari is not None:
        return bool(is_atari)
    env = setting("env", None)
    return isinstance(env, str) and (env.startswith("ALE/") or "NoFrameskip-v" in env)
