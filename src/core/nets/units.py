"""The layers that names and shapes of weights tell of, before anything is known of their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

Shape = tuple[int, ...]

_PARTS: Final = {
    "weight": "weight",
    "kernel": "weight",
    "embeddings": "weight",
    "gamma": "weight",
    "bias": "bias",
    "beta": "bias",
    "running_mean": "running_mean",
    "moving_mean": "running_mean",
    "running_var": "running_var",
    "moving_variance": "running_var",
    "num_batches_tracked": "num_batches_tracked",
    "recurrent_kernel": "weight_hh",
}
_CELL: Final = re.compile(r"(weight|bias)_(ih|hh)(_l\d{1,3})?")
_INSIDE: Final = re.compile(r"(\._model(\.[01])?|/lstm_cell)$")
_KERAS: Final = ("kernel", "gamma", "embeddings", "recurrent_kernel", "beta", "moving_mean")

VALUE: Final = frozenset(
    ("value", "values", "vf", "v", "critic", "baseline", "valuehead", "vhead", "vfnet", "val")
)
POLICY: Final = frozenset(
    [
        *("policy", "pi", "actor", "action", "actions", "logits", "logit", "mu", "mean"),
        *("actionhead", "policyhead", "acts", "advantage", "adv"),
    ]
)
SPREAD: Final = frozenset(("std", "logstd", "sigma", "logsigma", "var", "logvar", "stddev"))


@dataclass(frozen=True)
class Unit:
    """One layer inferred from weights.

    `kind` is one of `kinds.KINDS`, or "parameter" for a single weight. `prefix` is the prefix of
    its weights' names. `ins` and `outs` are numbers of inputs and outputs or of channels; 0 if any
    number is possible, or if the output has the size of the input. `sides` and `padding` belong to
    convolutions. `role` is "value", "policy", "spread" or "", from its name. `order` is its
    position in the file.
    """

    kind: str
    prefix: str
    ins: int
    outs: int
    names: tuple[str, ...]
    order: int
    sides: Shape = ()
    is_keras: bool = False
    role: str = ""
    padding: str = ""

    @property
    def place(self) -> tuple[str, int]:
        """The list that holds it and its index there; -1 without a list."""
        head, _, last = self.prefix.rpartition(".")
        return (head, int(last)) if last.isdigit() and len(last) < 6 else (self.prefix, -1)


def units_of(shapes: Mapping[str, Sequence[int]]) -> tuple[list[Unit], list[str]]:
    """Layers in the order of the file, and names of weights that are no part of any.

    Example:
        >>> units, rest = units_of({"fc.weight": (8, 4), "fc.bias": (8,), "log_std": (2,)})
        >>> [(unit.kind, unit.prefix, unit.ins, unit.outs) for unit in units], rest
        ([('dense', 'fc', 4, 8), ('parameter', 'log_std', 0, 2)], [])
    """
    groups: dict[str, dict[str, str]] = {}
    keras: set[str] = set()
    for name in shapes:
        stem, part, is_keras = _split(name)
        if part:
            group = groups.setdefault(stem, {})
            group.setdefault(part, name)
            if is_keras:
                keras.add(stem)
        else:
            groups[name] = {"": name}
    units: list[Unit] = []
    rest: list[str] = []
    for order, (stem, parts) in enumerate(groups.items()):
        part_shapes = {part: tuple(shapes[name]) for part, name in parts.items()}
        names = tuple(parts.values())
        unit = _unit(stem, part_shapes, names, order, stem in keras)
        if unit is None:
            rest += names
        else:
            units.append(unit)
    return _with_roles(units), rest


def words_of(prefix: str) -> list[str]:
    """The words a name is made of, in lower case.

    Example:
        >>> words_of("policyNet.value_head_2")
        ['policy', 'net', 'value', 'head', '2']
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", prefix[:400])
    return [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]


