"""Records to and from rlconnect's own format: what an exported policy keeps.

The document of a checkpoint of ours, by its keys:

    policies / modules   id -> the fields of `PolicyRecord` / `ModuleRecord`, spaces as plain
                         data, connectors as nested [name, params] pairs, weights as arrays
    config, counters     of the algorithm, if it came from one
    origin               what was read and who had written it

Classes and functions that the source named stay as `{"__class__": "module.Name"}`: data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from ...errors import CorruptCheckpointError, RlconnectError
from ...spaces.own_layout import space_from_data, space_to_data
from ..decode.standins import integer
from ..decoding import Decoding
from ..layout import Node
from ..own.own_format import StoredArray, read_folder
from ..own.writer import save_file, save_folder
from ..plain import Plainer
from ..records.records import (
    Checkpoint,
    ConnectorRecord,
    FileRecord,
    FilterRecord,
    Kind,
    ModuleRecord,
    PolicyRecord,
    fields_of,
)
from ..records.weights import WeightTable
from .filters_in_files import filters_of
from .old_policy import connectors_of

_POLICY_DATA = (
    *("policy_class", "algorithm", "framework", "config", "global_timestep"),
    *("exploration_state", "optimizer", "extra", "ray_version"),
)
_MODULE_DATA = ("module_class", "catalog_class", "model_config", "inference_only", "extra")
_MAPPINGS = frozenset({"config", "model_config", "extra"})
_TEXTS = frozenset(
    {"policy_class", "algorithm", "framework", "ray_version", "module_class", "catalog_class"}
)
# Of filters that no connector holds; those that one holds are in its parameters.
_FILTER_DATA = ("kind", "count", "mean", "sum_of_squares", "demean", "destd", "clip", "where")
_READ_KEYS = ("policies", "modules", "config", "counters", "origin")
_ELSEWHERE = ("actor", "migrated")  # kinds of folders with several checkpoints
_KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind not in _ELSEWHERE)


def save_records(
    path: str | os.PathLike[str],
    checkpoint: Checkpoint,
    *,
    arrays: Literal["file", "inline"] = "file",
    extra: Mapping[str, Any] | None = None,
    change: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> None:
    """Save the policies and modules of a checkpoint in our own format, all or nothing.

    A path that ends in `.json` makes one file, any other a folder; arrays are "inline" for small
    networks. `extra` are more entries for the document, such as a certificate; `change` gives what
    is written in place of the document.

    Raises:
        CheckpointWriteError: The disk refuses; what was at `path` is untouched.
    """
    document = {**document_of(checkpoint), **(extra or {})}
    document = document if change is None else change(document)
    meta = {"algorithm": checkpoint.algorithm, "environment": checkpoint.environment}
    if os.fspath(path).endswith(".json"):
        save_file(path, document, kind=checkpoint.kind, meta=meta)
    else:
        save_folder(path, document, kind=checkpoint.kind, meta=meta, arrays=arrays)


def document_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """All that a checkpoint of ours keeps of records, as plain data and arrays."""
    plain = Plainer(most=2_000_000)
    document: dict[str, Any] = {}
    if checkpoint.policies:
        document["policies"] = {
            name: _from_policy(policy, plain) for name, policy in checkpoint.policies.items()
        }
    if checkpoint.modules:
        document["modules"] = {
            name: _from_module(module, plain) for name, module in checkpoint.modules.items()
        }
    if checkpoint.kind == "algorithm":
        document["config"] = plain(dict(checkpoint.config))
        document["counters"] = plain(dict(checkpoint.counters))
    document["origin"] = {
        "stack": checkpoint.stack,
        "version": checkpoint.version,
        "ray_version": checkpoint.ray_version,
        "ray_commit": checkpoint.ray_commit,
        "algorithm_class": checkpoint.algorithm_class,
        "training_iteration": checkpoint.training_iteration,
    }
    return document


def _from_policy(record: PolicyRecord, plain: Plainer) -> dict[str, Any]:
    return {
        **_plain_fields(record, _POLICY_DATA, plain),
        **_spaces(record),
        "connectors": {
            "agent": _pairs(record.agent_connectors, plain),
            "action": _pairs(record.action_connectors, plain),
        },
        "filters": [_from_filter(each) for each in record.filters if each.is_from_worker],
        **_weights(record.weights),
    }


def _to_filter(fields: dict[str, Any]) -> FilterRecord:
    return FilterRecord(
        kind=str(fields.get("kind")),
        count=tuple(int(n) for n in fields.get("count", ())),
        mean=tuple(np.asarray(array) for array in fields.get("mean", ())),
        sum_of_squares=tuple(np.asarray(array) for array in fields.get("sum_of_squares", ())),
        demean=bool(fields.get("demean", True)),
        destd=bool(fields.get("destd", True)),
        clip=fields.get("clip"),
        where=str(fields.get("where")),
        is_from_worker=True,
    )


def _from_module(record: ModuleRecord, plain: Plainer) -> dict[str, Any]:
    data = _plain_fields(record, _MODULE_DATA, plain)
    return {**data, **_spaces(record), **_weights(record.weights)}


def _plain_fields(record: Any, names: Sequence[str], plain: Plainer) -> dict[str, Any]:
    fields = fields_of(record, names).items()
    return {name: plain(dict(v) if isinstance(v, Mapping) else v) for name, v in fields}


def _from_filter(statistics: FilterRecord) -> dict[str, Any]:
    fields = fields_of(statistics, _FILTER_DATA).items()
    return {name: list(part) if isinstance(part, tuple) else part for name, part in fields}


def _spaces(record: PolicyRecord | ModuleRecord) -> dict[str, Any]:
    observations, actions = record.observation_space, record.action_space
    spaces = {
        "observation_space": None if observations is None else space_to_data(observations),
        "action_space": None if actions is None else space_to_data(actions),
    }
    original = getattr(observations, "original_space", None)
    if original is not None:
        spaces["original_observation_space"] = space_to_data(original)
    return spaces


def _pairs(piece: ConnectorRecord | None, plain: Plainer) -> Any:
    if piece is None:
        return None
    if piece.is_pipeline:
        return [piece.name, [_pairs(child, plain) for child in piece.children]]
    return [piece.name, plain(piece.params)]


def _weights(weights: WeightTable) -> dict[str, Any]:
    return {"weights": dict(weights), "weights_named": weights.named}


def read_own(node: Node, decoding: Decoding) -> Checkpoint:
    """The records of a checkpoint rlconnect wrote."""
    saved = read_folder(node.path, limits=decoding.limits)
    document = saved.outline
    place = node.metadata_file or node.path.name
    for name, size in node.files.items():
        decoding.files[name] = FileRecord(name, size, "rlconnect")
    policies = {
        name: _policy(name, part, decoding, place) for name, part in _parts(document, "policies")
    }
    modules = {
        name: ModuleRecord(**_fields(name, part, decoding, place, _MODULE_DATA))
        for name, part in _parts(document, "modules")
    }
    origin = _mapping(document.get("origin"))
    if saved.kind not in _KINDS:
        raise CorruptCheckpointError(
            f"{node.path} holds an unknown kind of checkpoint",
            expected=", ".join(_KINDS),
            found=repr(saved.kind),
        )
    return Checkpoint(
        path=str(node.path),
        kind=saved.kind,
        stack="rlconnect",
        version=f"rlconnect {saved.format_version}",
        encoding="safetensors" if saved.arrays else "json",
        ray_version=str(origin.get("ray_version") or "")
        or next((each.ray_version for each in policies.values()), ""),
        ray_commit=str(origin.get("ray_commit") or ""),
        algorithm=str(saved.meta.get("algorithm") or ""),
        algorithm_class=str(origin.get("algorithm_class") or ""),
        environment=str(saved.meta.get("environment") or ""),
        policies=policies,
        modules=modules,
        config=_mapping(_loaded(document.get("config"))),
        counters=_mapping(_loaded(document.get("counters"))),
        training_iteration=integer(origin.get("training_iteration")),
        extra={"origin": origin, "meta": saved.meta}
        | {name: value for name, value in document.items() if name not in _READ_KEYS},
    )


def _parts(document: Mapping[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
    parts = _mapping(document.get(key))
    return [(name, _mapping(part)) for name, part in parts.items()]


def _fields(
    name: str, saved: dict[str, Any], decoding: Decoding, place: str, data_names: tuple[str, ...]
) -> dict[str, Any]:
    """The fields of a policy or module that are data, and those that both kinds have."""
    fields = {key: _loaded(saved.get(key)) for key in data_names}
    fields |= {key: _mapping(fields[key]) for key in _MAPPINGS & fields.keys()}
    fields |= {key: str(fields[key] or "") for key in _TEXTS & fields.keys()}
    for key in ("observation_space", "action_space"):
        fields[key] = _space(saved, key, decoding, place)
    return {**fields, "id": name, "weights": _table(saved), "where": place}


def _policy(name: str, saved: dict[str, Any], decoding: Decoding, place: str) -> PolicyRecord:
    connectors = _mapping(saved.get("connectors"))
    agent = connectors_of(_loaded(connectors.get("agent")))
    action = connectors_of(_loaded(connectors.get("action")))
    return PolicyRecord(
        agent_connectors=agent,
        action_connectors=action,
        filters=(
            *filters_of(agent, decoding, place),
            *(_to_filter(_mapping(_loaded(part))) for part in saved.get("filters") or ()),
        ),
        **_fields(name, saved, decoding, place, _POLICY_DATA),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _loaded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _loaded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_loaded, value))
    return value.read() if isinstance(value, StoredArray) else value


def _space(saved: dict[str, Any], key: str, decoding: Decoding, place: str) -> Any:
    data = saved.get(key)
    if data is None:
        return None
    try:
        space = space_from_data(_loaded(data))
        original = saved.get(f"original_{key}")
        if original is not None:
            space.original_space = space_from_data(_loaded(original))  # type: ignore[attr-defined]
    except RlconnectError as error:
        decoding.problem(place, f"the {key} cannot be read: {error.summary}", error.hint)
        return None
    return space


def _table(saved: dict[str, Any]) -> WeightTable:
    """Weights that are read from the disk when they are used."""
    weights = _mapping(saved.get("weights"))
    stored = {name: part for name, part in weights.items() if isinstance(part, StoredArray)}
    ready = {name: part for name, part in weights.items() if isinstance(part, np.ndarray)}
    return WeightTable(
        ready,
        shapes={name: (part.shape, str(part.dtype)) for name, part in stored.items()},
        load=lambda name: stored[name].read(),
        named=bool(saved.get("weights_named", True)),
    )
