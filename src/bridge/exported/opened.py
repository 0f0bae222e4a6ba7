"""A file that `export_actor` wrote, opened again: checked against its manifest, then run.

An exported program is code: open only files from a source that you trust. Pickles, expressions and
operators other than tensor operations are refused all the same. The checksum detects damage, not
tampering, because the manifest comes from the same source.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space
from packaging.version import InvalidVersion, Version

from ...core.columns import DEFAULT_POLICY_ID
from ...core.data.array_codec import array_from_data
from ...core.data.damage import at
from ...core.errors import (
    CorruptCheckpointError,
    MissingExtraError,
    MissingPartError,
    PieceError,
    UnknownFormatError,
)
from ...core.importing.torch_needed import torch_needed
from ...core.spaces.own_layout import space_from_data
from ...core.types import Array
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.files.reading import read_bytes, read_json
from .archive import check_onnx, checked_pt2
from .files import program_in, write_artifact

_NUMBERS: Final = frozenset(
    ["bool"]
    + [f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)]
    + [f"float{bits}" for bits in (16, 32, 64)]
)
_LARGEST_ROW: Final = 1 << 28


def read_manifest(file: Path) -> dict[str, Any]:
    """The manifest beside a `.pt2` or `.onnx` file."""
    beside = Path(f"{file}.json")
    if not os.path.exists(beside):
        raise MissingPartError(
            f"{file.name} is a file without its manifest, {beside.name}, which says what it takes",
            hint="copy both, or export it again; a program from elsewhere is run by its own means.",
            file=beside.name,
        )
    manifest = read_json(beside, limits_in_force(), follow=True)
    kind = manifest.get("kind")
    if kind not in ("onnx", "pt2"):
        raise UnknownFormatError(f"{beside}", expected="'onnx' or 'pt2'", found=repr(kind))
    with at(beside.name):
        for port in (*manifest["inputs"], *manifest["outputs"]):
            _check_port(port)
        space_from_data(manifest["observation_space"])
        space_from_data(manifest["action_space"])
        for start in manifest.get("states", {}).values():
            array_from_data(start)
        str(manifest.get("origin", {}).get("policy"))
    return manifest


def _check_port(port: Mapping[str, Any]) -> None:
    sizes = port["shape"]
    is_sized = all(type(size) is int and size >= 0 for size in sizes)
    if not (
        isinstance(port["name"], str)
        and port["dtype"] in _NUMBERS
        and is_sized
        and math.prod(sizes) <= _LARGEST_ROW
    ):
        raise CorruptCheckpointError(
            "an input or output that no program has",
            expected="a name, a shape and a type of numbers",
            found=str(dict(port))[:200],
        )


def release_of(version: Any) -> str:
    """A version of torch as pip finds it; empty for what is none.

    Example:
        >>> release_of("2.13.0+cpu"), release_of("; rm -r /")
        ('2.13.0', '')
    """
    try:
        return Version(version).public
    except (InvalidVersion, TypeError):
        return ""


Named = Mapping[str, Array]


class Artifact:
    """A policy's whole step, by named arrays; `load_artifact` makes one.

    Args:
        manifest: What lies beside the file.
        run: Runs it.
        data: The file's bytes.

    Attributes:
        manifest: Inputs, outputs, spaces, what wrote it.
    """

    def __init__(
        self, manifest: dict[str, Any], run: Callable[[Named], Named], data: bytes = b""
    ) -> None:
        self.manifest = manifest
        self._run = run
        self._data = data

    @property
    def name(self) -> str:
        """The policy's id."""
        return str(self.manifest.get("origin", {}).get("policy", DEFAULT_POLICY_ID))

    @property
    def observation_space(self) -> Space[Any]:
        """What an environment gives."""
        return space_from_data(self.manifest["observation_space"])

    @property
    def action_space(self) -> Space[Any]:
        """What an environment takes."""
        return space_from_data(self.manifest["action_space"])

    @property
    def states(self) -> dict[str, Array]:
        """What each slot remembers at first, by name."""
        by_name = self.manifest.get("states", {})
        order = [port["name"].removeprefix("state.") for port in self.manifest["inputs"]]
        return {name: array_from_data(by_name[name]) for name in order if name in by_name}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file and its manifest again.

        Args:
            path: The file, or a folder to put it in.

        Raises:
            CheckpointWriteError: The disk refuses.
        """
        ending = f".{self.manifest['kind']}"
        target = Path(path)
        if target.suffix != ending:
            target = target / f"policy{ending}"
        text = json.dumps(self.manifest, indent=1, sort_keys=True) + "\n"
        write_artifact(target, self._data, text)

    def __call__(self, **inputs: Array) -> dict[str, Array]:
        """The outputs for some rows of inputs; states left out are zero, and every row begins.

        Raises:
            PieceError: An input is unknown, or of another shape.
        """
        ports = self.manifest["inputs"]
        names = [port["name"] for port in ports]
        if not inputs or not {*inputs} <= {*names}:
            raise PieceError(
                f"the program of policy {self.name!r} takes other inputs",
                expected=", ".join(names),
                found=", ".join(inputs) or "none",
            )
        rows = len(next(iter(inputs.values())))
        filled = {}
        for port in ports:
            name, shape = port["name"], (rows, *port["shape"])
            if name not in inputs:
                filled[name] = np.full(shape, name == "first", port["dtype"])
                continue
            filled[name] = np.asarray(inputs[name], port["dtype"])
            if filled[name].shape != shape:
                raise PieceError(
                    f"input {name!r} of policy {self.name!r} has another shape",
                    expected=str(shape),
                    found=str(filled[name].shape),
                )
        return dict(self._run(filled))


def load_artifact(path: str | os.PathLike[str]) -> Artifact:
    """Open a `.pt2` or `.onnx` file that `export_actor` wrote.

    An exported program is code: call this only for files from a source that you trust.

    Args:
        path: The file, its manifest (`<file>.json` beside it), or a folder that holds both.

    Raises:
        CheckpointError: File or manifest is not there.
        CorruptCheckpointError: The file does not match the checksum in its manifest.
        UnsafeCheckpointError: It contains a pickle, custom operators or references to other files.
        UnknownFormatError: This torch does not read what another one wrote.
        MissingExtraError: torch or onnxruntime is not installed.
    """
    file = program_in(Path(path)) or Path(path)
    manifest = read_manifest(file)
    data = read_bytes(file, limits_in_force(), follow=True)
    digest, expected_digest = hashlib.sha256(data).hexdigest(), manifest.get("sha256")
    if digest != expected_digest:
        raise CorruptCheckpointError(
            f"{file} is not the file that its manifest tells of",
            expected=f"SHA-256 {expected_digest}",
            found=digest,
            hint="export it again, or fetch both files again.",
        )
    if manifest["kind"] == "onnx":
        check_onnx(data)
        return Artifact(manifest, _of_onnx(data, manifest, file), data)
    return Artifact(manifest, _of_torch(checked_pt2(data), manifest, file), data)


def _try_once(run: Callable[[Named], Named], manifest: Mapping[str, Any]) -> None:
    """Run a program once, so that what another version left out of it fails now."""
    row = {
        port["name"]: np.zeros((1, *port["shape"]), port["dtype"]) for port in manifest["inputs"]
    }
    outputs = run(row)
    for port in manifest["outputs"]:
        if outputs[port["name"]].shape != (1, *port["shape"]):
            raise ValueError(f"{port['name']!r} has another shape")


def onnx_session(data: bytes) -> Any:
    """What onnxruntime runs a model in, on one thread of the CPU."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError(
            "ONNX files are run by onnxruntime, which is not installed.",
            hint="pip install onnxruntime",
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised as well
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


