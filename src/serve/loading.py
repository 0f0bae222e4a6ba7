"""Checkpoints as policies that are served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..bridge.front.load import as_policies
from ..bridge.loading.mapping import Casting
from ..core.errors import ConfigError
from .models import Model
from .settings import ServeSettings
from .versions import Version


def first_versions(
    settings: ServeSettings,
    policy_ids: Sequence[str] | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[list[Version], Casting | None]:
    """The policies that a server begins with, each of which has acted once, and their agents.

    Raises:
        ConfigError: No policy is named, or an agent's is none of them.
        CheckpointError: One cannot be read.
    """
    versions, agents = [], dict(settings.agents)
    if not settings.policies:
        raise ConfigError("there is nothing to serve", expected="the path of a checkpoint")
    for prefix, path in settings.policies.items():
        loading = {**options, "policy_mapping_fn": settings.agents or None}
        policies = as_policies(path, **loading)
        for id_, policy in policies.items():
            if policy_ids is not None and id_ not in policy_ids:
                continue
            name = id_ if not prefix else prefix if len(policies) == 1 else f"{prefix}/{id_}"
            version = Version(name, 1, policy, path, settings.max_waiting, loading)
            version.try_out()
            versions.append(version)
            mapping = policies.policy_mapping_fn
            if not settings.agents and isinstance(mapping, Mapping):
                agents |= {agent: name for agent, played in mapping.items() if played == id_}
    names = [version.name for version in versions]
    for agent, name in agents.items():
        if name not in names:
            raise ConfigError(
                f"agent {agent!r} has no policy {name!r}", expected=", ".join(names[:20])
            )
    return versions, Casting(names, agents) if agents else None


def next_version(model: Model, path: str, number: int | None = None) -> Version:
    """Another version of a model, loaded from a path and not used yet.

    Raises:
        CheckpointError: It cannot be read.
        ConfigError: The checkpoint has several policies, and none of the model's name.
    """
    current = model.current
    policies = as_policies(path, **current.loading)
    ids = (model.name.rpartition("/")[2], current.policy.id)
    id_ = next((policy_id for policy_id in ids if policy_id in policies), None)
    if id_ is None:
        if len(policies) != 1:
            raise ConfigError(
                f"{path} has no policy for {model.name!r}", found=", ".join([*policies][:10])
            )
        id_ = next(iter(policies))
    number = model.next_number() if number is None else number
    waiting, loading = current.most_waiting, current.loading
    return Version(model.name, number, policies[id_], path, waiting, loading)
