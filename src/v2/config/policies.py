"""The policies of a multi-agent config, however they are given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Space

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError


@dataclass
class PolicySpec:
    """Specification of one module of a multi-agent config.

    Args:
        policy_class: For compatibility with RLlib; use an RLModuleSpec for a custom class.
        observation_space: Its observation space; by default that of its agents.
        action_space: Its action space; by default that of its agents.
        config: A dict of settings for this module only.
    """

    policy_class: Any = None
    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None
    config: Any = None


def as_policies(given: Mapping[str, Any] | Collection[str]) -> dict[str, PolicySpec]:
    """Return one PolicySpec per module id.

    The argument contains ids, or ids with a spec, a tuple of its four parts, a dict of settings or
    None.

    Example:
        >>> sorted(as_policies({"b", "a"}))
        ['a', 'b']
    """
    if not isinstance(given, Mapping):
        given = dict.fromkeys(sorted(given) if isinstance(given, (set, frozenset)) else given)
    return {module_id: _as_policy(module_id, spec) for module_id, spec in given.items()}


def as_test(given: Any) -> Any:
    """Return the ids of modules to train as a list; functions and None are unchanged."""
    if given is None or callable(given):
        return given
    return sorted(given) if isinstance(given, (set, frozenset)) else list(given)


def is_trained(chosen: Any, module_id: str, batch: Any) -> bool:
    """Whether a module is among those to train: all, those of a list, or those a function names."""
    if callable(chosen):
        return bool(chosen(module_id, batch))
    return chosen is None or module_id in chosen


def default_policy_mapping_fn(agent_id: Any, episode: Any = None, **kwargs: Any) -> str:
    """Let one module serve all agents."""
    return DEFAULT_MODULE_ID


def _as_policy(module_id: Any, spec: Any) -> PolicySpec:
    if not isinstance(module_id, str):
        raise ConfigError(
            "config.multi_agent(policies=...)",
            expected="module ids as strings",
            found=f"{module_id!r}",
        )
    if spec is None:
        return PolicySpec()
    if isinstance(spec, Mapping):
        return PolicySpec(config=dict(spec))
    if isinstance(spec, (tuple, list)) and len(spec) == 4:
        return PolicySpec(*spec)
    if hasattr(spec, "observation_space") and hasattr(spec, "action_space"):
        return PolicySpec(
            getattr(spec, "policy_class", None),
            spec.observation_space,
            spec.action_space,
            getattr(spec, "config", None),
        )
    raise ConfigError(
        f"config.multi_agent(policies={{{module_id!r}: ...}})",
        expected="a PolicySpec, None or (class or None, observation space, action space, settings)",
        found=repr(spec),
    )
