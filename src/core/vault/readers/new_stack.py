"""New-stack checkpoints, versions 2.0 and 2.1, and the module folders of Ray 2.5 to 2.9."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CheckpointError
from ..decode.standins import class_path, integer, mapping_of, version_text
from ..decoding import Decoding
from ..file_names import (
    CALL_KEY,
    CLASS_KEY,
    LEARNER,
    LEARNER_GROUP,
    LEARNT_MODULE,
    MIGRATION_FILE,
    MODULE,
    MODULE_JSON,
    MODULE_STATE,
    STATE_KEY,
    VERSION_KEY,
)
from ..files.reading import base_name, read_json
from ..layout import Node, is_with_pipelines
from ..names import algorithm_name
from ..records.records import (
    Checkpoint,
    ComponentRecord,
    ConnectorRecord,
    FilterRecord,
    Kind,
    ModuleRecord,
)
from ..records.weights import WeightTable
from .filters_in_files import filter_from_params
from .old_policy import plain_config
from .spaces_in_files import as_space

_ARGUMENT_NAMES = ("observation_space", "action_space", "inference_only", "model_config")
_READ_KEYS = {*_ARGUMENT_NAMES, "module_class", "catalog_class", "catalog_class_path"} | {
    *("model_config_dict", "module_config")
}
_SPEC_KEYS = ("rl_module_specs", "module_specs")


def read_new(node: Node, decoding: Decoding) -> Checkpoint:
    """An algorithm, module, multi-module or any other component folder of the new stack."""
    root = _component(node, decoding)
    modules = read_modules(node, decoding)
    config: Mapping[str, Any] = {}
    state = mapping_of(root.state)
    algorithm_class, extra = "", {}
    if node.role == "algorithm":
        arguments = filter(mapping_of, (*root.args, *root.kwargs.values()))
        config = plain_config(next(arguments, {}))
        algorithm_class = root.component_class
        extra = {key: value for key, value in state.items() if key != "training_iteration"}
    components = [root] if node.role != "module" else []
    components += [_component(part, decoding) for part in _parts(node)]
    for record in modules.values():
        if not record.weights:
            _miss_weights(record, decoding)
    if node.role == "algorithm" and not modules:
        decoding.problem(
            LEARNT_MODULE,
            "the folder with the modules and their weights is not here",
            f"copy {LEARNER_GROUP} from where the checkpoint was made.",
            "missing",
        )
    kind = _kind(node, modules)
    migration = _migration(node, decoding) if kind == "migrated" else {}
    modules = _renamed(modules, migration.get("policy") or node.metadata.get("policy"))
    first = next(iter(modules.values()), None)
    return Checkpoint(
        path=str(node.path),
        kind=kind,
        stack="new",
        version=_version(node),
        encoding=node.encoding or next((p.encoding for p in node.walk() if p.encoding), ""),
        ray_version=node.said("ray_version") or str(migration.get("ray_version") or ""),
        ray_commit=node.said("ray_commit") or node.said("ray_commit_hash"),
        algorithm=algorithm_name(
            algorithm_class,
            class_path(config.get("algo_class")),
            first.catalog_class if first else "",
            first.module_class if first else "",
        ),
        algorithm_class=algorithm_class,
        environment=class_path(config.get("env")),
        modules=modules,
        components=tuple(components),
        config=config,
        training_iteration=integer(state.get("training_iteration")),
        extra=extra,
    )


def _migration(node: Node, decoding: Decoding) -> Mapping[str, Any]:
    """What `migrate` noted of the policy that a folder was made from."""
    try:
        return read_json(node.path / MIGRATION_FILE, decoding.limits)
    except CheckpointError as error:
        decoding.damage(node.path / MIGRATION_FILE, error, "the notes of the migration")
        return {}


def _renamed(modules: dict[str, ModuleRecord], name: Any) -> dict[str, ModuleRecord]:
    """The only module under the name of the policy that it was saved or migrated as."""
    if len(modules) != 1 or not isinstance(name, str) or not name:
        return modules
    (module,) = modules.values()
    return {name: replace(module, id=name)}


def _miss_weights(record: ModuleRecord, decoding: Decoding) -> None:
    """Say which file of a module is gone, unless it was found damaged."""
    folder = "" if record.where == "." else f"{record.where}/"
    if not any(p.kind == "damaged" and p.where.startswith(folder) for p in decoding.problems):
        decoding.problem(
            f"{folder}{MODULE_STATE}.pkl",
            f"the weights of module {record.id!r} are not here",
            f"copy its {MODULE_STATE} file (.pkl, .msgpack or .pt) from where it was made.",
            "missing",
        )


def _kind(node: Node, modules: Mapping[str, ModuleRecord]) -> Kind:
    if node.role == "algorithm":
        return "algorithm"
    if is_with_pipelines(node):
        return "migrated" if MIGRATION_FILE in node.files else "actor"
    if node.role != "module":
        return "component"
    return "multi_module" if node.children or len(modules) > 1 else "module"


def _parts(node: Node) -> Iterator[Node]:
    """Sub-folders that are neither modules nor mere folders, parents first."""
    for child in node.children:
        if child.role in ("component", "algorithm"):
            yield child
        if child.role != "module":
            yield from _parts(child)


def _component(node: Node, decoding: Decoding) -> ComponentRecord:
    where = decoding.place(node.path)
    where = "" if where == "." else where
    constructor = _constructor(node, decoding)
    args, kwargs = _call(constructor.get(CALL_KEY))
    state = None
    if node.role != "module":
        state = decoding.attempt(node.state_file, "state", "its state")
        named = base_name(node.metadata.get(STATE_KEY))
        if node.state_file is None and named:
            decoding.problem(decoding.place(node.path / named), "its own state is not here")
    name = class_path(constructor.get("class"))
    return ComponentRecord(
        path=where,
        component_class=name,
        args=args,
        kwargs=kwargs,
        state=state,
        pieces=_pieces(kwargs.get("connectors")),
        filters=tuple(_filters(name, state, decoding, where)),
    )


def _constructor(node: Node, decoding: Decoding) -> dict[str, Any]:
    """The content of a component's class file; notes a problem if the file is gone."""
    named = base_name(node.metadata.get(CLASS_KEY))
    if node.class_file is None and named:
        decoding.problem(
            decoding.place(node.path / named), "its class and constructor arguments are not here"
        )
    return mapping_of(decoding.attempt(node.class_file, "constructor", "what it is built from"))