def _split(name: str) -> tuple[str, str, bool]:
    """A weight's name as its layer's, its part, and whether Keras wrote it."""
    bare = name.removesuffix(":0")
    for separator in ("/", "."):
        stem, _, part = bare.rpartition(separator)
        if not stem:
            continue
        if part in _PARTS or _CELL.fullmatch(part):
            inner = "weight_hh" if part == "recurrent_kernel" else _PARTS.get(part, part)
            return _INSIDE.sub("", stem), inner, part in _KERAS or separator == "/"
    return name, "", False


def _unit(
    stem: str, parts: Mapping[str, Shape], names: tuple[str, ...], order: int, is_keras: bool
) -> Unit | None:
    if "" in parts:
        return _parameter(stem, parts[""], names, order)
    cells = sorted(part for part in parts if part.startswith("weight_ih"))
    if cells:
        return _recurrent(stem, parts, cells[0], names, order)
    weight = parts.get("weight")
    if "weight_hh" in parts and weight is not None:
        units = (parts["weight_hh"] or (0,))[0]
        is_lstm = len(weight) == 2 and len(parts["weight_hh"]) == 2 and weight[1] == 4 * units
        lstm = Unit("lstm", stem, weight[0], units, names, order, is_keras=True)
        return lstm if is_lstm else None
    if "running_mean" in parts:
        means = parts["running_mean"]
        return Unit("batch_norm", stem, means[0], 0, names, order) if len(means) == 1 else None
    if not weight or len(weight) > 5:
        return None
    if len(weight) == 1:
        return Unit("layer_norm", stem, weight[0], 0, names, order, is_keras=is_keras)
    if len(weight) == 2:
        if "bias" not in parts and any("emb" in word for word in words_of(stem)):
            return Unit("embedding", stem, weight[0], weight[1], names, order)
        ins, outs = weight if is_keras else weight[::-1]
        return Unit("dense", stem, ins, outs, names, order, is_keras=is_keras)
    if is_keras:
        ins, outs, sides = weight[-2], weight[-1], weight[:-2]
    else:
        ins, outs, sides = weight[1], weight[0], weight[2:]
    by_place = {f"{stem}._model.1.": "same", f"{stem}._model.0.": "valid"}
    padding = next((word for begin, word in by_place.items() if names[0].startswith(begin)), "")
    return Unit("convolution", stem, ins, outs, names, order, sides, is_keras, padding=padding)


def _recurrent(
    stem: str, parts: Mapping[str, Shape], first: str, names: tuple[str, ...], order: int
) -> Unit | None:
    wide, high = parts[first], parts.get(first.replace("ih", "hh"), ())
    if len(wide) != 2 or len(high) != 2 or any("reverse" in name for name in names):
        return None
    kind = {4: "lstm", 3: "gru"}.get(wide[0] // max(high[1], 1))
    return None if kind is None else Unit(kind, stem, wide[1], high[1], names, order)


def _parameter(name: str, shape: Shape, names: tuple[str, ...], order: int) -> Unit | None:
    size = shape[-1] if shape else 1
    is_row = len(shape) <= 1 or (len(shape) == 2 and shape[0] == 1)
    return Unit("parameter", name, 0, size, names, order) if is_row else None


def _with_roles(units: list[Unit]) -> list[Unit]:
    """Set the role of each layer from its name, ignoring words that all names contain."""
    words = {unit.prefix: words_of(unit.prefix) for unit in units}
    layers = [unit for unit in units if unit.kind != "parameter"]
    common = set.intersection(*(set(words[unit.prefix]) for unit in layers)) if layers else set()
    return [replace(unit, role=_role(words[unit.prefix], common)) for unit in units]


def _role(words: list[str], common: set[str]) -> str:
    telling = [word for word in words if word not in common]
    pairs = {a + b for a, b in pairwise(telling)}
    if SPREAD & {*telling, *pairs}:
        return "spread"
    value, policy = (
        [place for place, word in enumerate(telling) if word in role_words]
        for role_words in (VALUE, POLICY)
    )
    if value and policy:  # `policy_net.value_head`: the last of these words is the layer's role
        return "value" if max(value) > max(policy) else "policy"
    return "value" if value else "policy" if policy else ""
