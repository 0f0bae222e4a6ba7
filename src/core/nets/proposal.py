"""Propose a network from the names and shapes of weights, and mark what they do not determine.

Layers whose names contain words such as `value` or `policy` are heads or separate branches, all
others are shared. Within a branch, the order is the first in which the sizes of consecutive layers
match. Activations are not recorded: they follow from the settings, or are a guess.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Final

from ..errors import RlconnectError
from .binding import bind
from .chains import Chain, End, Search
from .description import Network, network_of
from .facts import Facts, Shape
from .heads import with_heads
from .image_guesses import other_scale
from .numpy_layers import activation_name
from .units import Unit, units_of, words_of

_MASKS: Final = ("mask", "avail", "valid", "legal")
_IDLE: Final = ("target", "targets", "aux", "icm", "curiosity", "inverse", "decoder", "old", "rnd")
_RLLIB_LAYERS: Final = ("_hidden_layers", ".net.mlp.", "/fc_1", "/fc_value_1")
"""Parts of the names of RLlib's own dense layers, used in custom classes."""

_OUTPUTS: Final = ("heads", "logits", "outputs")
_MOST_CANDIDATES: Final = 40
_ADVANTAGE, _VALUE = "advantage_module.", "value_module."


@dataclass(frozen=True)
class Proposal:
    """A proposal: the network that fits best, and alternatives that fit as well.

    `comments` describe, by layer, what is not recorded in a file. `guessed` are layers whose
    activation is a guess. `head` is the comment on the network.
    """

    network: Network
    others: tuple[Network, ...]
    comments: Mapping[str, str]
    guessed: tuple[str, ...]
    head: str


def propose(facts: Facts) -> Proposal | None:
    """The likeliest network for weights; None where no order of layers fits."""
    shapes = {name: shape for name, shape in facts.shapes.items() if name not in facts.same}
    actor = [name for name in shapes if name.startswith("action_model.")]
    if actor and any(name.startswith("q_net.") for name in shapes):  # SAC with separate critics
        shapes = {name: shapes[name] for name in actor}
    if any(name.endswith("in_proj_weight") for name in shapes):
        return None  # attention has no kind of layer here
    units, rest = units_of(shapes)
    idle = [unit for unit in units if set(words_of(unit.prefix)) & set(_IDLE)]
    for leave_values, leave_idle in ((False, False), (False, True), (True, False), (True, True)):
        if leave_idle and not idle:
            continue
        used = [unit for unit in units if not (leave_idle and unit in idle)]
        if leave_values:
            used = [unit for unit in used if unit.role != "value"]
            if len(used) == len(units):
                continue
        candidates = _candidates(used, facts)
        if candidates:
            return _proposal(candidates, facts, used, rest)
    return None


def _proposal(
    candidates: Sequence[Network], facts: Facts, used: Sequence[Unit], rest: Sequence[str]
) -> Proposal:
    network, others = candidates[0], tuple(candidates[1:])
    _, reason = _suggested(facts.settings, used)
    comments: dict[str, str] = {}
    guessed = []
    for layer in network.layers:
        if layer.activation != "linear":
            comments[layer.name] = f"activation: {reason}"
            guessed.append(layer.name)
        if layer.kind == "divide":
            comments[layer.name] = "a guess: code mostly brings bytes of images to 0 to 1"
        if layer.kind == "convolution":
            other_names = dict.fromkeys(
                ", ".join(f"{name} {value}" for name, value in other_layer.settings.items())
                or "stride 1"
                for other in others
                for other_layer in other.layers
                if other_layer.name == layer.name and other_layer.settings != layer.settings
            )
            fits = f"; {' or '.join(list(other_names)[:3])} fits as well" if other_names else ""
            text = f"stride and padding follow from the shapes{fits}"
            comments[layer.name] = "\n".join([text, comments.get(layer.name, "")]).strip()
    head = [
        "Proposed from names and shapes of weights. What a file cannot tell is marked below:",
        "look at it, or let recorded outputs decide (`inspect --data FILE`).",
    ]
    if network.unused:
        head.append("Weights under `unused` have no place in the network.")
    return Proposal(network, others, comments, tuple(guessed), "\n".join(head))


def _candidates(units: Sequence[Unit], facts: Facts) -> list[Network]:
    activation, _ = _suggested(facts.settings, units)
    by_form: dict[str, tuple[float, Network]] = {}
    for cost, data in islice(_descriptions(units, facts), _MOST_CANDIDATES * 4):
        key = str(data)
        if key in by_form:
            continue
        network = _bound(data, units, facts, activation)
        if network is not None:
            by_form[key] = cost, network
        if len(by_form) >= _MOST_CANDIDATES:
            break
    networks = [network for _, network in sorted(by_form.values(), key=lambda pair: pair[0])]
    if facts.is_bytes and any(unit.kind == "convolution" for unit in units):
        return list(map(other_scale, networks))
    return networks


