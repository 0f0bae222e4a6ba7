"""Check the files of exported programs before torch or onnxruntime opens them.

`torch.export.load` unpickles weights, constants and sample inputs, and evaluates expressions. What
is checked here is everything that `export_actor` writes; anything else in an archive is refused.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from typing import Any, Final

from ...core.errors import (
    CheckpointError,
    CorruptCheckpointError,
    LimitExceededError,
    UnsafeCheckpointError,
)
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.decode.zip_archives import opened_zip

_MODEL: Final = "models/model.json"
_SAMPLES: Final = "data/sample_inputs/model.pt"
_CONFIGS: Final = {
    "data/weights/model_weights_config.json": "weight",
    "data/constants/model_constants_config.json": "tensor",
}
_MEMBER: Final = re.compile(
    r"data/weights/weight_[0-9]+|data/constants/tensor_[0-9]+|archive_(format|version)|byteorder"
    r"|\.data/(version|serialization_id)|\.format_version|\.storage_alignment"
)
_OPERATOR: Final = re.compile(
    r"torch\.ops\.(aten|prims)\.\w+\.\w+"
    r"|_operator\.(getitem|add|sub|mul|floordiv|truediv|mod|neg|pos|eq|ne|lt|le|gt|ge|and_|or_)"
)
_TOKEN: Final = re.compile(r"\w+|\W")
_WORD: Final = re.compile(
    r"[suz][uf]*[0-9]+|[0-9]+|Symbol|Integer|Add|Mul|Mod|PythonMod|FloorDiv|CleanDiv|Max|Min"
    r"|positive|integer|nonnegative|True|False|[-+*/()=, ']"
)


def checked_pt2(data: bytes) -> bytes:
    """Return a `.pt2` archive without sample inputs and guards, after checking the rest of it.

    Sample inputs are always a pickle and guards are source code; a program runs without both.

    Raises:
        UnsafeCheckpointError: The archive contains another pickle, or something to evaluate.
        CorruptCheckpointError: It is not a `.pt2` archive.
    """
    try:
        members = _members(data)
        document = json.loads(members[_MODEL])
        configs = {name: json.loads(members[name])["config"] for name in _CONFIGS}
        _check_configs(configs)
        _check_program(document)
        members[_MODEL] = json.dumps({**document, "guards_code": []}).encode()
    except CheckpointError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise CorruptCheckpointError("not a .pt2 archive of a program") from error
    checked = io.BytesIO()
    with zipfile.ZipFile(checked, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"archive/{name}", content)
        archive.writestr(f"archive/{_SAMPLES}", b"")
    return checked.getvalue()


def _members(data: bytes) -> dict[str, bytes]:
    """The files of an archive by name below its root folder, without the sample inputs."""
    members: dict[str, bytes] = {}
    try:
        with opened_zip(data, limits_in_force()) as archive:
            entries = archive.infolist()
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise UnsafeCheckpointError("the program's archive is compressed; torch's are not")
            if sum(entry.file_size for entry in entries) > len(data):
                raise CorruptCheckpointError("the files in the program's archive overlap")
            roots = {entry.filename.partition("/")[0] for entry in entries}
            for entry in entries:
                name = entry.filename.partition("/")[2]
                if len(roots) > 1 or name in members or not _is_known(name):
                    raise UnsafeCheckpointError(
                        "the program's archive contains a file that export_actor does not write",
                        found=repr(entry.filename[:200]),
                    )
                if name != _SAMPLES:
                    members[name] = archive.read(entry)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise CorruptCheckpointError("not a .pt2 archive of a program") from error
    return members


def _is_known(name: str) -> bool:
    return name in (_MODEL, _SAMPLES, *_CONFIGS) or bool(_MEMBER.fullmatch(name))


def _check_configs(configs: dict[str, Any]) -> None:
    for name, config in configs.items():
        for key, payload in config.items():
            is_plain = payload["use_pickle"] is False and re.fullmatch(
                rf"{_CONFIGS[name]}_[0-9]+", payload["path_name"]
            )
            if not is_plain:
                raise UnsafeCheckpointError(
                    f"the program stores {key[:200]!r} as a pickle",
                    hint="export the policy again with export_actor.",
                )


def _check_program(document: Any) -> None:
    """Refuse operators that are not tensor operations, and expressions that are not arithmetic."""
    for key, value in _fields(document):
        is_operator = key == "target" and isinstance(value, str)
        if is_operator and not _OPERATOR.fullmatch(value):
            raise UnsafeCheckpointError(
                "the program calls something other than tensor operations", found=value[:200]
            )
        if key == "expr_str" and not _is_arithmetic(value):
            raise UnsafeCheckpointError(
                "the program contains an expression to evaluate", found=value[:200]
            )


def _is_arithmetic(expression: str) -> bool:
    """Return True if an expression has only sizes, numbers and operators, and no powers."""
    words = _TOKEN.findall(expression)
    return "**" not in expression and all(_WORD.fullmatch(word) for word in words)


def _fields(document: Any) -> Iterator[tuple[str, Any]]:
    waiting = [document]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield from item.items()
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


_MOST_DEPTH: Final = 32
_PARTS: Final = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
"""Messages of ONNX's protobuf schema that may contain tensors or operators, by field number."""
_DOMAINS: Final = (b"", b"ai.onnx")


def check_onnx(data: bytes) -> None:
    """Refuse an ONNX model with operators outside ONNX's own, or with data in other files.

    Raises:
        UnsafeCheckpointError: It has custom operators, functions or external data.
        CorruptCheckpointError: It is not an ONNX model.
    """
    waiting = [("model", memoryview(data), 0)]
    while waiting:
        kind, message, depth = waiting.pop()
        if depth > _MOST_DEPTH:
            raise LimitExceededError("the ONNX model nests its graphs too deeply")
        parts = _PARTS[kind]
        for number, value in _wire(message):
            if number in parts and isinstance(value, memoryview):
                waiting.append((parts[number], value, depth + 1))
            elif kind == "tensor" and (number == 13 or (number == 14 and value)):
                raise UnsafeCheckpointError("the ONNX model reads its weights from other files")
            elif kind == "node" and number == 7 and bytes(_message(value)) not in _DOMAINS:
                raise UnsafeCheckpointError(
                    "the ONNX model uses custom operators",
                    found=repr(bytes(_message(value))[:200]),
                )


def _message(value: Any) -> memoryview:
    if not isinstance(value, memoryview):
        raise CorruptCheckpointError("not an ONNX model")
    return value


def _wire(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a protobuf message: their numbers, with an integer or the bytes of each."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        form = tag & 7
        if form == 0:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        length, place = _varint(message, place) if form == 2 else ({1: 8, 5: 4}.get(form), place)
        if length is None or place + length > len(message):
            raise CorruptCheckpointError("not an ONNX model")
        yield tag >> 3, message[place : place + length]
        place += length


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            break
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise CorruptCheckpointError("not an ONNX model")
