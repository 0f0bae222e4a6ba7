"""An exported program as an ONNX model, and what runs one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import torch
from packaging.version import Version

from ...core.errors import MissingExtraError, PieceError
from ...core.step.tensor_step import placed
from ...core.text.visible import first_line
from ...core.types import Array
from ..exported.opened import onnx_session, quiet
from .flat_step import FlatStep

NEEDED_ONNXSCRIPT: Final = "0.6.2"

Runner = Callable[[Sequence[Array]], list[Array]]


def expect_onnx() -> None:
    """Check that the packages for writing a model are installed, before anything is traced."""
    try:
        import onnx  # noqa: F401
        import onnxscript
    except ImportError as error:
        raise _missing("onnx and onnxscript") from error
    new_enough("onnxscript", onnxscript.__version__, NEEDED_ONNXSCRIPT)


def onnx_model(program: Any, step: FlatStep, opset: int) -> bytes:
    """An exported program as an ONNX model."""
    try:
        with quiet():
            exported = torch.onnx.export(
                program,
                tuple(placed(port.zeros(3), "cpu") for port in step.inputs),
                input_names=[port.name for port in step.inputs],
                output_names=[port.name for port in step.outputs],
                opset_version=opset,
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # it passes through many packages, each with errors of its own
        raise PieceError(
            "torch makes no ONNX model of the policy",
            found=first_line(error),
            hint="a file that ends in .pt2 is torch's own.",
        ) from error
    if exported is None:
        raise PieceError("torch gave no ONNX program")
    model = exported.model_proto
    fold_into_biases(model.graph)
    for node in model.graph.node:  # they tell where on this machine the code lies
        del node.metadata_props[:]
        node.doc_string = ""
    return bytes(model.SerializeToString())


def new_enough(name: str, found: str, needed: str) -> None:
    """Check that a package is new enough for writing files for other programs."""
    if Version(found).release < Version(needed).release:
        raise MissingExtraError(
            f"{name} is too old to write a file for other programs",
            expected=f"{name} {needed} or newer",
            found=f"{name} {found}",
            hint="pip install 'rlconnect[export]'",
        )


def onnx_runner(data: bytes, step: FlatStep) -> Runner:
    """Run an ONNX model with onnxruntime on one thread, arrays in and out."""
    session = onnx_session(data)
    input_names = {port.name for port in session.get_inputs()}

    def run(tensors: Sequence[Array]) -> list[Array]:
        pairs = zip(step.inputs, tensors, strict=True)
        inputs = {port.name: array for port, array in pairs if port.name in input_names}
        return list(session.run([port.name for port in step.outputs], inputs))

    return run


def fold_into_biases(graph: Any) -> None:
    """Let dense layers take off themselves what is taken off all their outputs behind them.

    The graph is changed.
    """
    from onnx.numpy_helper import from_array, to_array

    constants = {tensor.name: tensor for tensor in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    reads = Counter(_read(graph))
    for node in [node for node in graph.node if node.op_type == "Sub"]:
        sum_name, constant = node.input
        layer = makers.get(sum_name)
        if (
            layer is None
            or layer.op_type != "Gemm"
            or reads[sum_name] > 1
            or constant not in constants
        ):
            continue
        weights, bias = list(layer.input[:2]), list(layer.input[2:])
        number = to_array(constants[constant])
        beta = next((setting.f for setting in layer.attribute if setting.name == "beta"), 1.0)
        if number.size != 1 or beta != 1.0 or not all(name in constants for name in bias):
            continue
        old_bias = to_array(constants[bias[0]]) if bias else np.zeros_like(number)
        folded = from_array(np.asarray(old_bias - number), f"{sum_name}.bias")
        graph.initializer.append(folded)
        layer.input[:] = [*weights, folded.name]
        layer.output[:] = node.output
        graph.node.remove(node)
        for name in {*bias, constant}:
            if reads[name] == 1:
                graph.initializer.remove(constants[name])


def _read(graph: Any) -> Iterator[str]:
    """What nodes read, those of graphs inside them too, and what the graph gives."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _read(inner)
    for port in graph.output:
        yield port.name


def _missing(what: str) -> MissingExtraError:
    return MissingExtraError(
        f"ONNX files need {what}, which is not installed.", hint="pip install 'rlconnect[export]'"
    )
