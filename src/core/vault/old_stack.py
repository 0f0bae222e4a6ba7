"""Old-stack checkpoints, versions 0 to 1.2: decoded states to records."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import NotACheckpointError
from .decode.standins import GlobalRef, Opaque, class_path, integer, mapping_of, version_text
from .decoding import Decoding
from .files import base_name
from .filters_in_files import filter_from_object, filters_of
from .layout import Node
from .names import algorithm_name, policy_algorithm
from .records import Checkpoint, ConnectorRecord, PolicyRecord
from .spaces_in_files import as_space
from .weights import WeightTable

_POLICY_KEYS: Final = frozenset(
    {
        "weights",
        "global_timestep",
        "policy_spec",
        "connector_configs",
        "_optimizer_variables",
        "_exploration_state",
        "checkpoint_version",
    }
)
_SPEC_FIELDS: Final = ("policy_class", "observation_space", "action_space", "config")
# Attribute of an AlgorithmConfig -> its key in the plain config.
_RENAMED: Final = {
    "lambda_": "lambda",
    "input_": "input",
    "callbacks_class": "callbacks",
    "framework_str": "framework",
    "num_rollout_workers": "num_workers",
}
# Far more than a network has: parts of a weight tree, characters in a weight's name.
_MAX_PARTS: Final = 100_000
_MAX_NAME: Final = 500
_HIDDEN: Final = frozenset({"algo_class", "_is_frozen"})


def plain_config(config: Any) -> dict[str, Any]:
    """An algorithm's config as the plain dict it would give, whatever class held it."""
    if isinstance(config, dict):
        return {key: value for key, value in config.items() if isinstance(key, str)}
    attributes = mapping_of(config)
    plain = {
        _RENAMED.get(key, key): value
        for key, value in attributes.items()
        if key not in _HIDDEN and not key.startswith("__")
    }
    if isinstance(config, Opaque) and "num_rollout_workers" in attributes:
        plain["num_rollout_workers"] = attributes["num_rollout_workers"]
    return plain


