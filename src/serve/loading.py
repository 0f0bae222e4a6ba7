"""Checkpoints as policies that are served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..bridge.front.load import as_policies
from ..core.errors import ConfigError
from .models import Model
from .settings import ServeSettings
from .versions import Version


def first_versions(
    settings: ServeSettings,
    policy_ids: Sequence[str] | None = None,
    agents: Any = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Version]:
    """The policies that a server begins with; each has acted once.

    Args:
        settings: What to serve.
        policy_ids: Only these policies of each checkpoint.
        agents: Which policy plays an agent.
        options: Of `rlconnect.load`.

    Raises:
        ConfigError: No policy is named.
        CheckpointError: One cannot be read.
    """
    if not settings.policies:
        raise ConfigError("there is nothing to serve", expected="the path of a checkpoint")
    for prefix, path in settings.policies.items():
        loading = {**options, "policy_mapping_fn": agents}
        policies = as_policies(path, **loading)
        for id_, policy in policies.items():
            if policy_ids is not None and id_ not in policy_ids:
                continue
            name = id_ if not prefix else prefix if len(policies) == 1 else f"{prefix}/{id_}"
            version = Version(name, 1, policy, path, settings.max_waiting, loading)
            version.try_out()
            yield version


def next_version(model: Model, path: str) -> Version:
    """Another version of a model, loaded from a path; it acts for nobody yet.

    Raises:
        CheckpointError: It cannot be read.
        ConfigError: The checkpoint has several policies, and none of the model's name.
    """
    current = model.current
    policies = as_policies(path, **current.loading)
    wanted = (model.name.rpartition("/")[2], current.policy.id)
    id_ = next((each for each in wanted if each in policies), None)
    if id_ is None:
        if len(policies) != 1:
            raise ConfigError(
                f"{path} has no policy for {model.name!r}", found=", ".join([*policies][:10])
            )
        id_ = next(iter(policies))
    return Version(
        model.name, model.next_number(), policies[id_], path, current.most_waiting, current.loading
    )
