"""A checkpoint in words and plain data: what `inspect` shows and `inspect --json` prints."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from ..algorithms import NETWORKS, acts_by_values, family_of
from ..data.plain_data import as_json
from ..errors import ConfigError
from ..nets.description import Layer, Network, network_of
from ..nets.evidence import Records
from ..nets.setting import NETWORK
from ..spaces.own_layout import space_to_data
from ..spaces.text import describe
from ..text.shell import command
from .chosen import chosen
from .file_names import ENV_RUNNER
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
from .verdict import (
    NOT_TRIED,
    Attempt,
    Tried,
    apart_from_safety,
    claims,
    environment_spaces,
    judge,
    verdict,
)


def network(record: PolicyRecord | ModuleRecord) -> str:
    """The network in one line, from its config and the shapes of its weights."""
    kind = _described(record)
    if not kind and isinstance(record, PolicyRecord) and record.custom_model:
        kind = f"custom model {record.custom_model}"
    kind = kind or ", ".join(_words(record)) or "an unknown network"
    count, arrays = record.weights.parameter_count, len(record.weights)
    numbers = f"{count:,} number{'' if count == 1 else 's'}"
    return f"{kind} ({numbers} in {arrays} array{'' if arrays == 1 else 's'})"


def _described(record: PolicyRecord | ModuleRecord) -> str:
    """A network that is data in words; empty for any other."""
    network = record.model_config.get(NETWORK)
    try:
        return "" if network is None else in_words(network_of(network))
    except ConfigError:
        return "a described network that cannot be read"


def _words(record: PolicyRecord | ModuleRecord) -> Iterator[str]:
    config = record.config if isinstance(record, PolicyRecord) else record.model_config
    algorithm = record.algorithm if isinstance(record, PolicyRecord) else ""
    networks = NETWORKS.get(family_of(algorithm))
    if networks:
        names = ("actor", "twin critics" if config.get("twin_q") else "critic")
        for name, (below, hiddens, activation) in zip(names, networks, strict=True):
            settings = config.get(below) if below else config
            layer_settings = settings if isinstance(settings, Mapping) else {}
            yield f"{name} {_dense(layer_settings, hiddens, activation)}"
        return
    yield from _layers(record.model_config, record.weights)
    if acts_by_values(algorithm) or algorithm == "QMIX":
        yield from _heads(config)
    else:
        yield from _value_net(record)


def _layers(model: Mapping[str, Any], weights: WeightTable) -> Iterator[str]:
    ranks = (len(weights.describe(name)[0]) for name in weights)
    if 4 in ranks or any("conv" in name or ".cnn." in name for name in weights):
        yield "convolutions"
    else:
        key = "fcnet_hiddens" if "fcnet_hiddens" in model else "fc_hiddens"
        dense = _dense(model, key, "fcnet_activation")
        if dense:
            yield dense
    if model.get("use_lstm") or any("lstm" in name for name in weights):
        yield f"LSTM {model.get('lstm_cell_size', '')}".strip()
    if model.get("use_attention"):
        yield "attention (GTrXL)"


def _heads(config: Mapping[str, Any]) -> Iterator[str]:
    hiddens = config.get("hiddens")
    name = "dueling heads" if config.get("dueling") else "head"
    if isinstance(hiddens, Sequence) and hiddens:
        yield f"{name} {_sizes(hiddens)} relu"
    atoms = config.get("num_atoms")
    if isinstance(atoms, int) and 1 < atoms < 10_000:
        yield f"{atoms} atoms"
    if config.get("noisy"):
        yield "noisy layers"


def _value_net(record: PolicyRecord | ModuleRecord) -> Iterator[str]:
    names = list(record.weights)
    separate = ("_value_branch_separate", "critic_encoder", "fc_value_")
    if any(part in name for name in names for part in separate):
        yield "separate value net"
    elif record.model_config.get("vf_share_layers") is True and any(
        name.startswith("vf.") or "value" in name for name in names
    ):
        yield "shared value net"


def _dense(config: Mapping[str, Any], hiddens: str, activation: str) -> str:
    """Sizes and activation as in 'dense 256-256 relu'; empty without dense layers."""
    sizes = config.get(hiddens)
    if not isinstance(sizes, Sequence) or isinstance(sizes, str) or not sizes:
        return ""
    word = config.get(activation)
    return f"dense {_sizes(sizes)} {word if isinstance(word, str) else ''}".strip()


def _sizes(sizes: Sequence[Any]) -> str:
    shown = "-".join(str(size)[:8] for size in sizes[:8])
    return f"{shown}-..." if len(sizes) > 8 else shown


_WEIGHTLESS = ("flatten", "permute", "reshape", "slice", "clip", "divide", "subtract", "activation")


def in_words(network: Network) -> str:
    """The layers that have weights, by kind, and the outputs.

    Example:
        >>> from .description import network_of
        >>> layers = [{"dense": "a", "activation": "tanh"}, {"lstm": "b"}, {"dense": "c"}]
        >>> in_words(network_of({"layers": layers, "outputs": {"logits": "c"}}))
        'described: dense tanh, lstm, dense -> logits'
    """
    shown = [layer for layer in network.layers if layer.kind not in _WEIGHTLESS]
    return f"described: {', '.join(_runs(shown))} -> {', '.join(network.outputs)}"


def _runs(layers: list[Layer]) -> Iterator[str]:
    for (kind, activation), run in groupby(layers, lambda layer: (layer.kind, layer.activation)):
        count = len(list(run))
        words = kind.replace("_", " ") + ("" if activation == "linear" else f" {activation}")
        yield words if count == 1 else f"{count} {words}"


def layer_words(network: Network, guessed: tuple[str, ...] = ()) -> list[str]:
    """Each layer in a line; a question mark behind an activation that is a guess.

    Example:
        >>> from .description import network_of
        >>> layers = [{"dense": "fc", "activation": "relu"}, {"dense": "out"}]
        >>> layer_words(network_of({"layers": layers, "outputs": {"logits": "out"}}), ("fc",))
        ['fc: dense of obs, relu (?)', 'out: dense of fc -> logits']
    """
    heads = {name: output for output, name in network.outputs.items()}
    lines = []
    for layer in network.layers:
        sources = layer.inputs or tuple(map(str, _listed(layer.value)))
        words = f"{layer.name}: {layer.kind.replace('_', ' ')} of {', '.join(sources)}"
        if layer.kind == "parameter":
            words = f"{layer.name}: a parameter"
        settings = ", ".join(f"{name} {value}" for name, value in layer.settings.items())
        words += f", {settings}" if settings else ""
        if layer.activation != "linear":
            words += f", {layer.activation}{' (?)' if layer.name in guessed else ''}"
        lines.append(words + (f" -> {heads[layer.name]}" if layer.name in heads else ""))
    return lines


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []


_FACTS: Final = (
    *("path", "kind", "stack", "version", "encoding", "is_ours", "ray_version", "ray_commit"),
    *("algorithm", "algorithm_class", "environment"),
)
_STEPS: Final = ("timesteps_total", "num_env_steps_sampled", "num_env_steps_sampled_lifetime")


def describe_checkpoint(
    checkpoint: Checkpoint,
    *,
    policies: Collection[str] | None = None,
    tried: Tried = NOT_TRIED,
) -> dict[str, Any]:
    """Describe everything a checkpoint contains, as data that JSON holds.

    Args:
        checkpoint: The checkpoint.
        policies: Only these policies or modules; all of them otherwise.
        tried: Results of loading and running its policies, by id.
    """
    hint = f"see what it holds: {command('inspect', checkpoint.path)}"
    acting = chosen(checkpoint.acting, policies, checkpoint.path, hint=hint)
    recorded = records_near(checkpoint) if any(map(needs_network, acting.values())) else []
    return {
        **fields_of(checkpoint, _FACTS),
        "training_iteration": as_json(checkpoint.training_iteration),
        "steps": as_json(trained_steps(checkpoint)),
        "verdict": {
            **vars(verdict(checkpoint, tried)),
            **claims(apart_from_safety(checkpoint, tried), tried),
        },
        "policies": {
            name: {**_policy(record), **_beside(record, recorded, tried.get(name))}
            for name, record in acting.items()
            if isinstance(record, PolicyRecord)
        },
        "modules": {
            name: {**_module(record), **_beside(record, recorded, tried.get(name))}
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
        "next": next_steps(checkpoint, tried),
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
        "where": record.where,
    }


def _module(record: ModuleRecord) -> dict[str, Any]:
    return {
        "module_class": record.module_class,
        "catalog_class": record.catalog_class,
        "network": network(record),
        "model_config": jsonable(record.model_config),
        "inference_only": record.inference_only,
        "weights": _weights(record.weights),
        "where": record.where,
    }


def _beside(
    record: PolicyRecord | ModuleRecord, recorded: list[Records], attempt: Attempt | None
) -> dict[str, Any]:
    """What is found out about a record: its environment, a network that fits, whether it runs."""
    sees, takes = environment_spaces(record, attempt)
    return {
        "observation_space": _space(sees),
        "preprocessed_space": _space(record.observation_space),
        "action_space": _space(takes),
        "proposal": _proposal(record, recorded),
        "verdict": vars(judge(record, attempt)),
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
    beside = {
        "module": piece.module,
        "children": list(map(_connector, piece.children)),
        "steps": _steps(piece),
    }
    extras = {name: value for name, value in beside.items() if value}
    return {"name": piece.name, "params": jsonable(piece.params), **extras}


def _steps(piece: ConnectorRecord) -> list[str]:
    """The steps of an adapter as calls in text; none of another piece."""
    chain = _mapping(_mapping(piece.params).get("chain"))
    halves = ("action",) if "Actions" in piece.name else ("obs", "reward", "agents")
    steps = [_mapping(step) for half in halves for step in _listed(chain.get(half))]
    return [_call(step) for step in steps if "step" in step]


def _call(step: Mapping[Any, Any]) -> str:
    settings = [f"{key}={value!r}" for key, value in step.items() if key != "step"]
    return f"{step['step']}({', '.join(settings)})"


def _mapping(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


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