def merged_config(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The algorithm's config with a policy's own settings on top; `model` is merged by key."""
    merged = {**base, **own}
    if isinstance(base.get("model"), dict) and isinstance(own.get("model"), dict):
        merged["model"] = {**base["model"], **own["model"]}
    return merged


def connectors_of(value: Any) -> ConnectorRecord | None:
    """A serialised connector: a pair of name and parameters, pipelines hold more pairs."""
    if not isinstance(value, (tuple, list)) or not value or not isinstance(value[0], str):
        return None
    name = value[0]
    params = value[1] if len(value) > 1 else None
    if not name.endswith("Pipeline"):
        return ConnectorRecord(name, params)
    children = tuple(
        child
        for child in map(connectors_of, params if isinstance(params, (list, tuple)) else ())
        if child is not None
    )
    return ConnectorRecord(name, None, children=children)


def weights_of(state: Mapping[str, Any]) -> WeightTable:
    """The weights of a policy state: by name, as a bare list, or loose among other keys."""
    held = state.get("weights")
    if held is None:
        held = {k: v for k, v in state.items() if isinstance(k, str) and _is_array(v)}
    if isinstance(held, (list, tuple)):
        arrays = {str(i): np.asarray(w) for i, w in enumerate(held) if _is_array(w)}
        return WeightTable(arrays, named=False)
    flat: dict[str, np.ndarray[Any, Any]] = {}
    # Objects may refer to each other in circles: each part knows the parts above it.
    pending: deque[tuple[str, Any, tuple[int, ...]]] = deque([("", held, ())])
    for _ in range(_MAX_PARTS):
        if not pending:
            break
        prefix, part, above = pending.popleft()
        for name, value in mapping_of(part).items():
            path = f"{prefix}{name}" if isinstance(name, (str, int)) else ""
            if not path or len(path) > _MAX_NAME:
                continue
            if _is_array(value):
                flat[path] = np.asarray(value)
            elif isinstance(value, (dict, Opaque)) and id(value) not in above:
                pending.append((f"{path}.", value, (*above, id(value))))
    return WeightTable(flat)


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc"


def policy_record(
    policy_id: str,
    state: Any,
    decoding: Decoding,
    where: str,
    *,
    spec: Any = None,
    base_config: Mapping[str, Any] | None = None,
    algorithm: str = "",
    worker_filter: Any = None,
    ray_version: str = "",
) -> PolicyRecord:
    """The record of one policy from its decoded state.

    Args:
        policy_id: Its name.
        state: The decoded policy state.
        decoding: Collects problems.
        where: The file, for messages.
        spec: A policy spec from elsewhere (formats 0 and 0.1), used where the state has none.
        base_config: The algorithm's config, for settings the policy does not repeat.
        algorithm: What the algorithm file says it is.
        worker_filter: A filter object saved with the rollout worker.
        ray_version: The release that wrote it.
    """
    held = mapping_of(state)
    spec_held = _spec_fields(held.get("policy_spec")) or _spec_fields(spec)
    config = merged_config(base_config or {}, plain_config(spec_held.get("config") or {}))
    policy_class = class_path(spec_held.get("policy_class"))
    pipelines = mapping_of(held.get("connector_configs"))
    agent, action = connectors_of(pipelines.get("agent")), connectors_of(pipelines.get("action"))
    weights = weights_of(held)
    filters = [*filters_of(agent, decoding, where), *filters_of(action, decoding, where)]
    if not filters:
        from_worker = filter_from_object(worker_filter, decoding, f"{where}: worker filter")
        filters = [from_worker] if from_worker and from_worker.kind != "NoFilter" else []
    if not weights:
        decoding.problem(
            where,
            f"policy {policy_id!r} holds no weights",
            "its state file was saved without them.",
        )
    elif not config:
        lost, needed = ("config", "") if spec_held else ("config and spaces", "spaces and ")
        decoding.problem(
            where,
            f"policy {policy_id!r} has lost its {lost}",
            f"weights and shapes are readable; supply {needed}model config to act with it.",
        )
    spaces = (
        as_space(spec_held.get("observation_space"), decoding, f"{where}: observation space"),
        as_space(spec_held.get("action_space"), decoding, f"{where}: action space"),
    )
    return PolicyRecord(
        id=policy_id,
        policy_class=policy_class,
        algorithm=policy_algorithm(policy_class, algorithm) or _config_algorithm(spec_held),
        framework=_framework(config, policy_class, weights),
        observation_space=spaces[0],
        action_space=spaces[1],
        config=config,
        weights=weights,
        agent_connectors=agent,
        action_connectors=action,
        filters=tuple(filters),
        global_timestep=integer(held.get("global_timestep")),
        exploration_state=held.get("_exploration_state"),
        optimizer=held.get("_optimizer_variables"),
        extra={
            key: value
            for key, value in held.items()
            if key not in _POLICY_KEYS and not ("weights" not in held and _is_array(value))
        },
        where=where,
        ray_version=ray_version,
    )


def _spec_fields(spec: Any) -> Mapping[str, Any]:
    """A policy spec by field: a mapping, an object, or the tuple it was up to Ray 1.13."""
    if isinstance(spec, Opaque) and not spec.mapping():
        spec = spec.args
    if isinstance(spec, (tuple, list)):
        return dict(zip(_SPEC_FIELDS, spec, strict=False))
    return mapping_of(spec)


def _config_algorithm(spec: Mapping[str, Any]) -> str:
    config = spec.get("config")
    return algorithm_name(class_path(config)) if isinstance(config, Opaque) else ""


def _framework(config: Mapping[str, Any], policy_class: str, weights: WeightTable) -> str:
    named = config.get("framework")
    if not weights.named:
        return "tf2"
    if any("/" in name and name.endswith(("/kernel", "/bias")) for name in weights):
        return "tf"
    if isinstance(named, str) and named:
        return {"tfe": "tf2"}.get(named, named)
    return "tf" if "TF" in policy_class else "torch" if weights or "Torch" in policy_class else ""


def read_old(node: Node, decoding: Decoding) -> Checkpoint:
    """An algorithm or policy folder of versions 1.0 to 1.2, or a folder of policies."""
    metadata = node.metadata
    state: Mapping[str, Any] = {}
    if node.role == "algorithm":
        if node.state_file is None:
            decoding.problem(
                base_name(metadata.get("state_file")) or "algorithm_state.pkl",
                "the algorithm's own state is not here",
                "its policies are read without it.",
            )
        state = mapping_of(decoding.attempt(node.state_file, "algorithm", "the algorithm's state"))
    config_object = state.get("config")
    config = plain_config(config_object or {})
    worker = mapping_of(state.get("worker"))
    class_name = class_path(state.get("algorithm_class")) or class_path(config_object)
    algorithm = algorithm_name(class_name, class_path(config_object))
    filters = mapping_of(worker.get("filters"))
    policies: dict[str, PolicyRecord] = {}
    seen: list[str] = []
    for policy_node in policy_nodes(node):
        policy_id = _policy_id(policy_node, node)
        seen.append(policy_id)
        if policy_node.state_file is None:
            _miss_policy(policy_id, policy_node.path, policy_node.metadata, decoding)
            continue
        where = decoding.place(policy_node.state_file)
        if node.role == "policy":
            policy_state = decoding.require(policy_node.state_file, "policy")
        else:
            policy_state = decoding.attempt(policy_node.state_file, "policy", "the policy's state")
            if policy_state is None:
                continue
        policies[policy_id] = policy_record(
            policy_id,
            policy_state,
            decoding,
            where,
            base_config=config,
            algorithm=algorithm,
            worker_filter=filters.get(policy_id),
            ray_version=policy_node.said("ray_version") or node.said("ray_version"),
        )
    promised = [*_texts(metadata.get("policy_ids")), *_texts(worker.get("policy_ids"))]
    _compare_with_promised(list(dict.fromkeys(promised)), seen, node, decoding)
    first = next(iter(policies.values()), None)
    if first is None and not state and not decoding.problems:
        raise NotACheckpointError(f"{node.path} names a checkpoint, but none of its files is there")
    for module in _lost_modules(node):
        decoding.problem(
            decoding.place(module.path), "the learner's copy of a module has no weights"
        )
    version = metadata.get("checkpoint_version") or state.get("checkpoint_version")
    return Checkpoint(
        path=str(node.path),
        kind="algorithm"
        if node.role == "algorithm"
        else "policy"
        if node.role == "policy"
        else "policies",
        stack="old",
        version=version_text(version) or _version_below(node) or "1.0",
        encoding=_encoding(node, metadata),
        ray_version=node.said("ray_version"),
        ray_commit=node.said("ray_commit"),
        algorithm=algorithm or (first.algorithm if first else ""),
        algorithm_class=class_name,
        environment=_environment(config) or (_environment(first.config) if first else ""),
        policies=policies,
        config=config or (first.config if first else {}),
        counters=mapping_of(state.get("counters")),
        training_iteration=integer(state.get("training_iteration")),
        extra={
            "policy_mapping_fn": worker.get("policy_mapping_fn"),
            **{
                key: value
                for key, value in state.items()
                if key not in ("config", "worker", "counters", "algorithm_class")
            },
        },
    )


def policy_nodes(node: Node) -> list[Node]:
    """The folders of single policies in a checkpoint folder."""
    if node.role == "policy":
        return [node]
    holder = node.child("policies") or node
    return [child for child in holder.children if child.role == "policy"]


def _policy_id(policy_node: Node, root: Node) -> str:
    if policy_node is root and not policy_node.name:
        return "default_policy"
    name = policy_node.name
    is_own_folder = policy_node is not root or policy_node.path.parent.name == "policies"
    looks_like_id = name.endswith("policy") or is_own_folder
    return name if looks_like_id else "default_policy"


def _miss_policy(
    policy_id: str, folder: Path, metadata: Mapping[str, Any], decoding: Decoding
) -> None:
    """Say which file of a policy is gone."""
    name = base_name(metadata.get("state_file"))
    if not name:
        name = "policy_state.msgpck" if metadata.get("format") == "msgpack" else "policy_state.pkl"
    decoding.problem(
        decoding.place(folder / name),
        f"the state of policy {policy_id!r} is not here",
        "its weights lie in that file: copy it from where the checkpoint was made.",
        "missing",
    )


def _compare_with_promised(
    promised: list[str], seen: list[str], node: Node, decoding: Decoding
) -> None:
    """Say which policies the algorithm names and the folder lacks, or has under another name."""
    absent = [policy_id for policy_id in promised if policy_id not in seen]
    strange = [policy_id for policy_id in seen if policy_id not in promised]
    if len(absent) == len(strange) == 1:
        decoding.problem(
            f"policies/{strange[0]}",
            f"no policy of that name was saved; it takes the place of {absent[0]!r}",
            f"rename the folder back to {absent[0]} if it was renamed by hand.",
        )
        return
    for policy_id in absent:
        lost = node.path / "policies" / Path(policy_id).name
        _miss_policy(policy_id, lost, {"format": node.metadata.get("format")}, decoding)


def _lost_modules(node: Node) -> list[Node]:
    """Modules of the learner of version 1.2 without weights."""
    learner = node.child("learner")
    below = learner.walk() if learner is not None else ()
    return [n for n in below if n.role == "module" and not n.children and not n.state_file]


def _texts(value: Any) -> list[str]:
    return (
        [text for text in value if isinstance(text, str)] if isinstance(value, (list, set)) else []
    )


def _version_below(node: Node) -> str:
    for part in policy_nodes(node):
        if part.metadata.get("checkpoint_version"):
            return version_text(part.metadata["checkpoint_version"])
    return ""


def _encoding(node: Node, metadata: Mapping[str, Any]) -> str:
    if node.encoding:
        return node.encoding
    below = next((part.encoding for part in policy_nodes(node) if part.encoding), "")
    return below or {"cloudpickle": "pickle"}.get(str(metadata.get("format")), "")


def _environment(config: Mapping[str, Any]) -> str:
    env = config.get("env")
    if isinstance(env, str):
        return env
    return class_path(env) if isinstance(env, (GlobalRef, Opaque)) else ""


def filters_by_policy(worker: Mapping[str, Any]) -> dict[str, Any]:
    """Filter objects a rollout worker saved, by policy id."""
    return {str(key): value for key, value in mapping_of(worker.get("filters")).items()}
