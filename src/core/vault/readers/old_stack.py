"""Old-stack folders, versions 1.0 to 1.2: an algorithm with its policies, or policies alone.

What one policy's state holds is read by `old_policy`; versions 0 and 0.1 are `worker_file`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...errors import NotACheckpointError
from ..decode.standins import class_path, integer, mapping_of, version_text
from ..decoding import Decoding
from ..file_names import ALGORITHM_STATE, LEARNER, POLICIES, POLICY_STATE, STATE_KEY, VERSION_KEY
from ..files.reading import base_name
from ..layout import Node
from ..names import algorithm_name
from ..records.records import Checkpoint, PolicyRecord
from .old_policy import flat_policies, plain_config, policy_record

_READ_KEYS: Final = ("config", "worker", "counters", "algorithm_class")


def read_old(node: Node, decoding: Decoding) -> Checkpoint:
    """An algorithm or policy folder of versions 1.0 to 1.2, or a folder of policies."""
    metadata = node.metadata
    state: Mapping[str, Any] = {}
    if node.role == "algorithm":
        if node.state_file is None:
            name = base_name(metadata.get(STATE_KEY)) or f"{ALGORITHM_STATE}.pkl"
            summary = "the algorithm's own state is not here"
            decoding.problem(name, summary, "its policies are read without it.")
        state = mapping_of(decoding.attempt(node.state_file, "algorithm", "the algorithm's state"))
    config_object = state.get("config")
    config = plain_config(config_object or {})
    worker = mapping_of(state.get("worker"))
    class_name = class_path(state.get("algorithm_class")) or class_path(config_object)
    algorithm = algorithm_name(class_name, class_path(config_object))
    filters = mapping_of(worker.get("filters"))
    policies: dict[str, PolicyRecord] = {}
    read_ids: list[str] = []
    for policy_node in policy_nodes(node):
        policy_id = _policy_id(policy_node, node)
        read_ids.append(policy_id)
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
    if not read_ids and node.state_file is not None:
        policies = flat_policies(
            state, decoding, decoding.place(node.state_file), ray_version=node.said("ray_version")
        )
    promised = [*_texts(metadata.get("policy_ids")), *_texts(worker.get("policy_ids"))]
    _compare_with_promised(list(dict.fromkeys(promised)), read_ids, node, decoding)
    first = next(iter(policies.values()), None)
    first_config = first.config if first else {}
    if first is None and not state and not decoding.problems:
        raise NotACheckpointError(f"{node.path} names a checkpoint, but none of its files is there")
    learner = node.child(LEARNER)  # of version 1.2
    for part in learner.walk() if learner is not None else ():
        if part.role == "module" and not part.children and not part.state_file:
            place = decoding.place(part.path)
            decoding.problem(place, "the learner's copy of a module has no weights")
    version = metadata.get(VERSION_KEY) or state.get(VERSION_KEY) or node.first(VERSION_KEY)
    return Checkpoint(
        path=str(node.path),
        kind=node.role if node.role in ("algorithm", "policy") else "policies",
        stack="old",
        version=version_text(version) or "1.0",
        encoding=_encoding(node, metadata),
        ray_version=node.said("ray_version"),
        ray_commit=node.said("ray_commit"),
        algorithm=algorithm or (first.algorithm if first else ""),
        algorithm_class=class_name,
        environment=class_path(config.get("env")) or class_path(first_config.get("env")),
        policies=policies,
        config=config or first_config,
        counters=mapping_of(state.get("counters")),
        training_iteration=integer(state.get("training_iteration")),
        extra={
            "policy_mapping_fn": worker.get("policy_mapping_fn"),
            **{key: value for key, value in state.items() if key not in _READ_KEYS},
        },
    )


def policy_nodes(node: Node) -> list[Node]:
    """The folders of single policies in a checkpoint folder."""
    if node.role == "policy":
        return [node]
    holder = node.child(POLICIES) or node
    return [child for child in holder.children if child.role == "policy"]


def _policy_id(policy_node: Node, root: Node) -> str:
    name = policy_node.name
    is_in_its_place = policy_node is not root or policy_node.path.parent.name == POLICIES
    return name if is_in_its_place or name.endswith("policy") else "default_policy"


def _miss_policy(
    policy_id: str, folder: Path, metadata: Mapping[str, Any], decoding: Decoding
) -> None:
    name = base_name(metadata.get(STATE_KEY))
    if not name:
        name = POLICY_STATE + (".msgpck" if metadata.get("format") == "msgpack" else ".pkl")
    decoding.problem(
        decoding.place(folder / name),
        f"the state of policy {policy_id!r} is not here",
        "its weights lie in that file: copy it from where the checkpoint was made.",
        "missing",
    )


def _compare_with_promised(
    promised: list[str], read_ids: list[str], node: Node, decoding: Decoding
) -> None:
    """Say which policies the algorithm names and the folder lacks, or has under another name."""
    absent = [policy_id for policy_id in promised if policy_id not in read_ids]
    strange = [policy_id for policy_id in read_ids if policy_id not in promised]
    if len(absent) == len(strange) == 1:
        decoding.problem(
            f"{POLICIES}/{strange[0]}",
            f"no policy of that name was saved; it takes the place of {absent[0]!r}",
            f"rename the folder back to {absent[0]} if it was renamed by hand.",
        )
        return
    for policy_id in absent:
        lost = node.path / POLICIES / Path(policy_id).name
        _miss_policy(policy_id, lost, {"format": node.metadata.get("format")}, decoding)


def _texts(value: Any) -> list[str]:
    texts = value if isinstance(value, (list, set)) else ()
    return [text for text in texts if isinstance(text, str)]


def _encoding(node: Node, metadata: Mapping[str, Any]) -> str:
    if node.encoding:
        return node.encoding
    below = next((part.encoding for part in policy_nodes(node) if part.encoding), "")
    return below or {"cloudpickle": "pickle"}.get(str(metadata.get("format")), "")
