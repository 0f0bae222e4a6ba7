"""A function written with numpy for one item, as a formula over batches of tensors.

`torch.compile` follows the function (`torch.compiler.wrap_numpy`), `torch.vmap` batches what it
found, and `torch.export` writes it down with a free number of rows.
"""

from __future__ import annotations

import copy
import functools
import linecache
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from packaging.version import Version
from torch import Tensor, fx, nn
from torch.fx.traceback import preserve_node_meta
from torch.utils import _pytree as pytree

from ...core import array_namespace as xp
from ...core import nest
from ...core.errors import SpaceError
from ...core.text.first_line import first_line
from ...core.types import Array, Nest
from ..exported.opened import quiet

NEEDED_TORCH: Final = "2.9"
_REASONS: Final = (
    (r"inplace", "writes into an array"),
    (r"[Dd]ata-dependent|\.item\(\)|dynamic shape|unhinted", "decides by a value"),
    (r"NotImplementedError", "calls numpy in a way that torch does not have"),
)
_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+)')


class Untraceable(Exception):
    """Why a function has no formula; its text ends the sentence "this function ..."."""


def batched(
    function: Callable[[Nest], Nest], rows: Nest
) -> tuple[Callable[..., Nest], tuple[Array, ...]]:
    """Return `(values, *constants) -> values` over a batch, and the constants.

    Args:
        function: From one item to one result; numpy functions and no side effects.
        rows: A batch of at least two items, which gives shapes and dtypes.

    Raises:
        Untraceable: torch cannot follow or batch the function.
    """
    if Version(torch.__version__).release < Version(NEEDED_TORCH).release:
        raise Untraceable(f"needs torch {NEEDED_TORCH} or newer")
    try:
        given = [torch.from_numpy(np.array(leaf)) for leaf in nest.flatten(rows)]
        with quiet(), np.errstate(all="ignore"):
            graph, places, arrays = _followed(function, rows, [leaf[0] for leaf in given])
            program, lifted = _exported(graph, places, arrays, given)
            result = function(nest.map_structure(lambda leaf: leaf[0].copy(), rows))
    except Exception as error:  # whatever torch says of a user's code
        raise Untraceable(_reason(error)) from error
    form = pytree.tree_structure(np.zeros(0) if isinstance(result, list) else result)
    constants = tuple(xp.to_numpy(each) for each in (*lifted, *arrays))
    programs = {"cpu": program}

    def formula(values: Nest, *constants: Any) -> Nest:
        leaves = nest.flatten(values)
        for leaf, each in zip(leaves, given, strict=True):
            _expect_shape(leaf, each)
        if not isinstance(leaves[0], Tensor):
            tensors = nest.map_structure(lambda leaf: xp.on_device(leaf, "cpu"), values)
            held = (xp.on_device(constant, "cpu") for constant in constants)
            return nest.map_structure(xp.to_numpy, formula(tensors, *held))
        device = str(leaves[0].device)
        if device not in programs:
            programs[device] = _on_device(program, device)
        leaves = [leaf.to(each.dtype) for leaf, each in zip(leaves, given, strict=True)]
        rest = iter(constants[len(lifted) :])
        values = [next(rest) if place is None else leaves[place] for place in places]
        outputs = programs[device](leaves[0], *constants[: len(lifted)], *values)
        return pytree.tree_unflatten(list(outputs), form)

    return formula, constants


def _followed(
    function: Callable[[Nest], Nest], rows: Nest, item: list[Tensor]
) -> tuple[Any, list[int | None], list[Tensor]]:
    """The graph of a function of one item, and where its inputs come from.

    An input is a leaf of the item, by its place, or None and an array that the function reads.
    """
    calls: list[tuple[Any, tuple[Tensor, ...]]] = []

    def backend(graph: Any, examples: Any) -> Callable[..., Any]:
        def run(*values: Tensor) -> Any:
            calls.append((graph, values))
            return graph(*values)

        return run

    def leaves(item: Nest) -> list[Any]:
        result = function(item)
        if isinstance(result, list):  # an item that is an array
            result = np.stack([np.asarray(each) for each in result])
        # Copies, because a graph returns neither its inputs nor one value twice.
        return [np.array(leaf) for leaf in pytree.tree_leaves(result)]

    wrap_numpy: Any = torch.compiler.wrap_numpy
    wrapped = wrap_numpy(leaves)

    def call(item: Nest) -> Any:
        return wrapped(pytree.tree_map(torch.clone, item))  # which the function may write into

    # The compiler caches by code object, which two connectors must not share.
    call.__code__ = call.__code__.replace()
    torch.compile(call, backend=backend, fullgraph=True, dynamic=False)(
        nest.unflatten_as(rows, item)
    )
    graph, values = calls[-1]
    places = [next((at for at, leaf in enumerate(item) if leaf is value), None) for value in values]
    arrays = [value for value, place in zip(values, places, strict=True) if place is None]
    return graph, places, arrays


class _Batched(nn.Module):
    """A graph over a batch; the first input only says how many rows there are."""

    def __init__(self, graph: Any, axes: tuple[int | None, ...]) -> None:
        super().__init__()
        self.graph, self.axes = graph, axes

    def forward(self, *values: Tensor) -> Any:
        """What the graph makes of each row."""
        return torch.vmap(self._one, in_dims=(0, *self.axes))(*values)

    def _one(self, row: Tensor, *values: Tensor) -> Any:
        return tuple(_OneRow(self.graph, row).run(*values))


