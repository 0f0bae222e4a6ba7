"""The manifest beside an exported file, checked against what runs the file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from packaging.version import InvalidVersion, Version

from ...core.data.array_codec import array_from_data
from ...core.data.damage import at
from ...core.errors import CorruptCheckpointError, MissingPartError, UnknownFormatError
from ...core.spaces.own_layout import space_from_data
from ...core.vault.decode.load_limits import DEFAULT_LIMITS
from ...core.vault.files.reading import read_json

_NUMBERS: Final = frozenset(
    ["bool"]
    + [f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)]
    + [f"float{bits}" for bits in (16, 32, 64)]
)
_LARGEST_ROW: Final = 1 << 28


def read_manifest(file: Path) -> dict[str, Any]:
    """The manifest beside a `.pt2` or `.onnx` file."""
    beside = file.with_name(f"{file.name}.json")
    if not beside.exists():
        raise MissingPartError(
            f"{file.name} is a file without its manifest, {beside.name}, which says what it takes",
            hint="copy both, or export it again; a program from elsewhere is run by its own means.",
            file=beside.name,
        )
    manifest = read_json(beside, DEFAULT_LIMITS, follow=True)
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