def _bound(
    data: dict[str, Any], units: Sequence[Unit], facts: Facts, activation: str
) -> Network | None:
    layers = _with_activations(data, units, activation)
    prefixes = {str(layer[_kind_of(layer)]) for layer in layers}
    used = {name for unit in units for name in unit.names if unit.prefix in prefixes}
    unused = _patterns([name for name in facts.shapes if name not in used], facts.shapes)
    try:
        network = network_of({"layers": layers, "outputs": data["outputs"], "unused": unused})
        inputs = facts.inputs or {"obs": data["lost"]}
        bind(network, facts.shapes, _with_earlier(inputs, facts))
    except RlconnectError:
        return None
    return network


def _with_earlier(inputs: Mapping[str, Shape], facts: Facts) -> dict[str, Shape]:
    return {**inputs, "prev_actions": (facts.action_width,), "prev_rewards": (1,)}


def _descriptions(units: Sequence[Unit], facts: Facts) -> Iterator[tuple[float, dict[str, Any]]]:
    layers = [unit for unit in units if unit.kind != "parameter"]
    free = [unit for unit in units if unit.kind == "parameter" and unit.role == "spread"]
    dueling = [unit for unit in layers if unit.prefix.startswith((_ADVANTAGE, _VALUE))]
    inputs, masks = _inputs_of(facts, layers)
    beside = {"prev_actions": facts.action_width, "prev_rewards": 1}
    widths = {unit.ins for unit in layers if unit.kind in ("dense", "lstm", "gru")}
    sizes_wanted = frozenset(widths | set(facts.sizes) if widths else ())
    search = Search(inputs, beside if facts.inputs else {}, sizes_wanted)
    for trunk, policy, value, spread in _roles(layers, dueling, facts):
        for chain in islice(search.orders(trunk, Chain()), 24):
            for cost, data in with_heads(
                search, chain, policy, value, [*spread, *free], bool(dueling), facts
            ):
                if masks and "logits" in data["outputs"]:
                    data = _masked(data, masks[0])
                yield cost, data


def _roles(
    layers: Sequence[Unit], dueling: Sequence[Unit], facts: Facts
) -> Iterator[tuple[list[Unit], list[Unit], list[Unit], list[Unit]]]:
    """Shared layers, the policy's, the value's, and those of deviations."""
    if dueling:
        yield (
            [unit for unit in layers if unit not in dueling],
            [unit for unit in dueling if unit.prefix.startswith(_ADVANTAGE)],
            [unit for unit in dueling if unit.prefix.startswith(_VALUE)],
            [],
        )
        return
    trunk, policy, value, spread = (
        [unit for unit in layers if unit.role == role] for role in ("", "policy", "value", "spread")
    )
    yield trunk, policy, value, spread
    single = [unit for unit in trunk if unit.kind == "dense" and unit.outs == 1]
    if not value and single and facts.sizes != (1,):
        rest = [unit for unit in trunk if unit is not single[-1]]
        yield rest, policy, single[-1:], spread
    if not policy:
        dense = [unit for unit in trunk if unit.kind == "dense"]
        heads = [unit for unit in dense if not facts.sizes or unit.outs in facts.sizes]
        for several in _heads_side_by_side(dense, facts):
            yield [unit for unit in trunk if unit not in several], several, value, spread
        for head in reversed(heads):
            yield [unit for unit in trunk if unit is not head], [head], value, spread
            if not value and single and single[-1] is not head:
                rest = [unit for unit in trunk if unit not in (head, single[-1])]
                yield rest, [head], single[-1:], spread


def _heads_side_by_side(dense: Sequence[Unit], facts: Facts) -> Iterator[list[Unit]]:
    """Layers in a row that take the same and give one output for each action together."""
    for start in range(len(dense)):
        for stop in range(start + 2, len(dense) + 1):
            several = list(dense[start:stop])
            is_one = len({unit.ins for unit in several}) == 1
            if is_one and sum(unit.outs for unit in several) in facts.sizes:
                yield several


def _masked(data: dict[str, Any], mask: str) -> dict[str, Any]:
    layers = [*data["layers"], {"mask": mask, "input": data["outputs"]["logits"], "name": "masked"}]
    return {**data, "layers": layers, "outputs": {**data["outputs"], "logits": "masked"}}


def _inputs_of(facts: Facts, layers: Sequence[Unit]) -> tuple[list[End], list[str]]:
    """The possible inputs of the first layers, and masks of actions."""
    if not facts.inputs:
        first = next((unit for unit in layers if unit.kind in ("dense", "lstm", "gru")), None)
        return [End("obs", (first.ins if first else 0,))], []
    parts = {name: shape for name, shape in facts.inputs.items() if name != "obs"}
    masks = [
        name
        for name, shape in parts.items()
        if len(shape) == 1
        and shape[0] in facts.sizes
        and any(word in name.rpartition(".")[2].lower() for word in _MASKS)
    ]
    observation = [End("obs", facts.inputs["obs"])]
    holders = {name for name in parts if any(other.startswith(f"{name}.") for other in parts)}
    containers = [End(name, shape) for name, shape in parts.items() if name in holders]
    inner = [End(name, shape) for name, shape in parts.items() if name not in {*holders, *masks}]
    widths = {unit.ins for unit in layers}
    if masks or observation[0].shape[-1] not in widths:
        return [*containers, *inner, *observation] if parts else observation, masks
    return [*observation, *containers, *inner], masks


