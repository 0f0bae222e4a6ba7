"""The output shape of each kind of layer, and checks that weights fit the inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from ..errors import WeightsError
from ..text.near_names import did_you_mean
from .description import Layer
from .weight_names import weights_of

Shape = tuple[int, ...]
Known = Mapping[str, Shape]
Bound = tuple[Shape, Mapping[str, str], Mapping[str, Any]]
"""Shape of what comes out, names of the weights by part, settings of one form."""

_GATES: Final = {"lstm": 4, "gru": 3}
_ONE_CELL: Final = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _weights(layer: Layer, all_shapes: Known) -> tuple[dict[str, str], dict[str, Shape], bool]:
    """Names and shapes of a layer's weights by part, and whether they are Keras's."""
    layer_weights = weights_of(layer, all_shapes)
    names, is_keras = layer_weights
    return names, {part: all_shapes[name] for part, name in names.items()}, is_keras


def _joined(layer: Layer, inputs: Sequence[Shape]) -> Shape:
    first = inputs[0]
    for shape in inputs[1:]:
        if not shape or not first or shape[:-1] != first[:-1]:
            hint = "put flatten = true before it." if any(len(s) > 1 for s in inputs) else ""
            found = _with_shapes(layer.inputs, inputs)
            misfit(layer, "inputs that differ in their last axis only", found, hint)
    return first if len(inputs) == 1 else (*first[:-1], sum(shape[-1] for shape in inputs))


def _plain(layer: Layer, inputs: Sequence[Shape]) -> Bound:
    return _joined(layer, inputs), {}, {}


def _same(layer: Layer, inputs: Sequence[Shape]) -> Bound:
    if any(shape != inputs[0] for shape in inputs):
        misfit(layer, "one shape", _with_shapes(layer.value, inputs))
    return inputs[0], {}, {}


def _dense(all_shapes: Known, layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    names, shapes, is_keras = _weights(layer, all_shapes)
    is_turned = bool(layer.settings.get("turned", is_keras))
    _check_rank(layer, names, shapes, "weight", 2)
    outs, ins = shapes["weight"][::-1] if is_turned else shapes["weight"]
    width = shape[-1] if shape else 1
    if width != ins and width == outs and layer.weights and "turned" not in layer.settings:
        outs, ins, is_turned = ins, outs, True
    if not shape or width != ins:
        is_flat = math.prod(shape) == ins and len(shape) > 1
        misfit(
            layer,
            f"{ins} numbers in, as {names['weight']} {shapes['weight']} says",
            f"shape {shape} from {_listed(layer)}",
            "put flatten = true before it." if is_flat else "",
        )
    _check_size(layer, names, shapes, "bias", outs)
    return (*shape[:-1], outs), names, {"is_turned": is_turned}


def _convolution(all_shapes: Known, layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    names, shapes, is_keras = _weights(layer, all_shapes)
    kernel = shapes["weight"]
    if not 3 <= len(kernel) <= 5:
        misfit(layer, "a weight of 3 to 5 axes", f"{names['weight']} {kernel}")
    outs, ins, sides = kernel[0], kernel[1], kernel[2:]
    if is_keras:
        outs, ins, sides = kernel[-1], kernel[-2], kernel[:-2]
    is_last = layer.settings.get("channels", "last" if is_keras else "first") == "last"
    channels, image = _image(layer, shape, len(sides), is_last)
    groups = layer.settings.get("groups", 1)
    if channels != ins * groups or outs % groups:
        turned = len(shape) == len(sides) + 1 and (shape[0] if is_last else shape[-1]) == ins
        axes = [len(shape) - 1, *range(len(shape) - 1)] if not is_last else [1, 2, 0]
        misfit(
            layer,
            f"{ins * groups} channels in, as {names['weight']} {kernel} says",
            f"{channels} of shape {shape} from {_listed(layer)}",
            f"the channels are on another axis: put permute = {axes} before it." if turned else "",
        )
    _check_size(layer, names, shapes, "bias", outs)
    settings = _window(layer, image, sides)
    out = _after_window(image, sides, settings)
    settings.update(is_keras=is_keras, is_last=is_last, groups=groups)
    return ((*out, outs) if is_last else (outs, *out)), names, settings


def _pool(layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    is_last = layer.settings.get("channels") == "last"
    channels, image = _image(layer, shape, len(shape) - 1, is_last)
    sides = tuple(_each_axis(layer, "size", layer.settings.get("size", 2), len(image)))
    settings = _window(layer, image, sides, stride=sides)
    out = _after_window(image, sides, settings)
    settings.update(sides=sides, is_last=is_last)
    return ((*out, channels) if is_last else (channels, *out)), {}, settings


def _image(layer: Layer, shape: Shape, axes: int, is_last: bool) -> tuple[int, Shape]:
    """Channels and sides of what goes into a layer over images."""
    if len(shape) != axes + 1 or axes < 1:
        misfit(layer, f"an input of {axes + 1} axes", f"shape {shape} from {_listed(layer)}")
    return (shape[-1], shape[:-1]) if is_last else (shape[0], shape[1:])


def _window(
    layer: Layer, image: Shape, sides: Shape, stride: Shape | None = None
) -> dict[str, Any]:
    """Stride, dilation and padding (before and after, of each axis) of a layer over images."""
    settings = layer.settings
    axes = len(image)
    steps = _each_axis(layer, "stride", settings.get("stride", list(stride or (1,) * axes)), axes)
    gaps = _each_axis(layer, "dilation", settings.get("dilation", 1), axes)
    padding = settings.get("padding", 0)
    pads: list[tuple[int, int]] = []
    if padding == "same":
        for size, side, step, gap in zip(image, sides, steps, gaps, strict=True):
            total = max((-(-size // step) - 1) * step + gap * (side - 1) + 1 - size, 0)
            pads.append((total // 2, total - total // 2))
    else:
        padding = 0 if padding == "valid" else padding
        pads = [(each, each) for each in _each_axis(layer, "padding", padding, axes)]
    return {"stride": tuple(steps), "dilation": tuple(gaps), "padding": tuple(pads)}


def _after_window(image: Shape, sides: Shape, settings: Mapping[str, Any]) -> Shape:
    return tuple(
        (size + sum(pad) - gap * (side - 1) - 1) // step + 1
        for size, side, step, gap, pad in zip(
            image, sides, settings["stride"], settings["dilation"], settings["padding"], strict=True
        )
    )


def _each_axis(layer: Layer, name: str, value: Any, axes: int) -> list[int]:
    if isinstance(value, int):
        return [value] * axes
    if len(value) != axes:
        misfit(layer, f"{name} of {axes} numbers", str(value))
    return list(value)


def _recurrent(all_shapes: Known, layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    names, shapes, is_keras = _weights(layer, all_shapes)
    names = {part if "_l" in part else f"{part}_l0": name for part, name in names.items()}
    shapes = {part if "_l" in part else f"{part}_l0": each for part, each in shapes.items()}
    gates, width, cells, count = _GATES[layer.kind], shape[-1] if shape else 0, 0, 0
    while f"weight_ih_l{count}" in names:
        cell = {part: f"{part}_l{count}" for part in _ONE_CELL}
        for part in cell.values():
            _check_rank(layer, names, shapes, part, 2 if part.startswith("weight") else 1, True)
        if cell["weight_hh"] not in names:
            misfit(layer, f"a weight {cell['weight_hh']!r}", ", ".join(names.values()))
        wide, high = (shapes[cell[part]] for part in ("weight_ih", "weight_hh"))
        if is_keras:
            wide, high = wide[::-1], high[::-1]
        cells = high[1]
        if high[0] != gates * cells or wide[0] != gates * cells:
            both = f"{names[cell['weight_ih']]} {wide} and {names[cell['weight_hh']]} {high}"
            misfit(layer, f"{gates} gates of {cells} cells", both)
        if wide[1] != width or len(shape) != 1:
            misfit(
                layer,
                f"{wide[1]} numbers in, as {names[cell['weight_ih']]} {wide} says",
                f"shape {shape if not count else (width,)} from {_listed(layer)}",
                "put flatten = true before it." if math.prod(shape) == wide[1] else "",
            )
        for part in ("bias_ih", "bias_hh"):
            _check_size(layer, names, shapes, cell[part], gates * cells)
        width = cells
        count += 1
    return (cells,), names, {"cells": cells, "layers": count, "is_turned": is_keras}


def _layer_norm(all_shapes: Known, layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    names, shapes, is_keras = _weights(layer, all_shapes)
    over = shapes["weight"]
    if shape[len(shape) - len(over) :] != over or not over:
        expected = f"an input that ends in {over}, as {names['weight']} says"
        misfit(layer, expected, f"shape {shape} from {_listed(layer)}")
    if shapes.get("bias", over) != over:
        misfit(layer, f"a bias of {over}", f"{names['bias']} {shapes['bias']}")
    epsilon = layer.settings.get("epsilon", 1e-3 if is_keras else 1e-5)
    return shape, names, {"epsilon": float(epsilon), "axes": len(over)}


def _batch_norm(all_shapes: Known, layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    names, shapes, is_keras = _weights(layer, all_shapes)
    is_last = layer.settings.get("channels", "last" if is_keras else "first") == "last"
    channels = (shape[-1] if is_last else shape[0]) if shape else 0
    if "running_var" not in names:
        misfit(layer, "running_mean and running_var", ", ".join(names.values()))
    for part in ("weight", "bias", "running_mean", "running_var"):
        _check_size(layer, names, shapes, part, channels)
    epsilon = layer.settings.get("epsilon", 1e-3 if is_keras else 1e-5)
    return shape, names, {"epsilon": float(epsilon), "is_last": is_last}


def _embedding(all_shapes: Known, layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    names, shapes, _ = _weights(layer, all_shapes)
    _check_rank(layer, names, shapes, "weight", 2)
    rows, width = shapes["weight"]
    is_one_hot = bool(shape) and shape[-1] == rows
    if is_one_hot:
        return (*shape[:-1], width), names, {"is_one_hot": True}
    return (*shape, width), names, {"is_one_hot": False, "rows": rows}


def _parameter(all_shapes: Known, layer: Layer, inputs: Sequence[Shape]) -> Bound:
    if layer.value not in all_shapes:
        raise WeightsError(
            f"layer {layer.name!r} of the network has no such weight",
            expected=repr(layer.value),
            found=", ".join(list(all_shapes)[:12]),
            hint=did_you_mean(layer.value, all_shapes),
            layer=layer.name,
        )
    shape = all_shapes[layer.value]
    out = shape[1:] if len(shape) > 1 and shape[0] == 1 else shape or (1,)
    return out, {"weight": layer.value}, {}


def _reshape(layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape, sizes = _joined(layer, inputs), list(layer.value)
    total, fixed = math.prod(shape), math.prod(size for size in sizes if size > 0)
    if sizes.count(-1) > 1 or total % fixed or (-1 not in sizes and fixed != total):
        misfit(layer, f"a shape of {total} numbers", str(sizes))
    return tuple(total // fixed if size == -1 else size for size in sizes), {}, {}


def _permute(layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    if sorted(layer.value) != list(range(len(shape))):
        misfit(layer, f"each of the axes 0 to {len(shape) - 1} once", str(layer.value))
    return tuple(shape[axis] for axis in layer.value), {}, {}


def _slice(layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    start, stop = layer.value
    if not shape or not start < stop <= shape[-1]:
        misfit(layer, f"a part of the {shape[-1] if shape else 0} numbers", str(layer.value))
    return (*shape[:-1], stop - start), {}, {}


def _mask(layer: Layer, all_inputs: Sequence[Shape]) -> Bound:
    *inputs, mask = all_inputs
    shape = _joined(layer, inputs)
    if shape != mask:
        misfit(layer, f"a mask of shape {shape}", f"{layer.value} {mask}")
    return shape, {}, {}


def _dueling(layer: Layer, inputs: Sequence[Shape]) -> Bound:
    atoms = layer.settings.get("atoms", 1)
    fitting = ((atoms,), inputs[0]) if atoms == 1 else ((atoms,),)
    if len(inputs) != 2 or len(inputs[0]) != 1 or inputs[0][0] % atoms or inputs[1] not in fitting:
        expected = "advantages of all actions and one value, each of as many atoms"
        misfit(layer, expected, _with_shapes(layer.value, inputs))
    return inputs[0], {}, {"atoms": atoms}


def _expected(layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape, atoms = _joined(layer, inputs), layer.settings.get("atoms", 2)
    if len(shape) != 1 or atoms < 2 or shape[0] % atoms:
        misfit(layer, f"{atoms} logits for each action, at least 2", f"shape {shape}")
    return (shape[0] // atoms,), {}, {"atoms": atoms}


def _squash(all_shapes: Known, layer: Layer, inputs: Sequence[Shape]) -> Bound:
    shape = _joined(layer, inputs)
    names, shapes, _ = _weights(layer, all_shapes)
    if set(shapes) != {"low_action", "action_range"}:
        misfit(layer, "low_action and action_range", ", ".join(names.values()))
    for part in shapes:
        _check_size(layer, names, shapes, part, shape[-1] if shape else 0)
    return shape, names, {}


def _divide(layer: Layer, inputs: Sequence[Shape]) -> Bound:
    if layer.value == 0:
        misfit(layer, "a number that is not 0", "0")
    return _joined(layer, inputs), {}, {}


def _without_weights(
    bound: Callable[[Layer, Sequence[Shape]], Bound],
) -> Callable[[Known, Layer, Sequence[Shape]], Bound]:
    return lambda known, layer, seen: bound(layer, seen)


LAYER_SHAPES: Final[Mapping[str, Callable[[Known, Layer, Sequence[Shape]], Bound]]] = {
    "activation": _without_weights(_plain),
    "add": _without_weights(_same),
    "batch_norm": _batch_norm,
    "clip": _without_weights(_plain),
    "convolution": _convolution,
    "dense": _dense,
    "divide": _without_weights(_divide),
    "dueling": _without_weights(_dueling),
    "embedding": _embedding,
    "expected": _without_weights(_expected),
    "flatten": lambda known, layer, seen: ((sum(math.prod(shape) for shape in seen),), {}, {}),
    "gru": _recurrent,
    "layer_norm": _layer_norm,
    "lstm": _recurrent,
    "mask": _without_weights(_mask),
    "multiply": _without_weights(_same),
    "parameter": _parameter,
    "permute": _without_weights(_permute),
    "pool": _without_weights(_pool),
    "reshape": _without_weights(_reshape),
    "slice": _without_weights(_slice),
    "squash": _squash,
    "subtract": _without_weights(_plain),
}
"""By kind, from the shapes of all weights, the layer and the shapes of what it reads."""


def _check_rank(
    layer: Layer,
    names: Mapping[str, str],
    shapes: Mapping[str, Shape],
    part: str,
    rank: int,
    may_lack: bool = False,
) -> None:
    if may_lack and part not in shapes:
        return
    if len(shapes[part]) != rank:
        misfit(layer, f"a {part} of {rank} axes", f"{names[part]} {shapes[part]}")


def _check_size(
    layer: Layer, names: Mapping[str, str], shapes: Mapping[str, Shape], part: str, size: int
) -> None:
    if part in shapes and shapes[part] != (size,):
        misfit(layer, f"a {part} of shape {(size,)}", f"{names[part]} {shapes[part]}")


def misfit(layer: Layer, expected: str, found: str, hint: str = "") -> NoReturn:
    """Raise the error for a layer that does not fit."""
    raise WeightsError(
        f"layer {layer.name!r} ({layer.kind}) of the network does not fit",
        expected=expected[:300],
        found=found[:300],
        hint=hint,
        layer=layer.name,
    )


def _listed(layer: Layer) -> str:
    return ", ".join(map(repr, layer.inputs))[:120]


def _with_shapes(names: Sequence[str], inputs: Sequence[Shape]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in zip(names, inputs, strict=False))
