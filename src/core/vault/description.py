"""A checkpoint in words and plain data: what `inspect` shows and `inspect --json` prints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from ..data.plain_data import as_json
from ..nets.evidence import Records
from ..spaces.own_layout import space_to_data
from ..spaces.text import describe
from ..text.visible import command
from .chosen import chosen
from .file_names import ENV_RUNNER
from .network_words import layer_words, network
from .next_steps import next_steps
from .plain import Plainer
from .proposed_networks import needs_network, proposed_network, records_near
from .records.records import (
    Checkpoint,
    ComponentRecord,
    ConnectorRecord,
    FilterRecord,
    ModuleRecord,
    PolicyRecord,
    fields_of,
)
from .records.weights import WeightTable
from .verdict import judge, verdict

_FACTS: Final = (
    *("path", "kind", "stack", "version", "encoding", "is_ours", "ray_version", "ray_commit"),
    *("algorithm", "algorithm_class", "environment"),
)
_STEPS: Final = ("timesteps_total", "num_env_steps_sampled", "num_env_steps_sampled_lifetime")


def describe_checkpoint(
    checkpoint: Checkpoint, *, policies: Collection[str] | None = None
) -> dict[str, Any]:
    """Everything a checkpoint says about itself, as data that JSON holds."""
    hint = f"see what it holds: {command('inspect', checkpoint.path)}"
    acting = chosen(checkpoint.acting, policies, checkpoint.path, hint=hint)
    recorded = records_near(checkpoint) if any(map(needs_network, acting.values())) else []
    return {
        **fields_of(checkpoint, _FACTS),
        "training_iteration": as_json(checkpoint.training_iteration),
        "steps": as_json(trained_steps(checkpoint)),
        "verdict": vars(verdict(checkpoint)),
        "policies": {
            name: {**_policy(record), "proposal": _proposal(record, recorded)}
            for name, record in acting.items()
            if isinstance(record, PolicyRecord)
        },
        "modules": {
            name: {**_module(record), "proposal": _proposal(record, recorded)}
            for name, record in acting.items()
            if isinstance(record, ModuleRecord)
        },
        "components": [_component(part) for part in checkpoint.components],
        "unsafe": [vars(call) for call in checkpoint.unsafe],
        "foreign": [vars(reference) for reference in checkpoint.foreign],
        "problems": [vars(problem) for problem in checkpoint.problems],
        "skipped": list(checkpoint.skipped),
        "files": [vars(file) for file in checkpoint.files],
        "counters": jsonable(checkpoint.counters),
        "config": jsonable(checkpoint.config),
        "next": next_steps(checkpoint),
    }


def trained_steps(checkpoint: Checkpoint) -> int | None:
    """How many steps of environments it has learnt from, as far as its files tell."""
    counts: list[Any] = [checkpoint.counters.get(name) for name in _STEPS]
    counts += [each.global_timestep for each in checkpoint.policies.values()]
    counts += [
        each.state.get(_STEPS[-1])
        for each in checkpoint.components
        if each.path == ENV_RUNNER and isinstance(each.state, Mapping)
    ]
    return max((each for each in counts if type(each) is int and each > 0), default=None)


def _policy(record: PolicyRecord) -> dict[str, Any]:
    return {
        "policy_class": record.policy_class,
        "algorithm": record.algorithm,
        "framework": record.framework,
        "observation_space": _space(record.environment_space),
        "preprocessed_space": _space(record.observation_space),
        "action_space": _space(record.action_space),
        "network": network(record),
        "custom_model": record.custom_model,
        "model_config": jsonable(record.model_config),
        "connectors": {
            "agent": _connectors(record.agent_connectors),
            "action": _connectors(record.action_connectors),
        },
        "filters": [_filter(each) for each in record.filters],
        "weights": _weights(record.weights),
        "global_timestep": as_json(record.global_timestep),
        "exploration": jsonable(record.config.get("exploration_config")),
        "verdict": vars(judge(record)),
        "where": record.where,
    }


def _module(record: ModuleRecord) -> dict[str, Any]:
    return {
        "module_class": record.module_class,
        "catalog_class": record.catalog_class,
        "observation_space": _space(record.observation_space),
        "action_space": _space(record.action_space),
        "network": network(record),
        "model_config": jsonable(record.model_config),
        "inference_only": record.inference_only,
        "weights": _weights(record.weights),
        "verdict": vars(judge(record)),
        "where": record.where,
    }


def _proposal(record: PolicyRecord | ModuleRecord, records: list[Records]) -> dict[str, Any] | None:
    """The network that names and shapes suggest, where its code is not here."""
    proposed = proposed_network(record, records) if needs_network(record) else None
    if proposed is None:
        return None
    return {
        "layers": layer_words(proposed.network, proposed.guessed),
        "network": proposed.network.as_data(),
        "guessed": list(proposed.guessed),
        "decided": "" if proposed.decision is None else f"{proposed.decision} ({proposed.records})",
    }


def _component(part: ComponentRecord) -> dict[str, Any]:
    pieces, filters = list(map(_connector, part.pieces)), list(map(_filter, part.filters))
    name = part.component_class
    return {"path": part.path, "class": name, "pieces": pieces, "filters": filters}


def _connectors(pipeline: ConnectorRecord | None) -> list[dict[str, Any]] | None:
    return [_connector(piece) for piece in pipeline.children] if pipeline else None


def _connector(piece: ConnectorRecord) -> dict[str, Any]:
    beside = {"module": piece.module, "children": list(map(_connector, piece.children))}
    extras = {name: value for name, value in beside.items() if value}
    return {"name": piece.name, "params": jsonable(piece.params), **extras}


def _filter(statistics: FilterRecord) -> dict[str, Any]:
    return {
        "kind": statistics.kind,
        "count": list(statistics.count),
        "mean": [as_json(array.tolist()) for array in statistics.mean],
        "std": [as_json(array.tolist()) for array in statistics.std],
        "demean": statistics.demean,
        "destd": statistics.destd,
        "clip": as_json(statistics.clip),
        "where": statistics.where,
    }


def _weights(weights: WeightTable) -> dict[str, Any]:
    shapes = {name: weights.describe(name) for name in weights}
    return {
        "named": weights.named,
        "count": weights.parameter_count,
        "arrays": {n: {"shape": list(shape), "dtype": kind} for n, (shape, kind) in shapes.items()},
    }


def _space(space: Any) -> dict[str, Any] | None:
    if space is None:
        return None
    return {"text": describe(space), "data": jsonable(space_to_data(space))}


def jsonable(value: Any) -> Any:
    """Plain data that `json` takes: no arrays, no bytes, no tuples, text keys only."""
    return as_json(Plainer(arrays=False)(value))
