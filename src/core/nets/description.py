"""A network as data: layers by the names of their weights, in the order they are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..errors import ConfigError
from ..limits.asking import BOUNDS
from ..text.near_names import did_you_mean, near_names
from .kinds import INPUTS, KINDS, OUTPUTS
from .numpy_layers import activation_name

_BESIDE: Final = ("input", "name", "activation", "weights")
_TOP: Final = ("layers", "outputs", "unused", "shapes")


@dataclass(frozen=True)
class Layer:
    """A layer of one of `KINDS`.

    `value` is the value of the key `kind`: the prefix of its weights, or its setting. Later layers
    refer to its output by `name`. Several inputs are concatenated along the last axis. `weights`
    maps parts to names of weights, if they differ from the default.
    """

    kind: str
    value: Any
    name: str
    inputs: tuple[str, ...]
    activation: str = "linear"
    settings: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Network:
    """A network: its layers, its outputs, and the weights that it does not use.

    Args:
        layers: In order of computation.
        outputs: Layers by type of output: `logits`, `value`, `q`.
        unused: Names of weights that inference does not need; `*` matches any letters.
        shapes: Shapes of all weights by name, for a network that is built without weights.

    Example:
        >>> network = network_of({
        ...     "layers": [{"dense": "fc", "activation": "tanh"}, {"dense": "out"}],
        ...     "outputs": {"logits": "out"},
        ... })
        >>> [layer.inputs for layer in network.layers]
        [('obs',), ('fc',)]
    """

    layers: tuple[Layer, ...]
    outputs: Mapping[str, str]
    unused: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def inputs(self) -> list[str]:
        """The names of its inputs."""
        names = [name for layer in self.layers for name in sources(layer)]
        return [name for name in dict.fromkeys(names) if is_input(name)]

    def as_data(self) -> dict[str, Any]:
        """The network as the plain data that `network_of` takes."""
        data: dict[str, Any] = {
            "layers": [_layer_data(layer) for layer in self.layers],
            "outputs": dict(self.outputs),
        }
        if self.unused:
            data["unused"] = list(self.unused)
        if self.shapes:
            data["shapes"] = {name: list(shape) for name, shape in self.shapes.items()}
        return data


def network_of(data: Any) -> Network:
    """Parse and validate a network described as plain data; return a `Network` unchanged.

    Raises:
        ConfigError: An entry is unknown, missing or of the wrong type.
    """
    if isinstance(data, Network):
        return data
    if not isinstance(data, Mapping):
        raise ConfigError(
            "the description of a network", expected="a mapping", found=type(data).__name__
        )
    _check_keys("the description of a network", data, _TOP)
    layers_data = data.get("layers")
    if not isinstance(layers_data, Sequence) or isinstance(layers_data, str) or not layers_data:
        raise ConfigError(
            "the description of a network has no layers",
            expected="a list `layers`, one table each",
            found=type(layers_data).__name__ if layers_data is not None else "none",
            hint="`inspect --write-model FILE.toml` writes one to start from.",
        )
    if len(layers_data) > BOUNDS["layers"].most:
        raise ConfigError(
            "the description of a network",
            expected=f"at most {BOUNDS['layers'].most:,} layers",
            found=f"{len(layers_data):,}",
        )
    layers: list[Layer] = []
    for index, each in enumerate(layers_data):
        layers.append(_layer(index, each, layers))
    outputs = _outputs(data.get("outputs"), {layer.name for layer in layers})
    return Network(tuple(layers), outputs, _patterns(data.get("unused")), _shapes(data))


def is_input(name: str) -> bool:
    """True if a name is an input of the network, not a layer."""
    return name in INPUTS or name.startswith("obs.")


def sources(layer: Layer) -> tuple[str, ...]:
    """All that a layer reads: its inputs, and the names in its own setting."""
    if layer.kind in ("add", "multiply", "dueling"):
        return tuple(layer.value)
    return (*layer.inputs, layer.value) if layer.kind == "mask" else layer.inputs


def _layer(index: int, data: Any, before: Sequence[Layer]) -> Layer:
    where = f"layer {index + 1} of the network"
    if not isinstance(data, Mapping):
        raise ConfigError(where, expected="a table", found=type(data).__name__)
    kinds = [key for key in data if key in KINDS]
    if kinds == ["activation"]:
        kind, activation = "activation", "linear"
    else:
        kinds = [key for key in kinds if key != "activation"]
        if len(kinds) != 1:
            allowed = {*KINDS, *_BESIDE}.union(*(kind.settings for kind in KINDS.values()))
            strange = [str(key) for key in data if key not in allowed]
            near = [name for key in strange for name in near_names(key, KINDS)]
            raise ConfigError(
                f"{where} must be of one kind",
                expected=f"one of {', '.join(KINDS)}",
                found=", ".join(map(str, kinds)) or ", ".join(map(repr, list(data)[:8])) or "none",
                hint=f"did you mean {near[0]!r}?" if near else "",
            )
        kind, activation = kinds[0], activation_name(data.get("activation"))
    rules = KINDS[kind]
    _check_keys(where, data, (kind, *_BESIDE, *rules.settings))
    value = _checked(where, kind, rules.value, data[kind], rules.words)
    if kind == "activation":
        value = activation_name(value)
    settings = {
        name: _checked(where, name, check, data[name])
        for name, check in rules.settings.items()
        if name in data
    }
    name = _name(where, kind, index, value, data, before)
    inputs = _inputs(where, kind, data, before)
    weights = _weights(where, rules.parts, data.get("weights"))
    layer = Layer(kind, value, name, inputs, activation, settings, weights)
    earlier = {each.name for each in before}
    for source in sources(layer):
        if source not in earlier and not is_input(source):
            raise ConfigError(
                f"{where} ({name!r}) reads what no layer before it gives",
                expected=f"one of {', '.join([*INPUTS, *earlier][:20])}",
                found=repr(source)[:200],
                hint=did_you_mean(
                    source,
                    [*earlier, *INPUTS],
                    otherwise="list layers in the order of computation.",
                ),
            )
    return layer


def _name(
    where: str, kind: str, index: int, value: Any, data: Mapping[str, Any], before: Sequence[Layer]
) -> str:
    is_named = isinstance(value, str) and kind not in ("activation", "mask", "pool")
    name = data.get("name", value if is_named else f"{kind}_{index + 1}")
    if not isinstance(name, str) or not name or is_input(name):
        raise ConfigError(
            f"the name of {where}", expected="a text that is no input's", found=repr(name)[:200]
        )
    if any(name == each.name for each in before):
        raise ConfigError(
            f"{where} has the name of one before it",
            expected="a unique name",
            found=repr(name)[:200],
            hint='add a name: name = "...".',
        )
    return name


def _inputs(
    where: str, kind: str, data: Mapping[str, Any], before: Sequence[Layer]
) -> tuple[str, ...]:
    if KINDS[kind].inputs or kind == "parameter":
        if "input" in data:
            raise ConfigError(f"{where} takes no input", found=f"{kind} with an input")
        return ()
    names_data = data.get("input", before[-1].name if before else "obs")
    names = [names_data] if isinstance(names_data, str) else names_data
    is_list = isinstance(names, Sequence) and 0 < len(names) <= 32
    if not is_list or not all(isinstance(each, str) for each in names):
        raise ConfigError(
            f"the input of {where}",
            expected="a name, or a list of names",
            found=repr(names_data)[:200],
        )
    return tuple(names)


def _weights(where: str, parts: Sequence[str], names: Any) -> dict[str, str]:
    if names is None:
        return {}
    if not isinstance(names, Mapping) or not all(isinstance(each, str) for each in names.values()):
        raise ConfigError(
            f"the weights of {where}",
            expected="names of weights by part",
            found=repr(names)[:200],
        )
    _check_keys(f"the weights of {where}", names, parts)
    return dict(names)


def _outputs(outputs: Any, layer_names: set[str]) -> dict[str, str]:
    if not isinstance(outputs, Mapping) or not outputs:
        raise ConfigError(
            "the description of a network has no outputs",
            expected=f"a table `outputs` with some of {', '.join(OUTPUTS)}",
            found="none" if outputs is None else repr(outputs)[:80],
        )
    _check_keys("the outputs of a network", outputs, OUTPUTS)
    for output, name in outputs.items():
        if not isinstance(name, str) or name not in layer_names:
            raise ConfigError(
                f"the output {output!r} of the network",
                expected=f"one of its layers: {', '.join(sorted(layer_names)[:20])}",
                found=repr(name)[:200],
                hint=did_you_mean(str(name), layer_names),
            )
    if ("logits" in outputs) == ("q" in outputs):
        raise ConfigError(
            "the outputs of the network",
            expected="either logits, or q for one that acts by the values of its actions",
            found=", ".join(outputs),
        )
    return dict(outputs)


def _patterns(patterns: Any) -> tuple[str, ...]:
    names = [patterns] if isinstance(patterns, str) else patterns or []
    if not isinstance(names, Sequence) or not all(isinstance(each, str) for each in names):
        raise ConfigError(
            "unused weights", expected="a list of names", found=type(patterns).__name__
        )
    return tuple(names)


def _shapes(data: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    shapes = data.get("shapes") or {}
    try:
        return {
            str(name): tuple(KINDS["permute"].value(shape)) if len(shape) else ()
            for name, shape in shapes.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError("the shapes of weights", found=str(error)[:200]) from None


def _checked(where: str, name: str, check: Any, value: Any, expected: str = "") -> Any:
    try:
        return check(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"{name!r} of {where}",
            expected=expected,
            found=f"{repr(value)[:80]} ({str(error)[:120]})",
        ) from None


def _check_keys(where: str, mapping: Mapping[Any, Any], allowed: Sequence[str]) -> None:
    for key in mapping:
        if key not in allowed:
            raise ConfigError(
                f"{where} has an unknown setting",
                expected=f"some of {', '.join(allowed)}",
                found=repr(key)[:80],
                hint=did_you_mean(str(key), allowed),
            )


def _layer_data(layer: Layer) -> dict[str, Any]:
    data: dict[str, Any] = {layer.kind: layer.value}
    if layer.inputs:
        data["input"] = layer.inputs[0] if len(layer.inputs) == 1 else list(layer.inputs)
    if layer.activation != "linear":
        data["activation"] = layer.activation
    data.update(layer.settings)
    if layer.weights:
        data["weights"] = dict(layer.weights)
    if layer.name != layer.value:
        data["name"] = layer.name
    return data
