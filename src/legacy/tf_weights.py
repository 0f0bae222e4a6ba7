"""Weights a TensorFlow policy saved, under the names its torch twin has.

Graph mode saves a dict `<scope>/<layer>/{kernel,bias}`, eager mode a bare list of the same arrays
in the same order. Dense networks of the actor-critic algorithms and of DQN are described; others
(convolutions, LSTM, SAC...) are refused. No torch here.

| network | layers in saved order |
|---|---|
| own value net, n hiddens | fc_1, fc_value_1, ..., fc_n, fc_value_n, fc_out, value_out |
| shared | fc_1, ..., fc_n, fc_out, value_out |
| Q trunk, n hiddens | fc_1, ..., fc_out (the n-th, with activation), value_out (unused) |
| Q branches on top | hidden_0, ..., dense (A), and if dueling dense_1, ..., dense_m (V) |
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.errors import WeightsError

Array = npt.NDArray[Any]

_ACTOR_CRITIC: Final = frozenset({"PPO", "APPO", "IMPALA", "A2C", "A3C", "PG", "MARWIL", "BC"})
_Q: Final = frozenset({"DQN", "APEX", "SimpleQ"})
_LAYER: Final = re.compile(r"(fc_\d+|fc_value_\d+|fc_out|value_out|hidden_\d+)(_\d+)?$")
_DENSE: Final = re.compile(r"dense(?:_(\d+))?$")


class _Layer(NamedTuple):
    """One dense layer to be found: its names on both sides (no torch twin: "") and its width."""

    saved: str
    torch: str
    width: int | None = None


def tf_to_torch_names(
    weights: Mapping[str, Any] | Sequence[Any],
    *,
    algorithm: str,
    model_config: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
) -> dict[str, Array]:
    """Rename and transpose the weights of a TensorFlow policy for its torch twin.

    Args:
        weights: What the policy's state holds: a dict (graph mode) or a list (eager mode).
        algorithm: The algorithm's name.
        model_config: The model settings (`fcnet_hiddens`, `vf_share_layers`, ...).
        config: The trainer config; DQN reads `hiddens`, `dueling` and `noisy`.

    Returns:
        Parameter name to array. A Q trunk's value output has no twin and is left out.

    Raises:
        WeightsError: The weights are not those of a dense network with these settings; what was
            found is listed in the message and in `found_arrays`.

    Example:
        >>> kernel, bias = np.zeros((4, 2), np.float32), np.zeros(2, np.float32)
        >>> saved = {"p/fc_out/kernel": kernel, "p/fc_out/bias": bias}
        >>> saved |= {"p/value_out/kernel": kernel[:, :1], "p/value_out/bias": bias[:1]}
        >>> named = tf_to_torch_names(saved, algorithm="PG", model_config={"fcnet_hiddens": []})
        >>> named["_logits._model.0.weight"].shape
        (2, 4)
    """
    graph = isinstance(weights, Mapping)
    found: list[tuple[str, Array]] = (
        _by_layer(weights) if isinstance(weights, Mapping) else _numbered(weights)
    )
    own_value_net = any(name.startswith("fc_value_") for name, _ in found) if graph else None
    layers = _layers(algorithm, model_config, config or {}, own_value_net, found)
    pairs = _named_pairs(found, layers) if graph else _ordered_pairs(found, layers)
    named: dict[str, Array] = {}
    for layer, (kernel, bias) in zip(layers, pairs, strict=True):
        _check(layer, kernel, bias, found)
        if layer.torch:
            named[f"{layer.torch}._model.0.weight"] = np.ascontiguousarray(kernel.T)
            named[f"{layer.torch}._model.0.bias"] = bias
    _check_chain(named, found)
    return named | _free_log_std(weights, model_config, found)


def _by_layer(weights: Mapping[str, Any]) -> list[tuple[str, Array]]:
    """`layer/kernel` to array; the scope goes, optimiser slots stay out."""
    kept = []
    for name, value in weights.items():
        parts = name.removesuffix(":0").split("/")
        if parts[-1] in {"kernel", "bias"} and len(parts) >= 2:
            kept.append(("/".join(parts[-2:]), np.asarray(value)))
    if not kept:
        raise _misfit("no dense layer was found", [(n, np.asarray(w)) for n, w in weights.items()])
    return kept


def _numbered(weights: Sequence[Any]) -> list[tuple[str, Array]]:
    return [(str(position), np.asarray(value)) for position, value in enumerate(weights)]


def _layers(
    algorithm: str,
    model_config: Mapping[str, Any],
    config: Mapping[str, Any],
    own_value_net: bool | None,
    found: list[tuple[str, Array]],
) -> list[_Layer]:
    hiddens = [
        *(model_config.get("fcnet_hiddens", [256, 256]) or []),
        *(model_config.get("post_fcnet_hiddens") or []),
    ]
    if algorithm in _Q:
        branches = [] if algorithm == "SimpleQ" else list(config.get("hiddens", [256]) or [])
        if config.get("noisy"):
            raise _misfit("noisy TensorFlow layers are not described", found)
        if branches:
            dueling = bool(config.get("dueling", True))
            return [*_q_trunk(hiddens or [256]), *_q_branches(branches, dueling)]
        return _policy(hiddens, False)
    if algorithm in _ACTOR_CRITIC:
        if own_value_net is None:
            own_value_net = not model_config.get("vf_share_layers", algorithm not in {"PPO"})
        return _policy(hiddens, own_value_net)
    raise _misfit(f"TensorFlow weights of {algorithm} are not described", found)


def _policy(hiddens: list[int], own_value_net: bool) -> list[_Layer]:
    layers = []
    for i, width in enumerate(hiddens):
        layers.append(_Layer(f"fc_{i + 1}", f"_hidden_layers.{i}", width))
        if own_value_net:
            layers.append(_Layer(f"fc_value_{i + 1}", f"_value_branch_separate.{i}", width))
    return [*layers, _Layer("fc_out", "_logits"), _Layer("value_out", "_value_branch", 1)]


def _q_trunk(hiddens: list[int]) -> list[_Layer]:
    last = len(hiddens) - 1
    names = [f"fc_{i + 1}" for i in range(last)] + ["fc_out"]
    trunk = [
        _Layer(name, f"_hidden_layers.{i}", width)
        for i, (name, width) in enumerate(zip(names, hiddens, strict=True))
    ]
    return [*trunk, _Layer("value_out", "", 1)]


def _q_branches(hiddens: list[int], dueling: bool) -> list[_Layer]:
    advantage = [
        _Layer(f"hidden_{i}", f"advantage_module.dueling_A_{i}", width)
        for i, width in enumerate(hiddens)
    ]
    advantage.append(_Layer("dense", "advantage_module.A"))
    if not dueling:
        return advantage
    value = [
        _Layer("dense", f"value_module.dueling_V_{i}", width) for i, width in enumerate(hiddens)
    ]
    return [*advantage, *value, _Layer("dense", "value_module.V")]


def _named_pairs(found: list[tuple[str, Array]], layers: list[_Layer]) -> list[tuple[Array, Array]]:
    """Kernel and bias of each layer by name; `dense`, `dense_1`... in order of their number.

    A target network's layers repeat the names with a number appended (`fc_1_1`) and its dense
    layers come after the acting ones: neither is asked for.
    """
    table = dict(reversed(found))  # of two nets under one scope the first one acts
    names = {name.rpartition("/")[0] for name, _ in found}
    strange = [n for n in names if not (_LAYER.match(n) or _DENSE.match(n))]
    dense = sorted((n for n in names if _DENSE.match(n)), key=_dense_number)
    pairs = []
    for layer in layers:
        name = (dense.pop(0) if dense else "dense") if layer.saved == "dense" else layer.saved
        kernel, bias = table.get(f"{name}/kernel"), table.get(f"{name}/bias")
        if kernel is None or bias is None or strange:
            what = f"unknown layers {sorted(strange)}" if strange else f"no layer {name!r}"
            raise _misfit(f"{what} where {_listed(layers)} were expected", found)
        pairs.append((kernel, bias))
    return pairs


def _dense_number(name: str) -> int:
    match = _DENSE.match(name)
    return int(match[1] or 0) if match else 0


def _ordered_pairs(
    found: list[tuple[str, Array]], layers: list[_Layer]
) -> list[tuple[Array, Array]]:
    """Kernel and bias of each layer by position; a second set of the same shapes is the target."""
    arrays = [value for _, value in found]
    count = 2 * len(layers)
    shapes = [value.shape for value in arrays]
    if len(arrays) != count and shapes[count:] != shapes[:count]:
        raise _misfit(f"{len(arrays)} arrays where {count} were expected: {_listed(layers)}", found)
    return list(zip(arrays[0:count:2], arrays[1:count:2], strict=True))


def _check(layer: _Layer, kernel: Array, bias: Array, found: list[tuple[str, Array]]) -> None:
    width = layer.width or (bias.size if bias.ndim == 1 else -1)
    if kernel.ndim != 2 or bias.shape != (width,) or kernel.shape[1] != width:
        what = f"{layer.saved} has kernel {kernel.shape} and bias {bias.shape}"
        raise _misfit(f"{what} where {width} outputs were expected", found)


def _check_chain(named: Mapping[str, Array], found: list[tuple[str, Array]]) -> None:
    """Each layer takes what the one before it gives."""
    chains = [
        ["_hidden_layers", "_logits"],
        ["_hidden_layers", "advantage_module"],
        ["_hidden_layers", "value_module"],
        [
            "_value_branch_separate"
            if "_value_branch_separate.0._model.0.weight" in named
            else "_hidden_layers",
            "_value_branch.",
        ],
    ]
    for prefixes in chains:
        kernels = [
            value
            for prefix in prefixes
            for name, value in named.items()
            if name.startswith(prefix) and name.endswith("weight")
        ]
        for before, after in pairwise(kernels):
            if before.shape[0] != after.shape[1]:
                raise _misfit(
                    f"a layer of {before.shape[0]} outputs is followed by one of "
                    f"{after.shape[1]} inputs",
                    found,
                )


def _free_log_std(
    weights: Mapping[str, Any] | Sequence[Any],
    model_config: Mapping[str, Any],
    found: list[tuple[str, Array]],
) -> dict[str, Array]:
    if not model_config.get("free_log_std"):
        return {}
    if isinstance(weights, Mapping):
        for name, value in weights.items():
            if name.removesuffix(":0").rpartition("/")[2] == "log_std":
                return {"_append_free_log_std.log_std": np.asarray(value)}
    raise _misfit("free_log_std is set and no log_std was found", found)


def _listed(layers: list[_Layer]) -> str:
    return ", ".join(layer.saved for layer in layers)


def _misfit(problem: str, found: list[tuple[str, Array]]) -> WeightsError:
    arrays = [(name, tuple(value.shape)) for name, value in found]
    listing = ", ".join(f"{name} {shape}" for name, shape in arrays)
    return WeightsError(
        f"TensorFlow weights do not fit: {problem}; found {listing}.",
        hint="the model settings must be those the weights were saved with.",
        found_arrays=arrays,
    )