@contextmanager
def quiet() -> Iterator[None]:
    """Exporters talk a lot; what matters is checked afterwards."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _of_onnx(data: bytes, manifest: Mapping[str, Any], file: Path) -> Callable[[Named], Named]:
    names = [port["name"] for port in manifest["outputs"]]

    def run(inputs: Named) -> Named:
        outputs = session.run(names, {n: value for n, value in inputs.items() if n in read})
        return dict(zip(names, outputs, strict=True))

    try:
        session = onnx_session(data)
        read = {port.name for port in session.get_inputs()}
        _try_once(run, manifest)
    except MissingExtraError:
        raise
    except Exception as error:  # onnxruntime's own kinds
        from onnxruntime import __version__ as here

        raise UnknownFormatError(
            f"onnxruntime cannot run {file}",
            expected=f"one that knows opset {manifest.get('opset')}",
            found=f"onnxruntime {here}",
            hint="pip install --upgrade onnxruntime, or export it again with a smaller opset=.",
        ) from error
    return run


def _of_torch(data: bytes, manifest: Mapping[str, Any], file: Path) -> Callable[[Named], Named]:
    with torch_needed("a .pt2 file"):
        import torch
    names = [port["name"] for port in manifest["outputs"]]

    def run(inputs: Named) -> Named:
        ports = [torch.from_numpy(inputs[port["name"]]) for port in manifest["inputs"]]
        with torch.no_grad():
            return dict(zip(names, (output.numpy() for output in module(*ports)), strict=True))

    try:
        with quiet():
            module = torch.export.load(io.BytesIO(data)).module()
        _try_once(run, manifest)
    except Exception as error:  # torch promises nothing about other versions' files
        wrote = manifest.get("torch")
        release = release_of(wrote)
        get = (
            f"pip install torch=={release}, or " if release != release_of(torch.__version__) else ""
        )
        raise UnknownFormatError(
            f"torch cannot run {file}",
            expected=f"the torch that wrote it, {wrote}",
            found=f"torch {torch.__version__}",
            hint=f"{get if release else ''}export its checkpoint again, as ONNX if torch changes: "
            "that is bound to no torch.",
        ) from error
    return run