def _with_activations(
    data: Mapping[str, Any], units: Sequence[Unit], activation: str
) -> list[dict[str, Any]]:
    """Each layer that another one follows with the suggested activation behind it."""
    by_prefix = {unit.prefix: unit for unit in units}
    layers = [dict(layer) for layer in data["layers"]]
    readers: dict[str, list[str]] = defaultdict(list)
    for layer in layers:
        for name in _names_in(layer):
            readers[name].append(_kind_of(layer))
    lists: dict[str, list[int]] = defaultdict(list)
    for unit in units:
        head, place = unit.place
        if place >= 0:
            lists[head].append(place)
    for layer in layers:
        kind = _kind_of(layer)
        unit_of = by_prefix.get(str(layer.get(kind, "")))
        if unit_of is None or kind not in ("dense", "convolution", "layer_norm", "batch_norm"):
            continue
        behind = readers[str(layer.get("name", unit_of.prefix))]
        goes_on = {"dense", "convolution", "lstm", "gru", "pool", "flatten"} & set(behind)
        is_head = not goes_on or _is_output(layer, unit_of, layers)
        if {"layer_norm", "batch_norm"} & set(behind):
            is_head = not _is_slim(unit_of)
        is_slim_norm = kind.endswith("_norm") and any(map(_is_slim, units))
        if is_head or is_slim_norm or _is_followed_at_once(unit_of, lists):
            continue
        is_ours = unit_of.prefix.startswith((_ADVANTAGE, _VALUE))
        layer["activation"] = "relu" if is_ours else activation
    return layers


def _is_output(layer: Mapping[str, Any], unit: Unit, layers: Sequence[Mapping[str, Any]]) -> bool:
    """True if a layer is read only by the layers that flatten the outputs."""
    name = layer.get("name", unit.prefix)
    readers = [each for each in layers if name in _names_in(each)]
    return bool(readers) and all(each.get("name") in _OUTPUTS for each in readers)


def _names_in(layer: Mapping[str, Any]) -> list[str]:
    names: Any = layer.get("input", layer.get("dueling", []))
    return [names] if isinstance(names, str) else list(names)


def _is_slim(unit: Unit) -> bool:
    """True if a unit is RLlib's own layer, which holds its activation."""
    return any("._model." in name for name in unit.names)


def _is_followed_at_once(unit: Unit, lists: Mapping[str, list[int]]) -> bool:
    """True if the next layer of its list stands right behind it, where others leave a gap."""
    head, place = unit.place
    places = sorted(lists.get(head, []))
    gaps = [after - before for before, after in pairwise(places)]
    return place >= 0 and max(gaps, default=1) > 1 and place + 1 in places


def _kind_of(layer: Mapping[str, Any]) -> str:
    return next(iter(layer))


def _suggested(settings: Mapping[str, Any], units: Sequence[Unit]) -> tuple[str, str]:
    inner = settings.get("custom_model_config")
    model_settings = inner if isinstance(inner, Mapping) else {}
    places = [(model_settings, key) for key in model_settings if "activ" in str(key)]
    if any(mark in unit.prefix for unit in units for mark in _RLLIB_LAYERS):
        standard = settings.get("fcnet_activation", "tanh")
        places.append(({"fcnet_activation": standard}, "fcnet_activation"))
    elif str(settings.get("fcnet_activation")) != "tanh":  # "tanh" is also the default
        places.append((settings, "fcnet_activation"))
    for where, key in places:
        try:
            value = where.get(key)
            name = activation_name(value) if isinstance(value, str) else "linear"
        except RlconnectError:
            continue
        if name != "linear":
            return name, f"{name} is what {key} of the settings says; the code may say otherwise"
    return "relu", "relu is a guess, the file does not tell"


def _patterns(names: Sequence[str], shapes: Mapping[str, Shape]) -> list[str]:
    """Return the names, or one pattern if all names with a prefix are included."""
    patterns: list[str] = []
    waiting = list(names)
    while waiting:
        head = waiting[0].split(".")[0]
        alike = [name for name in shapes if name.startswith(f"{head}.")]
        if len(alike) > 1 and set(alike) <= set(waiting) and not set(head) & set("*?["):
            patterns.append(f"{head}.*")
            waiting = [name for name in waiting if name not in alike]
        else:
            patterns.append(waiting.pop(0))
    return patterns
