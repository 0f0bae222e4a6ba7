"""RLlib's functions for policies and checkpoints, in addition to the methods of `Policy`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space

from ...core.data.checked import mapping
from ...core.data.damage import at
from ...core.types import Array
from ...core.vault import PolicyRecord, open_checkpoint
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.file_names import LEARNT_MODULE, POLICIES, VERSION_KEY
from ...core.vault.layout import Node, locate
from ...core.vault.records.records import warn_of_unsafe
from .build import serialized
from .policy import Policy
from .policy_spec import PolicySpec


def load_policies_from_checkpoint(
    path: str | os.PathLike[str], policy_ids: Iterable[str] | None = None, **options: Any
) -> dict[str, Policy]:
    """The policies of a checkpoint by id, whatever kind of folder or file it is.

    Args:
        path: Any checkpoint of the old stack.
        policy_ids: Only these.
        **options: As for `Policy.from_checkpoint`.

    Raises:
        CheckpointError: The checkpoint cannot be read.
        UnknownNameError: It holds no policy of some name.
    """
    loaded = Policy.from_checkpoint(path, policy_ids, **options)
    return {loaded.name: loaded} if isinstance(loaded, Policy) else loaded


def parse_policy_specs_from_checkpoint(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, PolicySpec], dict[str, dict[str, Any]]]:
    """Return the configs, specs and states of a checkpoint's policies, without building them.

    Returns:
        The trainer config, and a spec and a state per policy id. A state contains "weights",
        "global_timestep", "connector_configs" and the state of the exploration.

    Raises:
        CheckpointError: The checkpoint cannot be read.
    """
    checkpoint = open_checkpoint(path)
    warn_of_unsafe(checkpoint.unsafe)
    records = checkpoint.policies
    config = next((dict(record.config) for record in records.values()), {})
    specs = {
        name: PolicySpec(
            record.policy_class,
            record.observation_space,
            record.action_space,
            dict(record.config),
        )
        for name, record in records.items()
    }
    return config, specs, {name: _state(record) for name, record in records.items()}


@at("exploration_state")
def _exploration_state(record: PolicyRecord) -> Mapping[str, Any]:
    state = record.exploration_state
    return {} if state is None else mapping(state)


def _state(record: PolicyRecord) -> dict[str, Any]:
    connectors = {"agent": record.agent_connectors, "action": record.action_connectors}
    return {
        "weights": dict(record.weights),
        "global_timestep": record.global_timestep or 0,
        "connector_configs": {name: serialized(piece) for name, piece in connectors.items()},
        "_exploration_state": _exploration_state(record),
    }


def create_policy_for_framework(
    policy_id: str,
    policy_class: Any,
    merged_config: Mapping[str, Any],
    observation_space: Space[Any],
    action_space: Space[Any],
    worker_index: int = 0,
    session_creator: Any = None,
    seed: int | None = None,
) -> Policy:
    """A policy with fresh weights, from its spaces and settings.

    Args:
        policy_id: Its name.
        policy_class: A subclass of `Policy`, or the algorithm in any spelling: "PPO",
            "PPOTorchPolicy", ...
        merged_config: The trainer config.
        observation_space: What the network takes.
        action_space: Where actions go.
        worker_index: Of the rollout worker that holds it.
        session_creator: Accepted for compatibility with Ray.
        seed: Of its random numbers.
    """
    is_own = isinstance(policy_class, type) and issubclass(policy_class, Policy)
    kind, algorithm = (policy_class, {}) if is_own else (Policy, {"algorithm": policy_class})
    config = {**merged_config, "worker_index": worker_index}
    policy = kind(observation_space, action_space, config, name=policy_id, **algorithm)
    if seed is not None:
        policy.seed(seed)
    return policy


def compute_log_likelihoods_from_input_dict(policy: Policy, batch: Mapping[str, Any]) -> Array:
    """Log-probabilities (B,) of a batch's actions under a policy.

    Args:
        policy: The policy.
        batch: Columns: "obs", "actions", states ("state_in_0", ...) and earlier actions and
            rewards where the network takes them. Actions are taken as the network gave them, the
            batch being what a policy was trained with.
    """
    states: list[Array] = []
    while (name := f"state_in_{len(states)}") in batch:
        states.append(np.asarray(batch[name]))
    return policy.compute_log_likelihoods(
        batch["actions"],
        batch["obs"],
        states,
        batch.get("prev_actions"),
        batch.get("prev_rewards"),
        actions_normalized=bool(policy.config.get("actions_in_input_normalized", True)),
    )


_TYPES: Final = {
    "algorithm": "Algorithm",
    "worker": "Algorithm",
    "policy": "Policy",
    "module": "RLModule",
}


def get_checkpoint_info(checkpoint: str | os.PathLike[str]) -> dict[str, Any]:
    """Type, format, version and parts of a checkpoint; only names and small JSON files are read.

    Args:
        checkpoint: Its folder, or the file of the oldest format.

    Returns:
        "type" ("Algorithm", "Policy", "RLModule"), "format" ("cloudpickle", "msgpack", ...),
        "checkpoint_version" as text, "checkpoint_dir", "state_file", "policy_ids" and
        "module_ids" as sets or None; and the entries of its JSON file ("ray_version", ...).

    Raises:
        CheckpointError: The path does not exist or contains no checkpoint.
    """
    node = locate(Path(checkpoint), limits_in_force())
    if node.role == "own":
        return _own(node)
    info = {
        "type": _TYPES.get(node.role) or node.metadata.get("type"),
        "format": "cloudpickle" if node.encoding == "pickle" else node.encoding,
        "checkpoint_version": _version(node),
        "checkpoint_dir": str(node.path.parent if node.role == "worker" else node.path),
        "state_file": str(node.state_file) if node.state_file else None,
        "policy_ids": _ids(node.child(POLICIES), "policy"),
        "module_ids": _ids(_modules(node), "module") if node.role == "algorithm" else None,
    }
    more = {k: v for k, v in node.metadata.items() if k not in info}
    return {**info, **more}


def _own(node: Node) -> dict[str, Any]:
    """A checkpoint that rlconnect wrote: its document is read, there is no code in it."""
    checkpoint = open_checkpoint(node.path)
    is_one = checkpoint.kind == "policy"
    return {
        "type": "Policy" if is_one else "Algorithm",
        "format": "rlconnect",
        "checkpoint_version": checkpoint.version,
        "checkpoint_dir": str(node.path),
        "state_file": None,
        "policy_ids": None if is_one else set(checkpoint.policies) or None,
        "module_ids": set(checkpoint.modules) or None,
        "ray_version": checkpoint.ray_version,
    }


def _version(node: Node) -> str:
    version = node.metadata.get(VERSION_KEY)
    if isinstance(version, str):
        return version
    return "0.1" if node.role == "worker" else "1.1"


def _ids(folder: Node | None, role: str) -> set[str] | None:
    if folder is None:
        return None
    return {child.name for child in folder.children if child.role == role} or None


def _modules(node: Node) -> Node | None:
    part: Node | None = node
    for name in LEARNT_MODULE.split("/"):
        part = None if part is None else part.child(name)
    return part