class _OneRow(fx.Interpreter):
    """Runs a graph on one row below `vmap`; an error has the user's line."""

    def __init__(self, graph: Any, row: Tensor) -> None:
        super().__init__(graph)
        self.row = row

    def run_node(self, node: fx.Node) -> Any:
        """One step; a new array is one for each row, so that a row may be written into it."""
        try:
            result = super().run_node(node)
        except Exception as error:  # whatever torch says of a step that has no batched form
            raise Untraceable(_reason(error, node.stack_trace or "")) from error
        is_new = node.op == "call_function" and not node.all_input_nodes
        if is_new and isinstance(result, Tensor):
            return result + self.row.new_zeros((), dtype=result.dtype)
        return result

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An operator; arrays are joined here, because `vmap` does it for one number of rows."""
        name = target.__name__.partition(".")[0]
        if name in ("cat", "concat", "concatenate", "hstack", "vstack"):
            parts, dim = args[0], dict(enumerate(args)).get(1, kwargs.get("dim", 0))
            at_least: Any = {"vstack": torch.atleast_2d, "hstack": torch.atleast_1d}.get(name)
            parts = at_least(parts) if at_least else parts
            if name == "hstack":
                dim = min(parts[0].dim() - 1, 1)
            return _joined(parts, dim % parts[0].dim())
        return super().call_function(target, args, kwargs)


def _is_floating(value: Any) -> bool:
    return value.is_floating_point() if isinstance(value, Tensor) else isinstance(value, float)


def _joined(parts: Sequence[Tensor], dim: int) -> Tensor:
    """`torch.cat`, as a sum of arrays that are zero where the others are."""
    kind = functools.reduce(torch.promote_types, (part.dtype for part in parts))
    sizes = [part.shape[dim] for part in parts]
    sides = [0, 0] * (parts[0].dim() - 1 - dim)
    padded = [
        nn.functional.pad(part.to(kind), [*sides, sum(sizes[:at]), sum(sizes[at + 1 :])])
        for at, part in enumerate(parts)
    ]
    return functools.reduce(torch.add, padded)


def _exported(
    graph: Any, places: list[int | None], arrays: list[Tensor], given: list[Tensor]
) -> tuple[Any, list[Tensor]]:
    """A graph over a batch as operators, and the constants that it takes first."""
    rest = iter(arrays)
    values = [next(rest) if place is None else given[place] for place in places]
    axes = [None if place is None else 0 for place in places]
    items = [value if axis is None else value[0] for value, axis in zip(values, axes, strict=True)]
    one = torch.export.export(_Graph(graph), tuple(items), strict=False)
    lifted = [
        one.constants[each.target]
        for each in one.graph_signature.input_specs
        if each.target is not None
    ]
    for node in list(one.graph.nodes):  # what holds on one device only
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            one.graph.erase_node(node)
        elif node.target is torch.ops.aten.to.device:
            node.target = torch.ops.aten.to.dtype
            node.args = (node.args[0], *node.args[2:])
    one.graph_module.recompile()
    axes = [*(None for _ in lifted), *axes]
    rows = torch.export.Dim("batch")
    program = torch.export.export(
        _Batched(one.graph_module, tuple(axes)),
        (given[0], *lifted, *values),
        dynamic_shapes=(tuple(None if axis is None else {0: rows} for axis in (0, *axes)),),
        strict=False,
    )
    assert not program.constants, "new arrays are among the lifted ones"
    return program.graph_module, lifted


class _NumpySteps(fx.Interpreter):
    """Runs a graph of numpy's functions on tensors."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """One function; integers are divided in 64 bits as numpy does it, not in 32."""
        function = getattr(target, "op", None) or getattr(target, "f", None)
        is_division = getattr(function, "__name__", "") in ("truediv", "divide", "true_divide")
        if is_division and not any(map(_is_floating, args)) and isinstance(args[0], Tensor):
            args = (args[0].double(), *args[1:])
        return super().call_function(target, args, kwargs)


class _Graph(nn.Module):
    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.graph = graph

    def forward(self, *values: Tensor) -> Any:
        """The graph's results."""
        with preserve_node_meta():  # which line of the user's each step is of
            return _NumpySteps(self.graph).run(*values)


def _on_device(program: Any, device: str) -> Any:
    """A program whose new tensors are made on a device."""
    copied = copy.deepcopy(program)
    for node in copied.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device(device)}
    copied.recompile()
    return copied


def _expect_shape(leaf: Any, given: Tensor) -> None:
    if tuple(leaf.shape[1:]) != tuple(given.shape[1:]):
        raise SpaceError(
            "this value is not what the function was traced with",
            expected=f"shape (batch, {', '.join(map(str, given.shape[1:]))})",
            found=f"shape {tuple(leaf.shape)}",
            hint="compile_actor(actor, observation_space=...) traces for another space.",
        )


def _reason(error: Exception, trace: str = "") -> str:
    """What stands against a function, with the user's line where torch knows it."""
    for each in (error, error.__cause__):
        if isinstance(each, Untraceable):
            return first_line(each, 400)
    stack = getattr(error, "real_stack", None)
    frames = _FRAME.findall(trace or "".join(stack.format() if stack else ()))
    matching = (reason for pattern, reason in _REASONS if re.search(pattern, str(error)))
    reason = next(matching, f"has no tensor form ({first_line(error)})")
    if not frames:
        return reason
    path, line = frames[-1]
    code = linecache.getline(path, int(line)).strip()
    return f"{reason} at {Path(path).name}, line {line}: {code}"
