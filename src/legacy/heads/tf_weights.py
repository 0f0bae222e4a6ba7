"""Weights a TensorFlow policy saved, under the names its torch twin has.

Graph mode saves a dict `<scope>/<layer>/kernel`, eager mode a bare list of the same arrays in the
same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from ...core.algorithms import family_of
from ...core.errors import ConfigError, WeightsError
from ...core.types import Array
from ..tf.layers import PARTS, Layer, Part
from .family import Blueprint, family

Found = list[tuple[str, Array]]


def tf_to_torch_names(
    weights: Mapping[str, Any] | Sequence[Any],
    *,
    algorithm: str,
    observation_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
) -> dict[str, Array]:
    """Rename and transpose the weights of a TensorFlow policy for its torch twin.

    Graph mode saves a dict, eager mode a list. What has no twin is left out.

    Raises:
        WeightsError: The network is not described, or the weights are not those of a network with
            these settings; what was found is listed in the message and in `found_arrays`.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> kernel, bias = np.zeros((4, 2), np.float32), np.zeros(2, np.float32)
        >>> saved = {"p/fc_out/kernel": kernel, "p/fc_out/bias": bias}
        >>> saved |= {"p/value_out/kernel": kernel[:, :1], "p/value_out/bias": bias[:1]}
        >>> named = tf_to_torch_names(
        ...     saved,
        ...     algorithm="PG",
        ...     observation_space=Box(-1, 1, (4,)),
        ...     action_space=Discrete(2),
        ...     config={"model": {"fcnet_hiddens": []}},
        ... )
        >>> named["_logits._model.0.weight"].shape
        (2, 4)
    """
    of_algorithm = family(algorithm) if family_of(algorithm) else None
    arrays: Found
    named_layers = isinstance(weights, Mapping)
    if isinstance(weights, Mapping):
        arrays = [(name.removesuffix(":0"), np.asarray(w)) for name, w in weights.items()]
        if of_algorithm is not None and of_algorithm.tf is not None:
            arrays = of_algorithm.tf.renamed(arrays)
        config = _with_value_net(config, arrays)
    else:
        arrays = [(str(position), np.asarray(w)) for position, w in enumerate(weights)]
    try:
        if of_algorithm is None or of_algorithm.tf is None:
            raise ConfigError(f"the networks of {algorithm} are not described.")
        drawn = of_algorithm.distribution(action_space, algorithm, config)
        plan = Blueprint(algorithm, observation_space, action_space, config, drawn)
        layers = of_algorithm.tf.layers(plan, named_layers)
    except ConfigError as error:
        raise _refused(error, algorithm, arrays) from error
    named: dict[str, Array] = {}
    pick = _by_name if named_layers else _by_position
    for layer, part, array in pick(arrays, layers):
        axes = part.axes if part.axes is not None else array.ndim
        if array.ndim != axes or (axes and layer.width and array.shape[-1] != layer.width):
            outputs = f"{layer.width} outputs" if layer.width else "another number of axes"
            what = (
                f"{layer.saved}{part.saved} has shape {array.shape} where {outputs} were expected"
            )
            raise _misfit(what, arrays)
        if layer.torch:
            named |= {f"{layer.torch}{name}": form(array) for name, form in part.torch}
    return {**named, **of_algorithm.tf.constants(action_space)}


def _with_value_net(config: Mapping[str, Any], arrays: Found) -> Mapping[str, Any]:
    """Return the config with a separate value network if the names contain one."""
    model = config.get("model") or {}
    if "vf_share_layers" in model:
        return config
    has_value_net = any(re.search("/(fc|conv)_value_", name) for name, _ in arrays)
    return {**config, "model": {**model, "vf_share_layers": not has_value_net}}


def _by_name(arrays: Found, layers: list[Layer]) -> Iterator[tuple[Layer, Part, Array]]:
    """Match parts by name; the n-th layer of a name has the n-th lowest number.

    The remaining arrays repeat known names: target networks, with higher numbers.
    """
    numbered: dict[str, list[tuple[int, int, str]]] = {}
    for position, (name, _) in enumerate(arrays):
        base = _base(name, layers)
        if base is None and not name.endswith(("/kernel", "/gamma")):
            continue  # belongs to an optimizer or a loss
        if base is None:
            what = f"unknown layer {name!r} where {_listed(layers)} were expected"
            raise _misfit(what, arrays)
        numbered.setdefault(base[0], []).append((base[1], position, name))
    queues = {base: sorted(entries) for base, entries in numbered.items()}
    for layer in layers:
        for part in PARTS[layer.kind]:
            queue = queues.get(f"{layer.saved}{part.saved}")
            if not queue:
                what = f"no layer {layer.saved!r} where {_listed(layers)} were expected"
                raise _misfit(what, arrays)
            yield layer, part, arrays[queue.pop(0)[1]][1]


def _base(name: str, layers: list[Layer]) -> tuple[str, int] | None:
    for layer in sorted(layers, key=lambda layer: -len(layer.saved)):
        before, _, after = layer.saved.partition("{}")
        for part in PARTS[layer.kind]:
            match = re.search(rf"(?:^|/){before}(?:_(\d{{1,9}}))?{after}{part.saved}$", name)
            if match:
                return f"{layer.saved}{part.saved}", int(match[1] or 0)
    return None


def _by_position(arrays: Found, layers: list[Layer]) -> Iterator[tuple[Layer, Part, Array]]:
    """Each part by its place; a second set of the same shapes is the target network."""
    parts = [(layer, part) for layer in layers for part in PARTS[layer.kind]]
    shapes = [array.shape for _, array in arrays]
    count = len(parts)
    if len(arrays) < count or (
        len(arrays) > count and shapes[count:] != shapes[: len(arrays) - count]
    ):
        what = f"{len(arrays)} arrays where {count} were expected: {_listed(layers)}"
        raise _misfit(what, arrays)
    for (layer, part), (_, array) in zip(parts, arrays, strict=False):
        yield layer, part, array


def _listed(layers: list[Layer]) -> str:
    return ", ".join(layer.saved for layer in layers if PARTS[layer.kind])


def _refused(error: ConfigError, algorithm: str, arrays: Found) -> WeightsError:
    return WeightsError(
        f"this {algorithm} policy of TensorFlow's cannot act: {error.message.rstrip('.')}",
        found=_listing(arrays),
        hint="its weights are readable: rlconnect.open_checkpoint(path).policies[...].weights.",
        found_arrays=_shapes(arrays),
    )


def _misfit(problem: str, arrays: Found) -> WeightsError:
    return WeightsError(
        f"TensorFlow weights do not fit: {problem}; found {_listing(arrays)}.",
        hint="the model settings must be those the weights were saved with.",
        found_arrays=_shapes(arrays),
    )


def _shapes(arrays: Found) -> list[tuple[str, tuple[int, ...]]]:
    return [(name, tuple(value.shape)) for name, value in arrays]


def _listing(arrays: Found) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in _shapes(arrays))
