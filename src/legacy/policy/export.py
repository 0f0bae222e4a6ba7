"""Convert live policies to records and to checkpoints in rlconnect's format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ...core.errors import MissingPartError
from ...core.spaces.ray_layouts import space_to_dict
from ...core.vault import Checkpoint, FilterRecord, PolicyRecord, WeightTable, save_records
from ...core.vault.readers.old_policy import connectors_of

if TYPE_CHECKING:
    from .policy import Policy


def policy_record_of(policy: Policy) -> PolicyRecord:
    """The record of a live policy: what it was loaded from, with what has changed since."""
    source = policy.record or PolicyRecord(id=policy.name)
    agent, action = saved_pipelines(policy)
    return replace(
        source,
        policy_class=source.policy_class or f"{policy.algorithm}TorchPolicy",
        algorithm=policy.algorithm,
        framework="torch",
        observation_space=policy.observation_space,
        action_space=policy.action_space,
        config=dict(policy.config),
        weights=WeightTable(policy.get_weights()),
        agent_connectors=None if agent is None else connectors_of(agent),
        action_connectors=None if action is None else connectors_of(action),
        filters=_filters(source.filters),
        global_timestep=policy.global_timestep,
        exploration_state=policy.get_exploration_state(),
        extra={**source.extra, "num_grad_updates": policy.num_grad_updates},
    )


def _filters(filters: tuple[FilterRecord, ...]) -> tuple[FilterRecord, ...]:
    """Filters no connector holds and that never acted; the others live in a connector now."""
    return tuple(f for f in filters if f.is_from_worker and not max(f.count, default=0))


def saved_pipelines(policy: Policy) -> tuple[Any, Any]:
    """Both pipelines as serialised pairs, without the episodes that run in them.

    An episode's history does not outlive a process, so its last answers alone would mislead.
    """
    agent, action = policy.agent_connectors, policy.action_connectors
    return (
        None if agent is None else _without_episodes(agent.to_state()),
        None if action is None else action.to_state(),
    )


def _without_episodes(pair: tuple[str, Any]) -> tuple[str, Any]:
    name, params = pair
    if name == "AgentConnectorPipeline":
        return name, [_without_episodes(child) for child in params]
    return name, None if name == "StateBufferConnector" else params


def export_policy(
    policy: Policy,
    path: str | os.PathLike[str],
    *,
    arrays: Literal["file", "inline"] = "file",
) -> None:
    """Save one policy; see `Policy.export_checkpoint`."""
    record = _certified(policy, policy_record_of(policy))
    env = record.config.get("env")
    checkpoint = _checkpoint(path, "policy", {record.id: record})
    checkpoint = replace(checkpoint, environment=env if isinstance(env, str) else "")
    save_records(path, checkpoint, arrays=arrays)


def export_policies(
    policies: Mapping[str, Policy],
    path: str | os.PathLike[str],
    *,
    arrays: Literal["file", "inline"] = "file",
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Save several policies as one checkpoint, by id.

    Args:
        policies: By id.
        path: The folder to write; a name that ends in `.json` makes one file.
        arrays: "inline" writes the weights into the JSON, for small networks.
        extra: More entries for the document, plain data.

    Raises:
        MissingPartError: There are none.
    """
    if not policies:
        raise MissingPartError("there are no policies to export", hint="pass at least one.")
    records = {
        name: _certified(policy, replace(policy_record_of(policy), id=name))
        for name, policy in policies.items()
    }
    save_records(path, _checkpoint(path, "policies", records), arrays=arrays, extra=extra)


def _checkpoint(
    path: str | os.PathLike[str], kind: Literal["policy", "policies"], records: dict[str, Any]
) -> Checkpoint:
    algorithm = next(iter(records.values())).algorithm
    return Checkpoint(os.fspath(path), kind, "rlconnect", "", algorithm=algorithm, policies=records)


def _certified(policy: Policy, record: PolicyRecord) -> PolicyRecord:
    """The record with a parity certificate, so that any machine can check what it loads."""
    from .certificate import certificate_of

    return replace(record, extra={**record.extra, "certificate": certificate_of(policy)})


def policy_state(policy: Policy) -> dict[str, Any]:
    """A policy's state under RLlib's keys, as plain data and arrays."""
    connectors = {
        name: None if pipeline is None else pipeline.to_state()
        for name, pipeline in (
            ("agent", policy.agent_connectors),
            ("action", policy.action_connectors),
        )
    }
    return {
        "weights": policy.get_weights(),
        "global_timestep": policy.global_timestep,
        "num_grad_updates": policy.num_grad_updates,
        "algorithm": policy.algorithm,
        "policy_spec": {
            "policy_class": f"{policy.algorithm}TorchPolicy",
            "observation_space": space_to_dict(policy.observation_space),
            "action_space": space_to_dict(policy.action_space),
            "config": dict(policy.config),
        },
        "connector_configs": connectors,
        "_exploration_state": policy.get_exploration_state(),
    }