def _call(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return (), {}
    args, kwargs = value
    return tuple(args) if isinstance(args, (tuple, list)) else (), mapping_of(kwargs)


def _pieces(connectors: Any) -> tuple[ConnectorRecord, ...]:
    """Connector pieces saved as (class, args, kwargs) triples."""
    pieces = []
    for triple in connectors if isinstance(connectors, (list, tuple)) else ():
        if isinstance(triple, (list, tuple)) and triple:
            path = class_path(triple[0])
            args, kwargs = _call(tuple(triple[1:3]))
            nested = _pieces(kwargs.get("connectors"))
            module, _, name = path.rpartition(".")
            params = {**{f"argument {i}": a for i, a in enumerate(args)}, **kwargs}
            pieces.append(ConnectorRecord(name or path, params, module, nested))
    return tuple(pieces)


def _filters(name: str, state: Any, decoding: Decoding, where: str) -> Iterator[FilterRecord]:
    """Filter statistics in a component's state: one per agent, or its own."""
    agents: list[tuple[Any, Any]] = [("", state), *mapping_of(state).items()]
    for agent, agent_state in agents:
        params = mapping_of(agent_state)
        if "running_stats" in params:
            place = f"{where}: {agent}" if agent else where
            statistics = filter_from_params(name.rpartition(".")[2], params, decoding, place)
            if statistics is not None:
                yield statistics


def read_modules(node: Node, decoding: Decoding) -> dict[str, ModuleRecord]:
    """The modules of a checkpoint by id; the learner's copy goes before a runner's."""
    roots = [part for part in node.walk() if part.role == "module"]
    tops = [part for part in roots if not any(part in other.children for other in roots)]
    learners = [part for part in tops if LEARNER in decoding.place(part.path).split("/")]
    modules: dict[str, ModuleRecord] = {}
    for top in learners or tops:
        for record in _module_tree(top, decoding):
            if record.id not in modules or not modules[record.id].weights:
                modules[record.id] = record
    return modules


def _module_tree(node: Node, decoding: Decoding) -> Iterator[ModuleRecord]:
    leaves = [child for child in node.children if child.role == "module"]
    constructor = _constructor(node, decoding)
    _, kwargs = _call(constructor.get(CALL_KEY))
    specs = mapping_of(next((kwargs[key] for key in _SPEC_KEYS if kwargs.get(key)), None))
    if not leaves and not specs:
        name = node.name if node.name not in (MODULE, MODULE_STATE, "checkpoint") else ""
        own_id = name if node.path != decoding.root and name else "default_policy"
        yield _module(node, own_id, decoding, {})
        return
    if not specs:
        spec_dict = mapping_of(node.metadata.get("module_spec_dict"))
        specs = mapping_of(spec_dict.get("module_specs"))
    for leaf in leaves:
        yield _module(leaf, leaf.name, decoding, mapping_of(specs.get(leaf.name)))
    lost_ids = {each for each in specs if isinstance(each, str)} - {leaf.name for leaf in leaves}
    for lost in sorted(lost_ids):
        lost_node = Node(node.path / Path(lost).name, "module")
        yield _module(lost_node, lost, decoding, mapping_of(specs[lost]))


def _module(
    node: Node, module_id: str, decoding: Decoding, spec: Mapping[str, Any]
) -> ModuleRecord:
    where = decoding.place(node.path)
    constructor = _constructor(node, decoding)
    args, kwargs = _call(constructor.get(CALL_KEY))
    facts: dict[str, Any] = {**dict(zip(_ARGUMENT_NAMES, args, strict=False)), **kwargs}
    metadata_spec = mapping_of(node.metadata.get("module_spec_dict"))
    facts.update(mapping_of(facts.pop("config", None)))
    for source in (spec, metadata_spec, mapping_of(metadata_spec.get("module_config"))):
        facts.update({k: v for k, v in source.items() if facts.get(k) is None})
    module_class = class_path(constructor.get("class")) or class_path(facts.get("module_class"))
    catalog = facts.get("catalog_class") or facts.get("catalog_class_path")
    model_config = facts.get("model_config") or facts.get("model_config_dict")
    inference_only = facts.get("inference_only")
    return ModuleRecord(
        id=module_id,
        module_class=module_class,
        catalog_class=class_path(catalog),
        observation_space=as_space(facts.get("observation_space"), decoding, f"{where}: obs"),
        action_space=as_space(facts.get("action_space"), decoding, f"{where}: actions"),
        model_config=mapping_of(model_config),
        inference_only=inference_only if isinstance(inference_only, bool) else None,
        weights=_weights(node, decoding),
        extra={key: value for key, value in facts.items() if key not in _READ_KEYS},
        where=where,
    )


def _weights(node: Node, decoding: Decoding) -> WeightTable:
    if node.state_file is None:
        return WeightTable()
    try:
        state = decoding.decode(node.state_file, "module")
    except CheckpointError as error:
        decoding.damage(node.state_file, error)
        return WeightTable()
    arrays = {
        name: np.asarray(value)
        for name, value in mapping_of(state).items()
        if isinstance(name, str) and isinstance(value, (np.ndarray, np.generic))
    }
    return WeightTable(arrays)


def _version(node: Node) -> str:
    version = node.first(VERSION_KEY)
    if version:
        return version_text(version)
    return "1.2" if any(part.metadata_file == MODULE_JSON for part in node.walk()) else "2.0"
