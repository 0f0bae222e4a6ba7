"""One policy of the old stack: its decoded state as a record."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from ..decode.standins import Opaque, class_path, integer, mapping_of
from ..decoding import Decoding
from ..names import algorithm_name, policy_algorithm
from ..records.records import ConnectorRecord, PolicyRecord
from ..records.weights import WeightTable
from .filters_in_files import filter_from_object, filters_of
from .spaces_in_files import as_space

_POLICY_KEYS: Final = frozenset(
    [
        *("weights", "global_timestep", "policy_spec", "connector_configs"),
        *("_optimizer_variables", "_exploration_state", "checkpoint_version"),
    ]
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
FLAT_WEIGHTS: Final = "flat"
"""The name of weights that are one vector: those of ES and ARS."""

# Far more than a network has: parts of a weight tree, characters in a weight's name.
_MAX_PARTS: Final = 100_000
_MAX_NAME: Final = 500
_NETWORKS: Final = ("model", "policy_model_config", "q_model_config", "policy_model", "Q_model")
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


def merged_config(
    base: Mapping[str, Any], changes: Mapping[str, Any], by_key: Iterable[str] = ("model",)
) -> dict[str, Any]:
    """The algorithm's config with a policy's own settings on top.

    Settings in `by_key` are dicts merged by key, not replaced.
    """
    merged = {**base, **changes}
    for name in by_key:
        if isinstance(base.get(name), dict) and isinstance(changes.get(name), dict):
            merged[name] = {**base[name], **changes[name]}
    return merged


def connectors_of(value: Any) -> ConnectorRecord | None:
    """A serialised connector: a pair of name and parameters, pipelines hold more pairs."""
    if not isinstance(value, (tuple, list)) or not value or not isinstance(value[0], str):
        return None
    name = value[0]
    params = value[1] if len(value) > 1 else None
    if not name.endswith("Pipeline"):
        return ConnectorRecord(name, params)
    children = map(connectors_of, params if isinstance(params, (list, tuple)) else ())
    return ConnectorRecord(name, None, children=tuple(filter(None, children)))


def policy_state(state: Any) -> Mapping[str, Any]:
    """A policy's state as a mapping, whichever form its release and algorithm gave it.

    Up to Ray 0.8 DDPG, TD3 and DQN saved a list of weights by name and what their exploration
    holds, MADDPG a list of arrays.
    """
    if isinstance(state, (list, tuple)):
        named = next((mapping_of(part) for part in state if mapping_of(part)), None)
        if named is not None:
            return named
        return {"weights": list(state)} if any(map(_is_array, state)) else {}
    return mapping_of(state)


def weights_of(state: Mapping[str, Any]) -> WeightTable:
    """The weights of a policy state: by name, as a bare list, or among other keys."""
    saved = state.get("weights", state.get("_state"))  # eager TensorFlow, up to Ray 1.2
    if saved is None:
        saved = {k: v for k, v in state.items() if isinstance(k, str) and _is_array(v)}
    if saved == {}:  # one network a key, as QMIX has them
        saved = {k: v for k, v in state.items() if k not in _POLICY_KEYS}
    if isinstance(saved, (list, tuple)):
        arrays = {str(i): np.asarray(w) for i, w in enumerate(saved) if _is_array(w)}
        return WeightTable(arrays, named=False)
    flat: dict[str, np.ndarray[Any, Any]] = {}
    # Objects may refer to each other in circles: each part knows the parts above it.
    pending: deque[tuple[str, Any, tuple[int, ...]]] = deque([("", saved, ())])
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

    `spec` comes from elsewhere (formats 0 and 0.1) and is used where the state has none;
    `base_config` has the settings that the policy does not repeat.
    """
    fields = mapping_of(state)
    own_spec = _spec_fields(fields.get("policy_spec"))
    spec_fields = own_spec or _spec_fields(spec)
    # A policy's own spec holds its whole config, one from elsewhere what differs.
    settings = plain_config(spec_fields.get("config") or {})
    config = merged_config(base_config or {}, settings, ("model",) if own_spec else _NETWORKS)
    policy_class = class_path(spec_fields.get("policy_class"))
    config_held = spec_fields.get("config")
    by_config = algorithm_name(class_path(config_held)) if isinstance(config_held, Opaque) else ""
    pipelines = mapping_of(fields.get("connector_configs"))
    agent, action = connectors_of(pipelines.get("agent")), connectors_of(pipelines.get("action"))
    weights = weights_of(fields)
    filters = [*filters_of(agent, decoding, where), *filters_of(action, decoding, where)]
    if not filters:
        from_worker = filter_from_object(worker_filter, decoding, f"{where}: worker filter")
        filters = [from_worker] if from_worker and from_worker.kind != "NoFilter" else []
    if not weights:
        summary = f"policy {policy_id!r} holds no weights"
        decoding.problem(where, summary, "its state file was saved without them.")
    elif not config:
        lost, needed = ("config", "") if spec_fields else ("config and spaces", "spaces and ")
        decoding.problem(
            where,
            f"policy {policy_id!r} has lost its {lost}",
            f"weights and shapes are readable; supply {needed}model config to act with it.",
        )
    observations, actions = spec_fields.get("observation_space"), spec_fields.get("action_space")
    return PolicyRecord(
        id=policy_id,
        policy_class=policy_class,
        algorithm=policy_algorithm(policy_class, algorithm) or by_config,
        framework=_framework(config, policy_class, weights),
        observation_space=as_space(observations, decoding, f"{where}: observation space"),
        action_space=as_space(actions, decoding, f"{where}: action space"),
        config=config,
        weights=weights,
        agent_connectors=agent,
        action_connectors=action,
        filters=tuple(filters),
        global_timestep=integer(fields.get("global_timestep")),
        exploration_state=fields.get("_exploration_state"),
        optimizer=fields.get("_optimizer_variables"),
        extra={
            key: value
            for key, value in fields.items()
            if key not in _POLICY_KEYS and not ("weights" not in fields and _is_array(value))
        },
        where=where,
        ray_version=ray_version,
    )


def flat_policies(
    state: Mapping[str, Any], decoding: Decoding, where: str, **known: Any
) -> dict[str, PolicyRecord]:
    """The one policy of ES or ARS, if a trainer's state holds one.

    They save a vector of weights and a filter: no spaces, no config, not even which of the two it
    was. They act alike.
    """
    vector = state.get("weights")
    if not isinstance(vector, np.ndarray) or vector.ndim != 1 or not _is_array(vector):
        return {}
    weights = {"weights": {FLAT_WEIGHTS: vector}}
    known |= {"algorithm": "ES", "worker_filter": state.get("filter")}
    record = policy_record("default_policy", weights, decoding, where, **known)
    return {record.id: record}


def _spec_fields(spec: Any) -> Mapping[str, Any]:
    """A policy spec by field: a mapping, an object, or the tuple it was up to Ray 1.13."""
    if isinstance(spec, Opaque) and not spec.mapping():
        spec = spec.args
    if isinstance(spec, (tuple, list)):
        return dict(zip(_SPEC_FIELDS, spec, strict=False))
    return mapping_of(spec)


def _framework(config: Mapping[str, Any], policy_class: str, weights: WeightTable) -> str:
    named = config.get("framework")
    if not weights.named:
        return "tf2"
    if any("/" in name and name.endswith(("/kernel", "/bias")) for name in weights):
        return "tf"
    if isinstance(named, str) and named:
        return {"tfe": "tf2"}.get(named, named)
    return "tf" if "TF" in policy_class else "torch" if weights or "Torch" in policy_class else ""
